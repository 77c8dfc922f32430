"""mrunner's contexts as profiles: which setting each of its keys becomes, and why some become none.

The keys are those of its documentation and of its releases, which spell some of them in two ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from scratchflow.config.check import check_given_profile
from scratchflow.config.one_line import one_line
from scratchflow.config.yaml_text import Text
from scratchflow.model.errors.config import ConfigBadValue, ImportUnreadable
from scratchflow.model.secrets import MASK, is_secret_name
from scratchflow.model.text import closest, counted

Settings = dict[str, Any]
"""Dotted keys of a profile with their values."""


class Fate(msgspec.Struct, frozen=True):
    """What becomes of one key: the settings that it gives, or the reason why it gives none."""

    key: str
    value: str
    settings: Settings = {}
    reason: str = ""
    """Of a key that is taken: a remark."""
    is_taken: bool = False


class Context(msgspec.Struct, frozen=True):
    """A context of the file, and the fate of each of its keys."""

    name: str
    fates: list[Fate]
    not_ours: str = ""
    """Why the whole of it becomes no profile; empty when it does."""

    @property
    def settings(self) -> Settings:
        """What the profile is made of."""
        found: Settings = {}
        for fate in self.fates:
            found.update(fate.settings)
        return found


class MrunnerFile(msgspec.Struct, frozen=True):
    """The file: its contexts, the one in use, and keys besides these."""

    contexts: list[Context]
    current: str
    others: list[Fate]


class _NotTakenError(Exception):
    """The key becomes no setting, for this reason."""


def read_mrunner(document: Text, path: str) -> MrunnerFile:
    """Every context of mrunner's `config.yaml`."""
    if not isinstance(document, dict) or "contexts" not in document:
        raise ImportUnreadable(path=path, problem="it has no `contexts`")
    contexts = [_context(name, table) for name, table in _tables(document["contexts"], path)]
    others = [
        Fate(key, _shown(value), reason=_unknown(key, ("contexts", "current_context")))
        for key, value in document.items()
        if key not in {"contexts", "current_context"}
    ]
    current = document.get("current_context") or ""
    if not isinstance(current, str):
        reason = f"{_shown(current)} stands where a name belongs"
        others, current = [Fate("current_context", _shown(current), reason=reason), *others], ""
    return MrunnerFile(contexts, current, others)


def _tables(contexts: Text, path: str) -> Iterator[tuple[str, dict[str, Text]]]:
    """The contexts by their names, also when they are a list of tables that have one."""
    if isinstance(contexts, list):
        named = [(_name_in(table), table) for table in contexts]
    else:
        named = list((contexts or {}).items()) if isinstance(contexts or {}, dict) else []
        if not isinstance(contexts or {}, dict):
            raise ImportUnreadable(path=path, problem="`contexts` is no table")
    for name, table in named:
        if not isinstance(table, dict) or not name:
            problem = f"the context `{name}` is no table of keys that has a name"
            raise ImportUnreadable(path=path, problem=problem)
        yield name, table


def _name_in(table: Text) -> str:
    if not isinstance(table, dict):
        return ""
    return str(table.get("context_name") or table.get("name") or "")


def _context(name: str, table: Mapping[str, Text]) -> Context:
    kind = str(table.get("backend_type") or table.get("type") or "slurm")
    if problem := _foreign_kind(kind):
        return Context(
            name, [Fate(key, _shown_of(key, one)) for key, one in table.items()], problem
        )
    fates = list(_fates(name, table))
    if not any("login" in fate.settings for fate in fates):
        kept = [msgspec.structs.replace(fate, settings={}, is_taken=False) for fate in fates]
        url = next(
            (f"`{fate.value}`" for fate in fates if fate.key == "slurm_url"), "it is missing"
        )
        return Context(name, kept, f"`slurm_url` names no login host: {url}")
    return Context(name, fates)


def _foreign_kind(kind: str) -> str:
    known = {
        "slurm": "",
        "kubernetes": "it is a Kubernetes context; scratchflow works with Slurm",
        "local": "it is this machine, for which there is the built-in profile `local`",
    }
    return known.get(kind, f"its type `{kind}` is not known; scratchflow works with Slurm")


def _fates(name: str, table: Mapping[str, Text]) -> Iterator[Fate]:
    """Key by key. Of two keys for one setting the first counts; those of `resources` come last."""
    taken: dict[str, str] = {}
    flat = dict(_flat(table))
    for key, value in flat.items():
        fate = _fate(name, key, value, flat)
        before = next((taken[setting] for setting in fate.settings if setting in taken), None)
        if before:
            fate = Fate(key, fate.value, reason=f"`{before}` says it already")
        taken.update(dict.fromkeys(fate.settings, key))
        yield fate


def _flat(table: Mapping[str, Text]) -> Iterator[tuple[str, Text]]:
    resources: dict[str, Text] = {}
    for key, value in table.items():
        if key == "resources" and (inner := _resources(value)):
            resources = {f"resources.{name}": one for name, one in inner.items()}
        elif key == "env" and isinstance(value, dict) and value:
            yield from ((f"env.{name}", one) for name, one in value.items())
        else:
            yield key, value
    yield from resources.items()


