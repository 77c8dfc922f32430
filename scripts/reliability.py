"""docs/reliability.md from the result of `scripts/test soak`: what is promised, tried and survived.

scripts/reliability.py RESULT.json   keeps the result as docs/reliability.json and writes the page
scripts/reliability.py --check       fails when page and result differ, or a test it names is missing
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/reliability.md"
KEPT = ROOT / "docs/reliability.json"


class Promise(NamedTuple):
    """One row: what is promised, where it is tested, and which figures tell how often."""

    promise: str
    tests: tuple[str, ...]
    tried: str  # with the figures of a run filled in
    limits: str


PROMISES = (
    Promise(
        "A snapshot brings back what was there when it was taken: bytes, modes, times, `user.*` attributes, links, holes.",
        ("tests/oracle/test_oracle.py", "tests/unit/archive/write/test_writer.py"),
        "{restores compared} restores compared with what was there",
        "Owners, ACLs, other attributes and access times are not kept (docs/format.md)."
        " Where scratch is on a FUSE file system such as GlusterFS, a write through a mapping changes the mtime only when the kernel"
        " writes the page out, up to half a minute later: the snapshot has the bytes, and the mtime of before or after.",
    ),
    Promise(
        "A restore removes nothing that no snapshot holds. It stays under `<name>.before-<id>`, or the restore is refused.",
        ("tests/oracle/test_oracle.py", "tests/unit/node/restore/test_restore_loses_nothing.py"),
        "{restore} restores in place, {restore --path} of single paths, {restore --from} from files",
        "A program that writes while a restore runs may write into a file that has just been moved aside.",
    ),
    Promise(
        "A command that is killed at any moment costs no snapshot and no file, and the next command goes on.",
        ("tests/oracle/test_oracle.py", "tests/crash/node/test_backup_killed_at_random.py"),
        "{kills} kills at system calls, {program kills} of them of the real program by `strace`",
        "After a power cut, what the disk had not yet written of the workspace itself is the file system's business.",
    ),
    Promise(
        "`verify` names every damaged snapshot, and only those.",
        ("tests/oracle/test_oracle.py",),
        "{verify} runs without damage, {bits flipped} with one flipped bit",
        "Damage after the last `verify` is found by the next one, by the daily check, by `clear` and `hop`, or by the restore.",
    ),
    Promise(
        "Retention removes only what no `keep_*` rule keeps.",
        ("tests/oracle/test_oracle.py", "tests/unit/store/retention/test_rules.py"),
        "{prune} runs of `prune`, and one after each of {snapshots} snapshots",
        "What the rules let go is gone.",
    ),
    Promise(
        "What is mounted into the workspace, and what lies behind it, is not changed and not saved.",
        ("tests/oracle/test_oracle.py", "tests/root/test_restore_mounts.py"),
        "{mounts} bind mounts, {beside mounts} commands beside one",
        "A workspace that is a mount point itself is saved.",
    ),
    Promise(
        "`export` and `import` bring a snapshot back as it was.",
        ("tests/oracle/test_oracle.py",),
        "{export} exports, {import} imports",
        "Plain `tar` restores whole seconds of mtimes only.",
    ),
)


def page(result: dict[str, Any]) -> str:
    """The page as it has to be."""
    figures = Counter(result["counts"])
    lines = [
        "# Reliability",
        "",
        "What scratchflow promises, which tests hold it to that, and how often that was tried. `scripts/reliability.py`",
        "writes this page from the last result of `scripts/test soak`.",
        "",
        (
            f"The last run: {result['day']}, version {result['version']}, seed {result['seed']}, "
            f"{result['minutes']} minutes with {result['workers']} workers."
        ),
        (
            f"{figures['steps']:,} steps, {result['contents']:,} contents tracked, {figures['snapshots']:,} snapshots, "
            f"{figures['restores compared']:,} restores compared, {figures['kills']:,} kills, "
            f"{figures['program commands']:,} commands by the real program: "
            f"{len(result['defects'])} promises broken."
        ),
        "",
        "| promise | test | tried | survived | not promised |",
        "|---|---|---|---|---|",
    ]
    survived = "all" if not result["defects"] else "see below"
    for one in PROMISES:
        tests = "<br>".join(f"`{test}`" for test in one.tests)
        tried = one.tried.format_map(_Figures(figures))
        lines.append(f"| {one.promise} | {tests} | {tried} | {survived} | {one.limits} |")
    if result["defects"]:
        lines += ["", "## Found in that run", ""]
        lines += [f"- seed {one['seed']}: {one['what']}" for one in result["defects"]]
    return "\n".join([*lines, ""])


class _Figures(dict[str, str]):
    def __init__(self, counts: Counter[str]) -> None:
        super().__init__({name: f"{count:,}" for name, count in counts.items()})

    def __missing__(self, name: str) -> str:
        return "0"


def check() -> list[str]:
    """What is wrong with the page."""
    wrong = [
        f"{test} is not there"
        for one in PROMISES
        for test in one.tests
        if not (ROOT / test).is_file()
    ]
    if PAGE.read_text() != page(json.loads(KEPT.read_text())):
        wrong.append("docs/reliability.md is not what scripts/reliability.py writes")
    return wrong


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        wrong = check()
        print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
        return 1 if wrong else 0
    if arguments:
        result = json.loads(Path(arguments[0]).read_text())
        # The way to a defect is in the run's own output; the page only names it.
        result["defects"] = [
            {key: one[key] for key in ("seed", "what")} for one in result["defects"]
        ]
        KEPT.write_text(json.dumps(result, indent=2) + "\n")
    PAGE.write_text(page(json.loads(KEPT.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
