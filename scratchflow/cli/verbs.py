"""The verbs and their one-line help; each verb's own module is imported when it is used."""

import importlib
import os
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from typing import Annotated, Any

import msgspec
import typer
from typer.exceptions import TyperException

from scratchflow.cli.call import Call
from scratchflow.cli.options import VerbGroup
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.results.base import HelpShown
from scratchflow.model.wrap import Whole
from scratchflow.report.output import write_stdout

PROGRAM = "scratchflow"
COMPLETE_VARIABLE = "_SCRATCHFLOW_COMPLETE"
SET_UP_COMPLETION = ("--install-completion", "--show-completion")
# Where any option of `salloc` makes sense.
ASKS_SLURM = frozenset({"allocate", "up", "hop", "setup"})


class Verb(msgspec.Struct, frozen=True):
    """One line of `--help`, and the module whose `app` it is."""

    section: str
    module: str
    summary: str


_SETTINGS = "Cluster and settings"
VERBS = {
    "up": Verb("Daily", "scratchflow.cli.up", "Start working: node, workspace, auto-backup"),
    "status": Verb("Daily", "scratchflow.cli.status", "Show what is true now, and what to do next"),
    "run": Verb("Daily", "scratchflow.cli.run", "Run a command on the node, in the workspace"),
    "shell": Verb("Daily", "scratchflow.cli.shell", "Open a shell on the node, in this terminal"),
    "submit": Verb("Daily", "scratchflow.cli.submit", "Run a job elsewhere, from what you see now"),
    "jobs": Verb("Daily", "scratchflow.cli.jobs", "Show submitted jobs; rerun and compare them"),
    "logs": Verb("Daily", "scratchflow.cli.logs", "Show what a submitted job printed"),
    "cancel": Verb("Daily", "scratchflow.cli.cancel", "End submitted jobs"),
    "serve": Verb("Daily", "scratchflow.cli.serve", "Open TensorBoard, Jupyter and others here"),
    "tunnel": Verb("Daily", "scratchflow.cli.tunnel", "Lead a port of this machine to the node"),
    "attach": Verb(
        "Daily", "scratchflow.cli.attach", "Open a shell on the node, in our tmux session"
    ),
    "open": Verb("Daily", "scratchflow.cli.open", "Open the workspace in the editor"),
    "hop": Verb("Daily", "scratchflow.cli.hop", "Move to another node, with everything"),
    "clear": Verb("Daily", "scratchflow.cli.clear", "Back up, give the node back, park the alias"),
    "create": Verb(
        "Daily", "scratchflow.cli.create", "Make the workspace, or bring your files there"
    ),
    "backup": Verb("Daily", "scratchflow.cli.backup", "Take a snapshot of the workspace"),
    "restore": Verb(
        "Daily", "scratchflow.cli.restore", "Bring the workspace or a file back, or home"
    ),
    "snapshots": Verb(
        "Daily", "scratchflow.cli.snapshots", "List, compare, check and move snapshots"
    ),
    "autobackup": Verb(
        "Daily", "scratchflow.cli.autobackup", "Back up by itself, every 30 min unless set"
    ),
    "sync": Verb("Daily", "scratchflow.cli.sync", "Keep folders of your homes on clusters equal"),
    "setup": Verb(
        _SETTINGS, "scratchflow.cli.setup", "Set up a cluster: profile, agent, ssh alias"
    ),
    "profiles": Verb(_SETTINGS, "scratchflow.cli.profiles", "List, choose and add profiles"),
    "config": Verb(_SETTINGS, "scratchflow.cli.config", "Show and change settings"),
    "doctor": Verb(_SETTINGS, "scratchflow.cli.doctor", "Check every link, with its one-line fix"),
    "nodes": Verb(_SETTINGS, "scratchflow.cli.nodes", "Show nodes, what is free, which are warm"),
    "allocate": Verb(
        _SETTINGS, "scratchflow.cli.allocate", "Take a compute node, point the ssh alias at it"
    ),
}
# Verbs that share a line of `--help`, so that all of them are seen on a small terminal.
TOGETHER = {
    ("run", "shell", "attach"): "Run a command, or open a shell, on the node",
    ("serve", "tunnel"): "Open TensorBoard, Jupyter, any port of the node here",
    ("jobs", "logs", "cancel"): "Show, rerun, read and end submitted jobs",
    ("create", "open"): "Make the workspace, bring your files; open the editor",
    ("hop", "clear"): "Move to another node; back up and give the node back",
    ("backup", "restore"): "Take a snapshot; bring the workspace or a file back",
    ("snapshots", "autobackup"): "List, compare and move snapshots; take them regularly",
    ("setup", "doctor"): "Set up a cluster; check every link, with its fix",
    ("profiles", "config"): "Choose profiles; show and change settings",
    ("nodes", "allocate"): "Show nodes and what is free; take one, and no more",
}