def _resources(value: Text) -> dict[str, Text] | None:
    """A table, or the text that mrunner's command line takes: `mem=2G cpu=4`."""
    if isinstance(value, str) and "=" in value:
        return {name: one for name, _, one in (part.partition("=") for part in value.split())}
    return value if isinstance(value, dict) else None


def _fate(name: str, key: str, value: Text, table: Mapping[str, Text]) -> Fate:
    shown = _shown_of(key, value)
    try:
        settings, remark = _taken(name, key, value, table)
        for setting, one in settings.items():
            _require_possible(setting, one)
    except _NotTakenError as reason:
        return Fate(key, shown, reason=str(reason))
    return Fate(key, shown, settings, remark, is_taken=True)


def _taken(name: str, key: str, value: Text, table: Mapping[str, Text]) -> tuple[Settings, str]:
    """The settings that a key gives, with a remark; or the reason why it gives none."""
    word = key.removeprefix("resources.")
    if word in _NOT_OURS:
        raise _NotTakenError(_NOT_OURS[word])
    if value in (None, "", [], {}):
        raise _NotTakenError("it is empty")
    if word in _NAMES:
        return _name(name, value)
    if key.startswith("env."):
        return _variable(key.removeprefix("env."), value)
    if word in _TEXTS:
        return {_TEXTS[word]: _text(value)}, ""
    if word in _MADE:
        return _MADE[word](value, table)
    raise _NotTakenError(_unknown(word, [*_NOT_OURS, *_NAMES, *_TEXTS, *_MADE]))


def _require_possible(setting: str, value: Any) -> None:
    table: Any = value
    for part in reversed(setting.split(".")):
        table = {part: table}
    try:
        check_given_profile(table, "mrunner")
    except ConfigBadValue as error:
        raise _NotTakenError(error.fields["problem"]) from None


def _text(value: Text) -> str:
    if not isinstance(value, str):
        raise _NotTakenError(f"{_shown(value)} stands where one value belongs")
    return value.strip()


def _number(value: Text) -> int:
    text = _text(value)
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise _NotTakenError(f"`{text}` is no whole number")
    return int(text)


def _words(value: Text) -> list[str]:
    """A list, or text with spaces between: mrunner's documentation has both."""
    if isinstance(value, str):
        return value.split()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _NotTakenError(f"{_shown(value)} is no list of texts")
    return [one.strip() for one in value]


def _name(name: str, value: Text) -> tuple[Settings, str]:
    if _text(value) != name:
        raise _NotTakenError(f"mrunner calls this context `{name}`")
    return {}, "the profile's name"


def _login(value: Text, _: Mapping[str, Text]) -> tuple[Settings, str]:
    host, colon, port = _text(value).removeprefix("ssh://").rstrip("/").partition(":")
    if not colon or port == "22":
        return {"login": host}, ""
    bare = host.rpartition("@")[2]
    return {"login": host}, f"its port {port} belongs into ~/.ssh/config, at `Host {bare}`"


def _store(value: Text, _: Mapping[str, Text]) -> tuple[Settings, str]:
    place = f"{_text(value).rstrip('/')}/scratchflow"
    return {"store": place}, "a directory of its own, beside what mrunner keeps there"


def _kind(value: Text, _: Mapping[str, Text]) -> tuple[Settings, str]:
    return {"scheduler": _text(value)}, ""


def _tasks(table: Mapping[str, Text]) -> int:
    return _number(table.get("ntasks") or "1") or 1


