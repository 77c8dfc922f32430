"""The star around the first profile: which pairs, in which order, and what is refused before anything begins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from scratchflow.config.settings import Asked
from scratchflow.dispatch.cluster import Caller, Cluster
from scratchflow.flows.sync import members
from scratchflow.flows.sync import sync as module
from scratchflow.flows.sync.conversation import Pair, Person
from scratchflow.flows.sync.sync import SyncWanted, keep_syncing, recalled, sync
from scratchflow.model.errors.base import ScratchflowError, UsageInvalid
from scratchflow.model.errors.config import ConfigNoProfile
from scratchflow.model.errors.ssh import AuthNeeded, ConnectionLost
from scratchflow.model.errors.sync import (
    SyncBusy,
    SyncFolderRefused,
    SyncManyDeletions,
    SyncNotConfigured,
    SyncPathMissing,
    SyncPathRefused,
    SyncSameHome,
)
from scratchflow.model.events import Event, Status, Warned
from scratchflow.model.results.sync import Synced, SyncedPair, SyncSide
from scratchflow.process.waiting import Clock

PROFILES = "".join(f'[profiles.{name}]\nlogin = "local"\n' for name in ("uni", "aws", "mila"))
TABLE = '[sync]\nprofiles = ["uni", "aws", "mila"]\nfolders = ["p"]\n'
LOST = ConnectionLost(host="hole", reason="timed out")
VERSION = "unison version 2.52.1 (ocaml 4.13.1)"


class Star:
    """Homes and pairs that do what the test says."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.file = directory / "config.toml"
        self.write(TABLE)
        self.homes = iter("abc")
        self.versions: dict[str, str] = {}
        self.to_first: dict[str, int] = {}
        self.missing: dict[str, list[str]] = {}
        self.line_breaks: dict[str, int] = {}
        self.away: dict[str, ScratchflowError] = {}
        """What comes of looking at a home."""
        self.lost: dict[str, ScratchflowError] = {}
        """What comes of syncing with it."""
        self.lost_again: dict[str, ScratchflowError] = {}
        """What comes of syncing with it for the second time."""
        self.pairs: list[Pair] = []
        self.events: list[Event] = []
        monkeypatch.setattr(Cluster, "on_login", lambda cluster, *_: self._look(cluster))
        monkeypatch.setattr(module, "sync_pair", self._sync)

    def write(self, table: str) -> None:
        self.file.write_text(PROFILES + table)

    @property
    def caller(self) -> Caller:
        return Caller(asked=Asked(config=str(self.file)), environment=os.environ)

    def sync(self, **wanted: object) -> Synced:
        return sync(self.caller, self.events.append, SyncWanted(**wanted), Person())  # type: ignore[arg-type]  # by name

    @property
    def order(self) -> list[str]:
        return [pair.other for pair in self.pairs]

    @property
    def warnings(self) -> list[str]:
        return [event.message for event in self.events if isinstance(event, Warned)]

    def _look(self, cluster: Cluster) -> SyncSide:
        if error := self.away.get(cluster.settings.name):
            raise error
        home = next(self.homes)
        version = self.versions.get(home, VERSION)
        return SyncSide(
            host="h",
            home=f"/{home}",
            home_id=home,
            program="u",
            version=version,
            missing=self.missing.get(home, []),
            line_breaks=self.line_breaks.get(home, 0),
        )

    def _sync(self, pair: Pair, *_: object) -> SyncedPair:
        self.pairs.append(pair)
        errors = self.lost if self.order.count(pair.other) == 1 else self.lost_again
        if error := errors.get(pair.other):
            raise error
        count = self.to_first.pop(pair.other, 0)
        return SyncedPair(profile=pair.other, to_first=count, to_profile=1, equal=True)