def rows_of(section: str) -> list[tuple[str, str]]:
    """The lines of one section of `--help`."""
    rows: dict[str, str] = {}
    for name, verb in VERBS.items():
        if verb.section == section:
            names, summary = next(
                (pair for pair in TOGETHER.items() if name in pair[0]), ((name,), verb.summary)
            )
            rows[", ".join(names)] = summary
    return list(rows.items())


_SECTIONS = tuple(dict.fromkeys(verb.section for verb in VERBS.values()))
_WIDEST = max(len(name) for section in _SECTIONS for name, _ in rows_of(section))


class Verbs(VerbGroup):
    """The top of the command line."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        verb = VERBS.get(cmd_name)
        if verb is None:
            return None
        app: typer.Typer = importlib.import_module(verb.module).app
        command = typer.main.get_command(app)
        command.name = cmd_name
        return command

    def other_word(self, name: str, rest: Sequence[str]) -> str | None:
        from scratchflow.cli.other_words import OTHER_WORDS, meant_by_snapshot

        return meant_by_snapshot(rest) if name == "snapshot" else OTHER_WORDS.get(name)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The verbs without importing any of them: the shell waits for the answer."""
        from typer.core import CompletionItem  # type: ignore[attr-defined]  # typer has it from its own click

        verbs = [item for item in VERBS.items() if item[0].startswith(incomplete)]
        if verbs and not incomplete.startswith("-"):
            return [CompletionItem(name, help=verb.summary) for name, verb in verbs]
        return super().shell_complete(ctx, incomplete)

    def option_groups(self, rows: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
        """Those that say little share a line, so that the commands beneath stay in sight."""
        from scratchflow.cli.help import in_one

        known = {f"--{name.partition('--')[2].split()[0]}": (name, text) for name, text in rows}
        installs, shows = (known.pop(name) for name in SET_UP_COMPLETION)
        pairs = [("--json", "--quiet"), ("--verbose", "--version")]
        together = [in_one([known.pop(name) for name in pair]) for pair in pairs]
        completion = (installs[0], f"Let Tab complete; {shows[0]} prints how.")
        return {"Options": [*known.values(), *together, completion]}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        from scratchflow.cli.help import rows_under

        for section in _SECTIONS:
            rows = [(f"{name:<{_WIDEST}}", summary) for name, summary in rows_of(section)]
            formatter.write(
                "".join(f"{line}\n" for line in rows_under(section, rows, formatter.width))
            )


app = typer.Typer(
    cls=Verbs,
    name=PROGRAM,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@app.callback()
def top(
    profile: Annotated[
        str, typer.Option("--profile", "-p", metavar="NAME", help="Use this profile.")
    ] = "",
    config: Annotated[
        str, typer.Option("--config", metavar="PATH", help="Use this configuration file.")
    ] = "",
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Use this value for one key, this once."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON Lines.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say more, and name each file.")
    ] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Fast node-local scratch for Slurm users, without losing a byte.
    `scratchflow COMMAND --help` shows options and examples. Without scratchflow: HOW-TO-RESTORE.txt
    beside the snapshots; `status` says where.
    """


def parse(arguments: Sequence[str]) -> Call[Any]:
    """The command line as a Call; what typer prints itself (help, completion) becomes its text."""
    printed = StringIO()
    if any(word.startswith(SET_UP_COMPLETION) for word in arguments):
        from scratchflow.cli.completion import complete_at_first_tab

        complete_at_first_tab()
    try:
        with redirect_stdout(printed):
            command = typer.main.get_command(app)
            parsed = command.main(list(arguments), PROGRAM, standalone_mode=False)
    except TyperException as error:
        raise _usage(error, arguments) from None
    except SystemExit as ended:  # what has to do with completion ends the process itself
        if COMPLETE_VARIABLE in os.environ:  # the shell asks, and takes words only
            write_stdout(printed.getvalue().encode())
            raise
        parsed = ended.code
    if isinstance(parsed, Call):
        return parsed
    text = printed.getvalue().rstrip("\n")
    if parsed:  # an exit code: typer has no completion for this shell
        raise UsageInvalid(problem=text or "cannot complete in this shell", command=PROGRAM)
    return Call("help", lambda _: HelpShown(help=text), lambda shown: [Whole(shown.help)])


def _usage(error: Any, arguments: Sequence[str]) -> UsageInvalid:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else PROGRAM
    verb = command.partition(" ")[2]
    # typer's "No such option: --x." the way our own messages read.
    is_unknown_option = hasattr(error, "option_name") and hasattr(error, "possibilities")
    message = (error.message if is_unknown_option else error.format_message()).strip()
    problem = message[:1].lower() + message[1:].rstrip(".")
    if is_unknown_option:
        theirs = _of_their_command(arguments, error.option_name) if verb == "submit" else ""
        close = error.possibilities or []
        problem += theirs or _meant(error.option_name, close, command)
        # Behind a batch script there may also be one of `submit` itself.
        problem += f"; or did you mean `{close[0]}`?" if theirs and close else ""
    else:
        from scratchflow.cli.bare_words import meant_by

        problem += meant_by(problem, verb, arguments, os.environ.get("HOME", ""))
        problem += _newest_job(problem, command)
    return UsageInvalid(problem=problem, command=command)


def _newest_job(problem: str, command: str) -> str:
    """`logs` alone: there is a word for the job that is meant most often."""
    is_of_job = problem.startswith("missing argument 'JOB") and not command.endswith(" diff")
    return f"; `{command} last` is the newest one, `{PROGRAM} jobs` lists them" if is_of_job else ""


_INTERPRETERS = {".py": ["python"], ".sh": ["bash"]}


def _of_their_command(arguments: Sequence[str], unknown: str) -> str:
    """`submit train.py --lr 0.1`: the option is one of the command's, which only `--` says."""
    import shlex

    from scratchflow.cli.flags import WITH_VALUE

    position = list(arguments).index("submit") + 1
    first = position
    while position < len(arguments) and arguments[position].startswith("-"):
        position += 2 if arguments[position] in WITH_VALUE else 1
    # What stands before the command's first word was meant for `submit`.
    if any(word.partition("=")[0] == unknown for word in arguments[first:position]):
        return ""
    words = arguments[position:]
    runner = _INTERPRETERS.get(os.path.splitext(words[0])[1], []) if words else []
    line = shlex.join([*arguments[:position], "--", *runner, *words])
    return f"; `{PROGRAM} {line}` gives it to the command" if words and "`" not in line else ""


def _meant(option: str, possibilities: Sequence[str], command: str) -> str:
    """The option that was probably meant, or the key of the profile that does what it says."""
    from scratchflow.config.keys import profile_keys

    key = f"slurm.{option.lstrip('-').replace('-', '_')}"
    if key in profile_keys() and command.rpartition(" ")[2] in ASKS_SLURM:
        return f"; `--set {key}=VALUE` does that"
    if option == "--every" and command.startswith(f"{PROGRAM} autobackup"):
        return (
            f"; `{PROGRAM} config set backup.every TIME`, then `{PROGRAM} autobackup on`, does that"
        )
    if option == "--array" and command.endswith(" submit"):
        return "; `--grid`, `--zip` and `--spec` make an array, a task for each setting"
    return f"; did you mean `{possibilities[0]}`?" if possibilities else ""
