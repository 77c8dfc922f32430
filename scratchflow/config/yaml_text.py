"""YAML in, for files of other programs: tables, lists and text as it was written.

Nothing is guessed: YAML would make 28800 of `time: 8:00:00`, and False of `account: no`. Objects, anchors that hold
themselves and keys that are there twice are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scratchflow.model.errors.config import ImportUnreadable

if TYPE_CHECKING:
    import yaml

Text = Any
"""Text, None for what is empty, or lists and tables of these."""

_STANDARD = "tag:yaml.org,2002:"
_PLAIN = {"map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value"}


def parse_yaml(text: str, path: str) -> Text:
    """The document. An ImportUnreadable names the line of what is wrong with it."""
    import yaml

    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return _Reader(path).read(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        # Some sentences begin in the context: "expected a single document", "but found another".
        whole = f"{error.context} {error.problem}" if error.context else f"{error.problem}"
        problem = f"{' '.join(whole.split())}{_line(error.problem_mark)}"
        raise ImportUnreadable(path=path, problem=problem) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        problem = " ".join(str(error).split())
        raise ImportUnreadable(path=path, problem=problem) from None
    except RecursionError:
        raise ImportUnreadable(path=path, problem="it is nested too deeply") from None


def _line(mark: Any) -> str:
    return f" (line {mark.line + 1})" if mark else ""


class _Reader:
    """One document. What an alias repeats is read once, so that a small file stays small."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._read: dict[int, Text] = {}
        self._open: set[int] = set()

    def read(self, node: yaml.Node) -> Text:
        key = id(node)
        if key in self._read:
            return self._read[key]
        if key in self._open:
            raise self._refused(node, "an anchor holds itself")
        kind = node.tag.removeprefix(_STANDARD)
        if kind not in _PLAIN:
            raise self._refused(node, f"`{node.tag}` is an object, which is not read")
        self._open.add(key)
        self._read[key] = self._value(node, kind)
        return self._read[key]

    def _value(self, node: yaml.Node, kind: str) -> Text:
        import yaml

        if isinstance(node, yaml.MappingNode):
            return self._table(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(one) for one in node.value]
        return None if kind == "null" else str(node.value)

    def _table(self, node: yaml.MappingNode) -> dict[str, Text]:
        """The table; what `<<` merges into it lies beneath its own keys."""
        own: dict[str, Text] = {}
        merged: dict[str, Text] = {}
        for name, value in node.value:
            if name.tag == f"{_STANDARD}merge":
                inner = self.read(value)
                for table in inner if isinstance(inner, list) else [inner]:
                    if not isinstance(table, dict):
                        raise self._refused(value, "`<<` merges tables only")
                    merged = {**table, **merged}
                continue
            key = self.read(name)
            if not isinstance(key, str):
                raise self._refused(name, "the name of a key must be text")
            if key in own:
                raise self._refused(name, f"the key `{key}` is there twice")
            own[key] = self.read(value)
        return {**merged, **own}

    def _refused(self, node: yaml.Node, problem: str) -> ImportUnreadable:
        return ImportUnreadable(path=self._path, problem=f"{problem}{_line(node.start_mark)}")