@pytest.fixture
def star(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Star:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Star(tmp_path, monkeypatch)


def test_each_home_is_synced_with_the_first(star: Star) -> None:
    done = star.sync()
    assert [(pair.first, pair.other) for pair in star.pairs] == [("uni", "aws"), ("uni", "mila")]
    assert done.first == "uni"
    assert done.exit_code() == 0


def test_what_a_later_home_brought_goes_to_the_earlier_ones(star: Star) -> None:
    star.to_first = {"mila": 3}
    done = star.sync()
    assert star.order == ["aws", "mila", "aws"]
    assert [(pair.profile, pair.to_profile) for pair in done.pairs] == [("aws", 2), ("mila", 1)]


def test_the_others_are_synced_when_one_cannot_be_reached(star: Star) -> None:
    star.away = {"aws": LOST}
    done = star.sync()
    assert star.order == ["mila"]
    assert [pair.profile for pair in done.pairs] == ["mila"]
    (failure,) = done.failed
    assert (failure.profile, failure.login, failure.code) == ("aws", "local", "connection.lost")
    assert failure.message == "no connection to `hole`: timed out"
    assert failure.hint.endswith("; then `scratchflow sync aws` syncs it")
    assert done.exit_code() == 14
    assert star.warnings == ["`aws` is not synced: no connection to `hole`: timed out"]


def test_the_command_for_later_does_the_same_but_asks_about_deletions(star: Star) -> None:
    star.away = {"aws": LOST}
    done = star.sync(
        paths=("p/a b",), prefer="newer", allow_deletions=True, more=("-fastcheck", "false")
    )
    command = "scratchflow sync aws '--path=p/a b' --prefer=newer -- -fastcheck false"
    assert done.failed[0].hint.endswith(f"; then `{command}` syncs it")
    star.homes = iter("abc")
    planned = star.sync(dry_run=True)
    assert planned.failed[0].hint.endswith("; then `scratchflow sync aws --dry-run` asks it")


def test_nothing_is_synced_without_the_first(star: Star) -> None:
    star.away = {"uni": LOST}
    with pytest.raises(ConnectionLost) as caught:
        star.sync()
    assert "scratchflow sync" not in caught.value.shown_hint
    assert star.order == []


def test_the_only_one_that_cannot_be_reached_is_an_error_told_once(star: Star) -> None:
    star.away = {"aws": LOST}
    with pytest.raises(ConnectionLost):
        star.sync(profiles=("aws",))
    assert star.warnings == []


def test_when_none_of_the_others_answers_the_first_error_is_that_of_the_sync(star: Star) -> None:
    star.away = {"aws": LOST, "mila": AuthNeeded(host="m", reason="x", command="ssh m")}
    with pytest.raises(ConnectionLost):
        star.sync()


def test_one_that_is_lost_meanwhile_does_not_hold_up_the_others(star: Star) -> None:
    star.lost = {"aws": ConnectionLost(host="login.aws", reason="cut")}
    done = star.sync()
    assert star.order == ["aws", "mila"]
    assert [pair.profile for pair in done.pairs] == ["mila"]
    assert [failure.profile for failure in done.failed] == ["aws"]
    star.homes, star.pairs = iter("abc"), []
    star.lost = {"aws": SyncBusy(profile="uni")}
    with pytest.raises(SyncBusy):
        star.sync()


def test_one_that_is_lost_in_the_second_round_is_not_called_equal(star: Star) -> None:
    star.to_first = {"mila": 3}
    star.lost_again = {"aws": ConnectionLost(host="login.aws", reason="cut")}
    done = star.sync()
    assert star.order == ["aws", "mila", "aws"]
    assert [(pair.profile, pair.equal) for pair in done.pairs] == [("aws", False), ("mila", True)]
    assert done.exit_code() == 14


def test_many_deletions_end_the_sync_after_the_one_that_is_away_was_named(star: Star) -> None:
    star.away = {"aws": LOST}
    star.lost = {"mila": SyncManyDeletions(profile="mila", files=2, total=3)}
    with pytest.raises(SyncManyDeletions):
        star.sync()
    assert star.warnings == ["`aws` is not synced: no connection to `hole`: timed out"]


def test_a_mistake_in_the_configuration_ends_the_sync_before_anything_is_changed(
    star: Star,
) -> None:
    star.away = {"mila": SyncFolderRefused(folder="p", reason="it is a link")}
    with pytest.raises(SyncFolderRefused):
        star.sync()
    assert star.order == []


def test_a_folder_that_is_in_none_of_the_homes_that_answered_is_told_as_that(star: Star) -> None:
    star.away, star.missing = {"mila": LOST}, {"a": ["p"], "b": ["p"]}
    star.sync()
    assert star.warnings[-1].endswith("is in none of the homes that answered")


def test_what_a_path_alone_brought_in_two_rounds_is_remembered_once(star: Star) -> None:
    star.sync()
    star.homes, star.to_first = iter("abc"), {"mila": 3}
    star.sync(paths=("p/a",))
    known = {pair.profile: (pair.to_first, pair.to_profile) for pair in recalled(star.caller).pairs}
    assert known == {"aws": (0, 3), "mila": (3, 2)}


def test_only_the_named_profiles_are_synced(star: Star) -> None:
    star.sync(profiles=("mila",))
    assert star.order == ["mila"]


def test_the_host_name_is_the_profiles(star: Star) -> None:
    star.sync(profiles=("aws",))
    (pair,) = star.pairs
    assert pair.homes.other_root == "ssh://aws//b"
    assert dict(pair.relay._first.variables) == {"UNISONLOCALHOSTNAME": "uni"}
    assert dict(pair.relay._other.variables) == {"UNISONLOCALHOSTNAME": "aws"}


@pytest.mark.parametrize(
    ("prefer", "root"), [("newer", "newer"), ("uni", "/a"), ("aws", "ssh://aws//b"), ("mila", "")]
)
def test_the_preferred_profile_is_a_root_of_unison(star: Star, prefer: str, root: str) -> None:
    star.sync(profiles=("aws",), prefer=prefer)
    assert star.pairs[0].rules.prefer == root


@pytest.mark.parametrize("prefer", ["newr", "nosuch"])
def test_a_preference_for_nobody_is_refused(star: Star, prefer: str) -> None:
    with pytest.raises(
        UsageInvalid, match=f"`newer`, `older`, `uni`, `aws`, `mila`, not `{prefer}`"
    ):
        star.sync(prefer=prefer)
    assert star.pairs == []


def test_a_lost_link_names_the_host_of_the_profile(star: Star) -> None:
    star.file.write_text(PROFILES.replace('"local"', '"login.uni"', 1) + TABLE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(members, "is_login_host", lambda *_: True)
        star.sync(profiles=("aws",))
    assert star.pairs[0].relay._first.host == "login.uni"


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("", "no two profiles"),
        ('[sync]\nprofiles = ["uni"]\nfolders = ["p"]\n', "no two profiles"),
        ('[sync]\nprofiles = ["uni", "aws"]\n', "no folders"),
    ],
)
def test_what_is_missing_in_the_file_is_named(star: Star, table: str, problem: str) -> None:
    star.write(table)
    with pytest.raises(SyncNotConfigured, match=problem):
        star.sync()