def _cpus(value: Text, table: Mapping[str, Text]) -> tuple[Settings, str]:
    """mrunner counts the cores of all tasks together; Slurm is asked for those of each."""
    cpus, tasks = _number(value), _tasks(table)
    if tasks == 1:
        return {"slurm.cpus_per_task": cpus}, ""
    rest = f", {cpus % tasks} left over" if cpus % tasks else ""
    remark = f"{cpus} cores for {counted(tasks, 'task')}{rest}"
    return {"slurm.cpus_per_task": cpus // tasks}, remark


def _gpus(value: Text, table: Mapping[str, Text]) -> tuple[Settings, str]:
    """mrunner asks for them by `--gres`, which counts for each node."""
    text = _text(value)
    nodes = _number(table.get("nodes") or table.get("num_nodes") or "1")
    if text.isdigit() and (nodes <= 1 or text == "0"):
        return {"slurm.gpus": _number(text)}, ""
    return {"slurm.gres": f"gpu:{text}"}, "on each node" if nodes > 1 else ""


def _count(setting: str) -> Callable[[Text, Mapping[str, Text]], tuple[Settings, str]]:
    return lambda value, _: ({setting: _number(value)}, "")


def _extra(value: Text, _: Mapping[str, Text]) -> tuple[Settings, str]:
    """Each is a line behind `#SBATCH`: one option, or an option and its value with a space between."""
    lines = [value] if isinstance(value, str) else _words(value)
    words = [word for line in lines for word in line.split(None, 1)]
    return {"slurm.extra": words}, ""


def _modules(value: Text, _: Mapping[str, Text]) -> tuple[Settings, str]:
    return {"environment.modules": [word for one in _words(value) for word in one.split()]}, ""


def _line_of_bash(setting: str) -> Callable[[Text, Mapping[str, Text]], tuple[Settings, str]]:
    def made(value: Text, _: Mapping[str, Text]) -> tuple[Settings, str]:
        line = one_line(_text(value))
        if line is None:
            raise _NotTakenError(
                "a setting is one line of bash; put these into a file on the cluster, and set "
                f"`{setting}` to `source FILE`"
            )
        return {setting: line}, "" if line == _text(value) else "its lines as one"

    return made


def _variable(name: str, value: Text) -> tuple[Settings, str]:
    if is_secret_name(name):
        raise _NotTakenError("it looks like a secret; set it on the cluster, in ~/.profile")
    return {f"environment.variables.{name}": _text(value)}, ""


def _no_table(value: Text, _: Mapping[str, Text]) -> tuple[Settings, str]:
    raise _NotTakenError(f"{_shown(value)} stands where a table of keys belongs")


def _unknown(key: str, known: Any) -> str:
    guess = closest(key, known)
    meant = f"; did you mean `{guess}`?" if guess and guess != key else ""
    return f"no release of mrunner is known to read it{meant}"


def _shown_of(key: str, value: Text) -> str:
    is_secret = is_secret_name(key) and key not in _TEXTS
    return MASK if is_secret else _shown(value)


def _shown(value: Text) -> str:
    """In a few words: a list or a table may be of any size."""
    if value is None:
        return ""
    if isinstance(value, list):
        few = all(isinstance(one, str) for one in value) and len(value) <= 8
        return ", ".join(value) if few else f"a list of {counted(len(value), 'value')}"
    if isinstance(value, dict):
        return f"a table of {counted(len(value), 'key')}"
    return str(value)


_NAMES = ("context_name", "name")

_TEXTS = {
    "partition": "slurm.partition",
    "account": "slurm.account",
    "time": "slurm.time",
    "mem": "slurm.mem",
    "qos": "slurm.qos",
    "nodelist": "slurm.nodelist",
    "exclude_nodes": "slurm.exclude",
    "venv": "environment.venv",
    "conda": "environment.conda",
}

_MADE: dict[str, Callable[[Text, Mapping[str, Text]], tuple[Settings, str]]] = {
    "slurm_url": _login,
    "backend_type": _kind,
    "type": _kind,
    "storage_dir": _store,
    "storage": _store,
    "ntasks": _count("slurm.ntasks"),
    "nodes": _count("slurm.nodes"),
    "num_nodes": _count("slurm.nodes"),
    "cpu": _cpus,
    "gpu": _gpus,
    "resources": _no_table,
    "env": _no_table,
    "sbatch_options": _extra,
    "modules_to_load": _modules,
    "after_module_load_cmd": _line_of_bash("environment.after_modules"),
    "prolog_cmd": _line_of_bash("environment.prologue"),
}

_OF_EXPERIMENTS = "it belongs to an experiment, not to a cluster"
_OWN_PLACES = "scratchflow has places of its own for this"
_SCRATCH = (
    "mrunner means a directory on shared storage; scratchflow's `scratch` is the nodes' own disk"
)
_NOT_OURS = {
    "user_id": "ssh and Slurm know who you are",
    **dict.fromkeys(("scratch_dir", "scratch_subdir", "scratch_dir_name"), _SCRATCH),
    "cmd_type": "scratchflow starts jobs in its own way",
    "shebang": "scratchflow starts jobs in its own way",
    **dict.fromkeys(
        (
            "log_output_path",
            "cache_dir",
            "cache_dir_name",
            "project_scratch_dir",
            "grid_scratch_dir",
            "experiment_scratch_dir",
            "grid_logs_dir_name",
            "grid_configs_dir_name",
        ),
        _OWN_PLACES,
    ),
    "requirements_file": "`scratchflow create --env venv --requirements FILE` installs it, once",
    "requirements": "`scratchflow create --env venv --packages NAME` installs them, once",
    "singularity_container": "no setting starts a container; put `singularity exec` and its "
    "path before your command",
    "neptune": "scratchflow does not work with neptune",
    "local_neptune_token": "scratchflow does not work with neptune",
    **dict.fromkeys(("tags", "project", "cmd", "cwd", "with_mpi"), _OF_EXPERIMENTS),
    **dict.fromkeys(
        ("exclude", "paths_to_copy"),
        "a snapshot holds the whole workspace; `backup.exclude` leaves files out of every one",
    ),
    "tpu": "Slurm knows none",
    **dict.fromkeys(
        ("registry_url", "google_project_id", "default_pv_size"), "it belongs to Kubernetes"
    ),
}
