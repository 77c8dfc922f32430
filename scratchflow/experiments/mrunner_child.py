"""Evaluates an experiment file that was written for mrunner. Runs alone, in the user's own Python, as a child process.

The file is run as it is, against stand-ins of the modules that mrunner gives it. One JSON object goes to stdout: the
experiments and remarks, or an error; what the file prints goes to stderr. Standard library only.
"""

from __future__ import annotations

import ast
import copy
import importlib.util
import itertools
import json
import math
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

_NO_NEPTUNE = "scratchflow does not work with neptune"
_WHOLE = "a job gets the whole snapshot; `backup.exclude` and .scratchignore leave files out"
_NOT_HERE = {
    "project": _NO_NEPTUNE,
    "project_name": _NO_NEPTUNE,
    "with_neptune": _NO_NEPTUNE,
    "display_neptune_link": _NO_NEPTUNE,
    "copy_neptune_link": _NO_NEPTUNE,
    "exclude": _WHOLE,
    "exclude_git_files": _WHOLE,
    "mrunner_ignore": _WHOLE,
    "paths_to_copy": _WHOLE,
    "paths_to_dump": _WHOLE,
    "send_code": _WHOLE,
    "restore_from_path": "nothing is copied from there; `restore` brings files back",
    "with_mpi": "nothing is put before the command; write `mpiexec` there",
    "callbacks": "they are not called",
    "add_random_tag": "no random tag is added; the job's id tells jobs apart",
    "random_name": "no random tag is added; the job's id tells jobs apart",
    "unique_name": "the job's id tells jobs apart",
    "git_info": "a job's record holds the commit by itself",
    "description": "a job has a name and tags",
    "_script_name": "the file's name is no tag",
}
# In the order in which the helper takes them.
_ARGUMENTS = (
    "experiment_name",
    "base_config",
    "params_grid",
    "script",
    "python_path",
    "tags",
    "add_random_tag",
    "env",
    "project_name",
    "exclude_git_files",
    "exclude",
    "with_neptune",
    "display_neptune_link",
    "copy_neptune_link",
    "paths_to_dump",
    "paths_to_copy",
    "with_mpi",
    "callbacks",
    "mrunner_ignore",
)
_USED = {"name", "script", "tags", "env", "python_path", "parameters"}
_SIDE_BY_SIDE = "___"


class UnusableError(Exception):
    """The file asks for something that cannot be done; the text says what."""


class Remarks:
    """What is told besides the experiments, each key once."""

    found: ClassVar[dict[str, str]] = {}

    @classmethod
    def add(cls, key: str, fate: str) -> None:
        cls.found.setdefault(key, fate)

    @classmethod
    def of_unused(cls, keys: Iterable[str]) -> None:
        for key in keys:
            cls.add(key, _NOT_HERE.get(key, "it means nothing here"))


class Table(dict):  # type: ignore[type-arg]  # a Python that is older than ours reads this
    """A dict whose keys are attributes, too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class Experiment:
    """One experiment, as the file describes it."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def create_experiments_helper(*values: Any, **named: Any) -> list[Experiment]:
    """An experiment for each combination of the grid, its values over those of `base_config`."""
    given = {**dict(zip(_ARGUMENTS, values)), **named}  # noqa: B905 - an older Python knows no `strict`
    used = {"experiment_name", "base_config", "params_grid", "update_lambda"}
    Remarks.of_unused(key for key in given if key not in used | _USED)
    update = given.get("update_lambda") or dict.update
    experiments = []
    for combination in get_combinations(given.get("params_grid", {})):
        parameters = copy.deepcopy(dict(given.get("base_config", {})))
        update(parameters, combination)
        if "restore_from_path" in parameters:
            _drop(parameters, "restore_from_path", "send_code")
        fields = {
            key: given[key] for key in ("script", "tags", "env", "python_path") if key in given
        }
        name = given.get("experiment_name", "")
        experiments.append(Experiment(name=name, parameters=Table(parameters), **fields))
    return experiments


