"""Help for an account without a working key: asked at each step, and no key of the user's is touched."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from scratchflow.config.settings import Settings
from scratchflow.flows.setup import keys as module
from scratchflow.flows.setup.keys import help_with_keys, offer_key_login
from scratchflow.model.errors.ssh import AuthNeeded, KeyRefused
from scratchflow.model.events import Checked, Event
from scratchflow.process.child import Completed
from scratchflow.ssh.keys.key_files import public_line
from scratchflow.ssh.keys.make_key import make_key
from scratchflow.ssh.transport.local import LocalTransport
from scratchflow.ssh.transport.openssh import OpenSshTransport
from tests.unit.flows.setup.answers import NOBODY, Answers
from tests.unit.flows.told import ToldCluster

REFUSED = KeyRefused(host="aws", reason="publickey")
AGAIN = "scratchflow setup aws --store /data"


class Far(OpenSshTransport):
    """A login host whose home is a directory here; it lets nobody in by key while that is loose."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.host = "aws"

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            argv, input=stdin, env=environment, capture_output=True, timeout=timeout_s, check=False
        )
        return Completed(done.returncode, done.stdout, done.stderr)

    def refuses(self, *_: object) -> bool:
        is_loose = bool(self.home.stat().st_mode & 0o022)
        return is_loose or not (self.home / ".ssh/authorized_keys").exists()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """Where the ssh config wants the key for the host; there is none yet."""
    (tmp_path / "ssh").mkdir()
    path = tmp_path / "keys/id_test"
    (tmp_path / "ssh/config").write_text(f"Host aws\n  IdentityFile {path}\n")
    return path


@pytest.fixture
def settings(tmp_path: Path, key: Path) -> Settings:
    assert not key.exists()
    return ToldCluster(tmp_path, {}).settings


@pytest.fixture
def far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Far:
    (tmp_path / "far").mkdir(mode=0o700)
    far = Far(tmp_path / "far")
    monkeypatch.setattr(module, "key_is_refused", far.refuses)
    return far


def offer(settings: Settings, far: Far, asker: Answers, *, wanted: bool = False) -> list[Checked]:
    told: list[Event] = []
    offer_key_login(settings, {}, far, told.append, asker, wanted=wanted)
    return [event for event in told if isinstance(event, Checked)]


def test_a_key_is_made_and_its_public_half_shown_unbroken(settings: Settings, key: Path) -> None:
    asker = Answers(True, "")
    help_with_keys(settings, REFUSED, asker, AGAIN)
    assert public_line(key) in asker.said
    assert f"`{AGAIN}` goes on later" in " ".join(asker.said)
    assert asker.all_given


def test_a_key_that_is_there_is_shown_and_stays(settings: Settings, key: Path) -> None:
    make_key(key)
    before = key.read_bytes()
    help_with_keys(settings, REFUSED, asker := Answers(""), AGAIN)
    assert public_line(key) in asker.said
    assert key.read_bytes() == before


def test_who_wants_no_key_gets_what_the_host_said_and_no_file(
    settings: Settings, key: Path
) -> None:
    with pytest.raises(KeyRefused):
        help_with_keys(settings, REFUSED, Answers(False), AGAIN)
    assert not key.parent.exists()


def test_a_password_is_no_matter_of_keys(settings: Settings, key: Path) -> None:
    help_with_keys(settings, AuthNeeded(host="aws", reason="r", command="c"), Answers(True), AGAIN)
    assert not key.parent.exists()


def test_after_a_password_the_key_is_put_there(settings: Settings, key: Path, far: Far) -> None:
    (check,) = offer(settings, far, Answers(True, True))
    assert check.ok
    assert (far.home / ".ssh/authorized_keys").read_text() == f"{public_line(key)}\n"


def test_a_no_leaves_both_machines_alone(settings: Settings, key: Path, far: Far) -> None:
    assert offer(settings, far, Answers(False)) == []
    assert not key.parent.exists()
    assert list(far.home.iterdir()) == []


def test_a_home_that_others_may_write_to_is_tightened_only_with_a_yes(
    settings: Settings, far: Far
) -> None:
    far.home.chmod(0o770)
    (check,) = offer(settings, far, asker := Answers(True, True, False))
    assert not check.ok
    assert "ssh -v aws" in check.fix
    assert any(str(far.home) in line for line in asker.said)
    assert far.home.stat().st_mode & 0o777 == 0o770
    (check,) = offer(settings, far, Answers(True, True))
    assert check.ok
    assert far.home.stat().st_mode & 0o777 == 0o750


def test_who_asked_for_it_beforehand_is_asked_nothing(settings: Settings, far: Far) -> None:
    (check,) = offer(settings, far, NOBODY, wanted=True)
    assert check.ok


def test_who_came_in_with_a_key_is_offered_none(settings: Settings, far: Far) -> None:
    offer(settings, far, NOBODY, wanted=True)
    assert offer(settings, far, Answers()) == []
    offer_key_login(settings, {}, LocalTransport(), lambda _: None, Answers(), wanted=False)