def test_a_profile_that_is_not_there_is_refused(star: Star) -> None:
    star.write('[sync]\nprofiles = ["uni", "awz"]\nfolders = ["p"]\n')
    with pytest.raises(ConfigNoProfile, match="awz"):
        star.sync()
    star.write(TABLE)
    with pytest.raises(SyncNotConfigured, match="no profile `other`"):
        star.sync(profiles=("other",))


@pytest.mark.parametrize("folder", [".ssh", "a/.cache/b", ".conda/pkgs", ".conda/pkgs/x"])
def test_a_folder_that_is_left_out_is_refused(star: Star, folder: str) -> None:
    star.write(f'[sync]\nprofiles = ["uni", "aws"]\nfolders = ["{folder}"]\n')
    with pytest.raises(SyncFolderRefused, match="leave_out"):
        star.sync()


@pytest.mark.parametrize("folder", [".unison", ".unison/backup", ".local/share/scratchflow"])
def test_a_folder_that_never_syncs_is_refused(star: Star, folder: str) -> None:
    star.write(f'[sync]\nprofiles = ["uni", "aws"]\nfolders = ["{folder}"]\n')
    with pytest.raises(SyncFolderRefused, match="belongs to one home alone"):
        star.sync()


def test_a_folder_that_no_home_has_is_told_and_nothing_is_called_equal(star: Star) -> None:
    star.missing = {"a": ["p"], "b": ["p"]}
    assert [pair.equal for pair in star.sync().pairs] == [True, True]
    assert star.events == [event for event in star.events if not isinstance(event, Warned)]
    star.homes, star.missing = iter("abc"), {"a": ["p"], "b": ["p"], "c": ["p"]}
    assert [pair.equal for pair in star.sync().pairs] == [False, False]
    warned = [event for event in star.events if isinstance(event, Warned)]
    assert [one.code for one in warned] == ["sync.no_such_folder"]
    assert "`p`" in warned[0].message


def test_names_with_a_line_break_are_told_and_those_homes_not_called_equal(star: Star) -> None:
    star.line_breaks = {"c": 2}
    assert [pair.equal for pair in star.sync().pairs] == [True, False]
    warned = [event for event in star.events if isinstance(event, Warned)]
    assert [one.message for one in warned] == ["names with a line break are left out: 2 on `mila`"]


def test_one_home_is_not_synced_with_itself(star: Star) -> None:
    star.homes = iter("aab")
    with pytest.raises(SyncSameHome, match="`uni` and `aws`"):
        star.sync()
    assert star.pairs == []


def test_one_whose_version_does_not_fit_is_named_and_the_others_are_synced(star: Star) -> None:
    star.versions = {"c": "unison version 2.48.4"}
    done = star.sync()
    assert star.order == ["aws"]
    assert "2.48.4 on `mila`" in done.failed[0].message
    assert done.exit_code() == 40


