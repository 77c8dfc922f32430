"""`scratchflow submit`: the workspace as it is now, on another node, as a job of its own."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from scratchflow.cli.call import Call
from scratchflow.cli.node_request import ResourceCommand, resource_flags
from scratchflow.cli.options import DRY_RUN, caller
from scratchflow.model.ages import shown_id
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.events import Emit
from scratchflow.model.requests import Submit
from scratchflow.model.results.jobs import Submitted
from scratchflow.model.text import counted, printable
from scratchflow.model.wrap import Whole

app = typer.Typer(rich_markup_mode=None, add_completion=False)

_SEPARATOR = "scratchflow.separator"


class SubmitCommand(ResourceCommand):
    """Knows what stood after `--`: without it the first word is a batch script."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.meta[_SEPARATOR] = args[args.index("--") + 1 :] if "--" in args else None
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


SBATCH = typer.Option(
    "--sbatch", metavar="OPTION", help="One more for `sbatch`, like `--licenses=x`."
)
PARAM = typer.Option("--param", metavar="K=V", help="A parameter of every task.")
GRID = typer.Option("--grid", metavar="K=A,B", help="One task for each combination.")
ZIP = typer.Option("--zip", metavar="K=A,B", help="Side by side with the other `--zip`.")
SPEC = typer.Option("--spec", metavar="FILE", help="Read all of it from TOML, or mrunner's file.")
MAX_PARALLEL = typer.Option(
    "--max-parallel",
    metavar="N",
    show_default=False,
    help="How many tasks at once.",
)


NODES = typer.Option("--nodes", metavar="N", show_default=False, help="How many nodes.")
CONTINUE = typer.Option(
    "--continue",
    metavar="N",
    show_default=False,
    help="Go on after the time limit, N times at most.",
)
SIGNAL = typer.Option(
    "--signal", metavar="SIG@S", help="Get this S seconds before, like `USR1@120`."
)


@app.command(cls=SubmitCommand)
def submit(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCRIPT|-- CMD",
            help="A batch script in the workspace, or a command after `--`.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Call the job this.")] = "",
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Mark it, to find it again.")
    ] = None,
    cwd: Annotated[
        str, typer.Option("--cwd", metavar="DIR", help="Start in this directory of the workspace.")
    ] = "",
    collect: Annotated[
        list[str] | None,
        typer.Option("--collect", metavar="PATTERN", help="Save this too, besides `outputs/`."),
    ] = None,
    param: Annotated[list[str] | None, PARAM] = None,
    grid: Annotated[list[str] | None, GRID] = None,
    side_by_side: Annotated[list[str] | None, ZIP] = None,
    spec: Annotated[str, SPEC] = "",
    max_parallel: Annotated[int | None, MAX_PARALLEL] = None,
    continues: Annotated[int | None, CONTINUE] = None,
    signal: Annotated[str, SIGNAL] = "",
    nodes: Annotated[int | None, NODES] = None,
    sbatch: Annotated[list[str] | None, SBATCH] = None,
    dry_run: Annotated[bool, DRY_RUN] = False,
) -> Call[Submitted]:
    """Run a command or a batch script as a job of its own, from the workspace as it is now.

    A snapshot is taken first, of all files, committed or not; what you change afterwards does not reach the
    job. On its node the job gets its own copy, and the profile's environment. New and changed files in
    `outputs/` are saved to the store, also when the job is cancelled or reaches its time limit. `#SBATCH`
    lines of SCRIPT count, except for its output files; flags win.

    A parameter follows the command as `--lr=0.1`; `{lr}` in the command puts the value there instead.
    """
    resource_flags(context)
    counts = {"--max-parallel": max_parallel, "--continue": continues, "--nodes": nodes}
    for flag, count in counts.items():
        if count is not None and count < 1:
            problem = f"`{flag}` takes a number, 1 or more"
            raise UsageInvalid(problem=problem, command=context.command_path)
    if nodes is not None:
        context.find_root().ensure_object(dict)["flags"].append(f"slurm.nodes={nodes}")
    given = words or []
    after = context.meta.get(_SEPARATOR)
    is_script = bool(given) and after is None
    if after is not None and len(given) > len(after):
        problem = (
            f"`{printable(given[0])}` stands before `--`, where only options are. An option is given once for each"
            " value (`--collect a --collect b`); those of `--grid` and `--zip` are joined by commas (`--grid lr=0.1,0.01`);"
            " a script has its arguments behind it, without `--`"
        )
        raise UsageInvalid(problem=problem, command=context.command_path)
    if not given and not spec:
        problem = "name a batch script in the workspace, or write a command after `--`"
        raise UsageInvalid(problem=problem, command=context.command_path)
    if given and not is_script and not given[0].strip():
        problem = "the first word after `--` is empty: it has to be the program to run"
        raise UsageInvalid(problem=problem, command=context.command_path)
    request = Submit(
        command=tuple(given[1:] if is_script else given),
        script=_beneath(given[0], context) if is_script else "",
        directory=_beneath(cwd, context) if cwd else "",
        name=name,
        tags=tuple(tag or ()),
        collect=tuple(collect or ()),
        sbatch=tuple(sbatch or ()),
        max_parallel=max_parallel or 0,
        continues=continues or 0,
        signal=signal,
        dry_run=dry_run,
    )
    who = caller(context)
    flags = (tuple(param or ()), tuple(grid or ()), tuple(side_by_side or ()))

    def flow(emit: Emit) -> Submitted:
        from scratchflow.flows.jobs.submit import submit as submit_job
        from scratchflow.flows.jobs.tasks import with_tasks

        return submit_job(who, emit, with_tasks(request, *flags, spec, emit))

    return Call("submit", flow, shown_submitted)


def _beneath(path: str, context: typer.Context) -> str:
    """A path of the workspace, as the snapshot has it."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if path.startswith("/") or ".." in parts or not parts:
        problem = (
            f"`{printable(path)}` has to be a path beneath the workspace, like `scripts/train.sh`"
        )
        raise UsageInvalid(problem=problem, command=context.command_path)
    return "/".join(parts)


def shown_submitted(done: Submitted, from_what: str = "") -> Iterator[str]:
    """What people read after `submit`."""
    if done.dry_run:
        import shlex  # not for every submit

        from scratchflow.cli.job_words import as_typed

        if done.saves_first:
            yield "would save the workspace first: it has changes that are in no snapshot"
        yield Whole(printable(f"would run: {shlex.join(done.command)}"))
        yield Whole(printable(f"  which runs: {shlex.join(done.runs)}"))
        if done.script_slurm:
            asks = " ".join(f"{key}={value}" for key, value in done.script_slurm.items())
            yield Whole(printable(f"  its `#SBATCH` lines ask for: {asks}"))
        for task in done.first:
            pairs = " ".join(f"{key}={as_typed(value)}" for key, value in task.parameters.items())
            yield Whole(printable(f"  task {task.task}: {pairs}"))
        if done.first and done.tasks > len(done.first):
            yield f"  … and {counted(done.tasks - len(done.first), 'task')} more"
        return
    newest = "the workspace as it is now" if done.is_current else "the newest snapshot"
    tasks = f" with {counted(done.tasks, 'task')}" if done.tasks > 1 else ""
    numbers = ", ".join(str(number) for number in [done.number, *done.more])
    yield f"job {numbers} (`{done.name}`){tasks} is submitted, from {from_what or newest}: {shown_id(done.snapshot)}"
    yield f"`scratchflow logs -f {done.number}` shows what it prints, `scratchflow jobs` how it goes,"
    yield f"`scratchflow jobs outputs {done.number}` what it has made in `outputs/`"
