"""What people type who know other programs, and the command that does it: for the error that asks whether it was meant."""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.cli.examples import EXAMPLES
from scratchflow.model.text import printable

# What people type first, and the command that does it.
OTHER_WORDS = {
    "help": "--help",
    "start": "up",
    "login": "shell",
    "ssh": "shell",
    "connect": "shell",
    "exec": "run",
    "srun": "run",
    "stop": "clear",
    "end": "clear",
    "release": "clear",
    "free": "clear",
    "down": "clear",
    "exit": "clear",
    "quit": "clear",
    "move": "hop",
    "migrate": "hop",
    "save": "backup",
    "snapshot": "backup",
    "undo": "restore",
    "checkout": "restore",
    "pull": "restore --to laptop:DIR",
    "cp": "restore --to laptop:DIR",
    "copy": "restore --to laptop:DIR",
    "fetch": "jobs outputs --to laptop:DIR JOB",
    "download": "restore --to laptop:DIR",
    "push": "create --from laptop:DIR",
    "upload": "create --from laptop:DIR",
    "ls": "snapshots list",
    "list": "snapshots list",
    "log": "logs",
    "outputs": "jobs outputs",
    "output": "jobs outputs",
    "results": "jobs outputs",
    "result": "jobs outputs",
    "debug": "jobs debug",
    "history": "snapshots history",
    "cat": "snapshots cat",
    "versions": "snapshots history",
    "diff": "snapshots diff",
    "verify": "snapshots verify",
    "prune": "snapshots prune",
    "keep": "snapshots keep",
    "rm": "snapshots prune ID",
    "delete": "snapshots prune ID",
    "export": "snapshots export",
    "import": "snapshots import",
    "tensorboard": "serve tensorboard",
    "jupyter": "serve jupyter",
    "notebook": "serve jupyter",
    "forward": "tunnel",
    "port": "tunnel",
    "salloc": "allocate",
    "sbatch": "submit",
    "alloc": "allocate",
    "sinfo": "nodes",
    "time": "status",
    "watch": "status --watch",
    "squeue": "jobs",
    "queue": "jobs",
    "ps": "jobs",
    "rerun": "jobs rerun",
    "sacct": "jobs",
    "job": "jobs",
    "scancel": "cancel",
    "kill": "cancel",
    "tail": "logs",
    "init": "setup",
    "install": "setup",
    "uninstall": "setup --remove",
    "remove": "setup --remove",
    "check": "doctor",
    "settings": "config show",
    "get": "config get",
    "set": "config set",
    "profile": "profiles",
    "use": "profiles use",
    "code": "open",
    "editor": "open",
}

# The same after `jobs`: a job follows.
OTHER_WORDS_OF_JOBS = {
    "cancel": "cancel",
    "kill": "cancel",
    "stop": "cancel",
    "logs": "logs",
    "log": "logs",
    "tail": "logs -f",
    "output": "jobs outputs",
    "results": "jobs outputs",
    "result": "jobs outputs",
    "fetch": "jobs outputs --to laptop:.",
    "get": "jobs outputs --to laptop:.",
    "download": "jobs outputs --to laptop:.",
    "pull": "jobs outputs --to laptop:.",
    "status": "jobs show",
    "info": "jobs show",
    "again": "jobs rerun",
    "retry": "jobs rerun",
    "remove": "jobs prune",
    "rm": "jobs prune",
    "delete": "jobs prune",
}

# The same after `profiles`.
OTHER_WORDS_OF_PROFILES = {
    # There is no word for it: a profile's name is in its workspace's place, its alias and its jobs.
    "rename": "copy OLD NEW",
    "mv": "copy OLD NEW",
    "move": "copy OLD NEW",
    "clone": "copy",
    "new": "add",
    "create": "add",
    "rm": "remove",
    "delete": "remove",
    "switch": "use",
    "default": "use",
    "ls": "list",
}

# The same after `snapshots`, with the snapshots that were named.
OTHER_WORDS_OF_SNAPSHOTS = {
    "ls": "snapshots list",
    "log": "snapshots list",
    "all": "snapshots list",
    "rm": "snapshots prune",
    "remove": "snapshots prune",
    "delete": "snapshots prune",
    "del": "snapshots prune",
    "clean": "snapshots prune",
    "gc": "snapshots prune",
    "forget": "snapshots prune",
    "info": "snapshots show",
    "inspect": "snapshots show",
    "check": "snapshots verify",
    "compare": "snapshots diff",
    "pin": "snapshots keep",
    "lock": "snapshots keep",
    "tag": "snapshots keep",
    "unpin": "snapshots unkeep",
    "unlock": "snapshots unkeep",
    "versions": "snapshots history",
    "restore": "restore",
    "checkout": "restore",
    "rollback": "restore",
    "create": "backup",
    "take": "backup",
    "new": "backup",
    "add": "backup",
    "download": "restore --to laptop:DIR",
}
_NAMELESS = frozenset({"snapshots list", "backup"})  # what takes no snapshot


def meant_after_snapshots(typed: Sequence[str]) -> str:
    """What `snapshots rm 570643` meant: `snapshots prune 570643`; empty when that is not known."""
    word, *rest = typed
    if word[:1].isdigit() or word.startswith("latest"):
        return f"snapshots show {printable(word)}"
    meant = OTHER_WORDS_OF_SNAPSHOTS.get(word, "")
    if not meant or meant in _NAMELESS:
        return meant
    named = [printable(one) for one in rest if not one.startswith("-")]
    return " ".join([meant, *named])


def meant_by_snapshot(rest: Sequence[str]) -> str:
    """What `snapshot` meant, with the words after it: a new one alone, else a command of `snapshots`."""
    if not rest or rest[0].startswith("-"):
        return "backup"
    if f"snapshots {rest[0]}" in EXAMPLES:
        return " ".join(["snapshots", *map(printable, rest)])
    return meant_after_snapshots(rest) or "snapshots"
