"""The base of all results, and those that every command line has: `--version` and `--help`."""

import msgspec


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all results."""

    def exit_code(self) -> int:
        """What the process exits with when no warning says otherwise."""
        return 0

    def after(self, passed_s: float) -> "Result":  # noqa: ARG002 - most results do not age
        """The same that many seconds later, for what is kept in sight."""
        return self


class NodeFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong on a further node of the allocation, as an error of that code."""

    node: str
    code: str
    message: str
    hint: str = ""
    exit_code: int = 1


class OnNodes(Result, frozen=True, kw_only=True):
    """Base of what is done on every node of an allocation: which have it now, and what failed on the others.

    `nodes` is empty when there is but one.
    """

    nodes: list[str] = []
    failed: list[NodeFailure] = []
    forks: dict[str, str] = {}
    """What only a further node had, by node: the snapshot that it was saved in before it was replaced."""

    def exit_code(self) -> int:
        """That of the first failure."""
        return self.failed[0].exit_code if self.failed else 0


class ProfileFailure(msgspec.Struct, frozen=True, kw_only=True):
    """What went wrong with one profile while all of them were asked, as an error of that code."""

    profile: str
    login: str
    code: str
    message: str
    hint: str = ""
    exit_code: int = 1


class OnProfiles(Result, frozen=True, kw_only=True):
    """Base of what is asked of the clusters of all profiles at once: which of them gave no answer, and why."""

    failed: list[ProfileFailure] = []

    def exit_code(self) -> int:
        """That of the first failure: what was seen of the others is there all the same."""
        return self.failed[0].exit_code if self.failed else 0


class VersionShown(Result, frozen=True):
    """`--version`."""

    version: str


class HelpShown(Result, frozen=True):
    """`--help` under `--json`: the text that a person would have seen."""

    help: str