def test_watching_waits_a_lost_connection_out_and_stops_for_a_decision(
    star: Star, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: Iterator[Synced | ScratchflowError] = iter(
        [
            Synced(first="uni", folders=["p"], pairs=[]),
            ConnectionLost(host="aws", reason="x"),
            Synced(first="uni", folders=["p"], pairs=[]),
            SyncManyDeletions(profile="aws", files=2, total=3),
        ]
    )

    def one_round(*_: object) -> Synced:
        done = next(rounds)
        if isinstance(done, ScratchflowError):
            raise done
        return done

    monkeypatch.setattr(module, "sync", one_round)
    waits: list[float] = []
    with pytest.raises(SyncManyDeletions):
        keep_syncing(star.caller, star.events.append, SyncWanted(), 60, Clock(sleep=waits.append))
    assert waits == [60, 60, 60]
    assert [type(event) for event in star.events] == [Status, Warned, Status]


def test_watching_tries_one_that_is_away_again_and_ends_when_it_needs_a_decision(
    star: Star, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(error: ScratchflowError) -> Synced:
        star.homes, star.away = iter("abc"), {"aws": error}
        return sync(star.caller, lambda _: None, SyncWanted(), Person())

    auth = AuthNeeded(host="aws", reason="x", command="ssh aws")
    rounds = iter([failing(LOST), failing(auth)])
    monkeypatch.setattr(module, "sync", lambda *_: next(rounds))
    waits: list[float] = []
    done = keep_syncing(
        star.caller, star.events.append, SyncWanted(), 60, Clock(sleep=waits.append)
    )
    assert (len(waits), done.exit_code()) == (1, 12)
    (status,) = star.events
    assert isinstance(status, Status)
    assert status.data["failed"][0]["profile"] == "aws"


def test_a_path_alone_is_synced_and_the_preference_holds_for_it(star: Star) -> None:
    star.sync(profiles=("aws",), paths=("p/notes/todo.md",), prefer="aws")
    (pair,) = star.pairs
    assert (pair.rules.paths, pair.rules.prefer) == (("p/notes/todo.md",), "ssh://aws//b")
    assert pair.rules.folders == ["p"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("q/a", "none of the `folders`"),
        ("pq", "none of the `folders`"),
        ("p/.ssh/key", "`leave_out` names"),
    ],
)
def test_a_path_that_no_sync_looks_at_is_refused(star: Star, path: str, reason: str) -> None:
    with pytest.raises(SyncPathRefused, match=reason) as caught:
        star.sync(paths=(path,))
    assert "the folders that are synced: `p`;" in caught.value.shown_hint
    assert star.pairs == []


def test_a_path_may_end_with_a_slash_as_shells_complete_it(star: Star) -> None:
    star.sync(profiles=("aws",), paths=("p/notes/", "p//"))
    assert star.pairs[0].rules.paths == ("p/notes", "p")


def test_a_path_that_no_home_has_is_an_error_and_nothing_is_synced(star: Star) -> None:
    star.missing = {"a": ["p/x"], "b": ["p/x"]}
    star.sync(paths=("p/x",))  # `mila` has it
    star.homes, star.pairs = iter("ab"), []
    with pytest.raises(
        SyncPathMissing, match="`p/x` is in none of the homes: `uni`, `aws`"
    ) as caught:
        star.sync(profiles=("aws",), paths=("p/y", "p/x/"))
    assert caught.value.exit_code == 30
    assert star.pairs == []


@pytest.mark.parametrize("path", ["/p/a", "p/../q", "p//a", "/", "", "p/a\nb"])
def test_what_is_no_path_from_the_home_is_refused(star: Star, path: str) -> None:
    with pytest.raises(UsageInvalid, match="`--path` takes a path from the home"):
        star.sync(paths=(path,))


def test_a_path_that_is_not_utf8_is_left_to_the_question(star: Star) -> None:
    with pytest.raises(UsageInvalid, match="`--interactive` asks about each conflict"):
        star.sync(paths=(os.fsdecode(b"p/lat\xff"),))


def test_each_pair_is_known_afterwards_unless_nothing_was_compared(star: Star) -> None:
    assert [pair.condition for pair in recalled(star.caller).pairs] == ["never", "never"]
    star.sync(test=True)
    star.homes = iter("abc")
    star.sync(dry_run=True)
    assert [pair.synced_time for pair in recalled(star.caller).pairs] == [None, None]
    looked = [pair.looked_time for pair in recalled(star.caller).pairs]
    assert None not in looked
    star.homes = iter("ac")
    star.sync(profiles=("mila",))
    found = recalled(star.caller)
    assert (found.first, [pair.profile for pair in found.pairs]) == ("uni", ["aws", "mila"])
    assert [pair.condition for pair in found.pairs] == ["never", "clean"]


def test_a_plan_in_which_one_side_wins_is_not_taken_for_what_is_there(star: Star) -> None:
    star.sync(dry_run=True, prefer="newer")
    assert [pair.looked_time for pair in recalled(star.caller).pairs] == [None, None]


def test_without_a_table_there_is_nothing_to_recall(star: Star) -> None:
    star.write("")
    with pytest.raises(SyncNotConfigured):
        recalled(star.caller)