def _drop(parameters: dict[str, Any], *keys: str) -> None:
    """Takes out what is a word to mrunner itself, and no parameter."""
    for key in keys:
        Remarks.of_unused([key] if key in parameters else [])
        parameters.pop(key, None)


def get_combinations(param_grids: Any, limit: int | None = None) -> list[dict[str, Any]]:
    """Of each grid every row of the values that go side by side with every combination of the others."""
    grids = [param_grids] if isinstance(param_grids, Mapping) else list(param_grids)
    found = [one for grid in grids for one in _combinations_of(grid)]
    return found[:limit] if limit else found


def _combinations_of(grid: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    zipped, crossed = {}, {}
    for key, values in grid.items():
        _require_values(key, values)
        if _SIDE_BY_SIDE in key:
            zipped[_bare(key)] = values
        else:
            crossed[key] = values
    lengths = {key: len(values) for key, values in zipped.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join("%s %d" % item for item in lengths.items())  # noqa: UP031 - the shortest
        Remarks.add(
            _SIDE_BY_SIDE,
            f"not equally many values go side by side ({shown}); the rest is left out",
        )
    rows = zip(*zipped.values()) if zipped else [()]  # noqa: B905 - the shortest one counts
    keys = [*zipped, *crossed]
    for row in rows:
        for chosen in itertools.product(*crossed.values()):
            yield dict(zip(keys, (*row, *chosen)))  # noqa: B905 - an older Python knows no `strict`


def _bare(key: str) -> str:
    if not key.endswith(_SIDE_BY_SIDE):
        raise UnusableError(f"`{key}`: `___` belongs at the end of a key")
    return key[: -len(_SIDE_BY_SIDE)]


def _require_values(key: str, values: Any) -> None:
    """Lists, tuples, and the arrays of numpy and pandas."""
    if not isinstance(values, (list, tuple)) and not (
        hasattr(values, "tolist") and hasattr(values, "__len__")
    ):
        raise UnusableError(f"`{key}` in a grid is {_kind(values)}; a list of values belongs there")


def stand_ins() -> dict[str, types.ModuleType]:
    """The modules that experiment files import."""
    helper = {
        "create_experiments_helper": create_experiments_helper,
        "get_combinations": get_combinations,
    }
    contents: dict[str, dict[str, Any]] = {
        "mrunner": {},
        "mrunner.helpers": {},
        "mrunner.helpers.specification_helper": helper,
        "mrunner.experiment": {"Experiment": Experiment, "NeptuneExperiment": Experiment},
    }
    if importlib.util.find_spec("munch") is None:  # the real one has more in it
        contents["munch"] = {"Munch": Table}
    modules = {}
    for name, content in contents.items():
        modules[name] = types.ModuleType(name, "A stand-in for the module of this name.")
        modules[name].__dict__.update(content, __path__=[])
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(modules[parent], last, modules[name])
    return modules


def evaluate(path: str) -> list[Any]:
    """Runs the file and returns its experiments."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    sys.modules.update(stand_ins())
    # Python puts the directory of this file first, whose modules are none of the user's.
    ours = os.path.dirname(os.path.abspath(__file__))
    rest = [place for place in sys.path if os.path.abspath(place) != ours]
    sys.path[:] = [os.getcwd(), os.path.dirname(os.path.abspath(path)), *rest]
    names: dict[str, Any] = {
        "__name__": "__mrunner__",
        "__file__": path,
        "script": os.path.basename(path),
    }
    exec(compile(source, path, "exec"), names)  # noqa: S102 - the user's own file, run as asked
    for name in ("experiments_list", "spec"):
        if name in names:
            found = names[name]
            return list(found() if callable(found) else found)
    raise UnusableError("it sets neither `experiments_list` nor `spec`")


def described(experiment: Any, functions: Functions) -> dict[str, Any]:
    """The experiment as JSON can hold it."""
    fields = dict(experiment) if isinstance(experiment, Mapping) else dict(vars(experiment))
    for old, new in (("what", "script"), ("pythonpath", "python_path")):
        if old in fields:
            fields.setdefault(new, fields.pop(old))
    Remarks.of_unused(key for key in fields if key not in _USED)
    return {
        "name": _plain(fields.get("name", ""), "name", functions),
        "script": str(fields.get("script") or ""),
        "tags": _texts(fields.get("tags")),
        "env": {str(key): str(value) for key, value in (fields.get("env") or {}).items()},
        "python_path": _texts(fields.get("python_path"), ":"),
        "parameters": _plain(dict(fields.get("parameters") or {}), "", functions),
    }


def _texts(value: Any, separator: str = " ") -> list[str]:
    words = value.split(separator) if isinstance(value, str) else [str(one) for one in value or []]
    return [word for word in words if word]


class Functions:
    """Finds how a function is written in the file: JSON holds no functions, but their text."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            self._source = file.read()
        tree = ast.walk(ast.parse(self._source))
        self._lambdas = [node for node in tree if isinstance(node, ast.Lambda)]

    def text_of(self, function: Callable[..., Any]) -> str:
        code = getattr(function, "__code__", None)
        if getattr(function, "__name__", "") != "<lambda>" or code is None:
            return f"{function.__module__}.{function.__qualname__}"
        for node in self._lambdas:
            if node.lineno == code.co_firstlineno and _is_code_of(node, code):
                return ast.get_source_segment(self._source, node) or "lambda"
        return "lambda"


def _is_code_of(node: ast.Lambda, code: types.CodeType) -> bool:
    constants = compile(ast.Expression(node), "", "eval").co_consts
    return any(
        isinstance(one, types.CodeType)
        and (one.co_code, one.co_varnames, one.co_names)
        == (code.co_code, code.co_varnames, code.co_names)
        and repr(one.co_consts) == repr(code.co_consts)
        for one in constants
    )


def _plain(value: Any, place: str, functions: Functions) -> Any:
    """The value as JSON can hold it; refused when it cannot."""
    if hasattr(value, "tolist"):  # numpy and pandas
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UnusableError(f"`{place}` is {value}, which JSON does not know")
        return value
    if isinstance(value, Mapping):
        return {
            _key(key, place): _plain(one, _within(place, key), functions)
            for key, one in value.items()
        }
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [_plain(one, place, functions) for one in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if callable(value) and hasattr(value, "__qualname__"):
        Remarks.add(place, "a function is passed on as its text")
        return functions.text_of(value)
    raise UnusableError(f"`{place}` is {_kind(value)}, which JSON does not know")


def _key(key: Any, place: str) -> str:
    if not isinstance(key, str):
        raise UnusableError(f"the key {key!r} of `{place or 'the parameters'}` is no text")
    return key


def _within(place: str, key: Any) -> str:
    return f"{place}.{key}" if place else str(key)


def _kind(value: Any) -> str:
    return f"of type `{type(value).__name__}`"


def answer_for(path: str) -> dict[str, Any]:
    """The experiments of the file, or what is wrong with it, in one sentence."""
    try:
        experiments = evaluate(path)
        functions = Functions(path)
        found = [described(one, functions) for one in experiments]
    except UnusableError as error:
        return {"error": str(error)}
    except SystemExit as end:
        return {
            "error": f"it ended by itself (exit code {end.code or 0}) before it gave experiments"
        }
    except BaseException as error:  # noqa: BLE001 - whatever the user's file raises is told
        return {"error": _in_words(error, path)}
    return {"experiments": found, "remarks": Remarks.found}


def _in_words(error: BaseException, path: str) -> str:
    """The error and the last line of the file that led to it."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path
    ]
    if isinstance(error, SyntaxError) and error.filename == path:
        lines = [error.lineno]
    where = f"line {lines[-1]}: " if lines else ""
    said = str(error.msg if isinstance(error, SyntaxError) else error)
    return f"{where}{type(error).__name__}: {said}"


def main() -> None:
    """`mrunner_child.py FILE`."""
    out = os.dup(1)
    os.dup2(2, 1)  # what the file prints is no part of the answer
    answer = answer_for(sys.argv[1])
    with os.fdopen(out, "w", encoding="ascii") as stream:
        json.dump(answer, stream, allow_nan=False)


if __name__ == "__main__":
    main()
