"""Installing on a host with a bare Python: whole or not at all, beside others, and off again."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from scratchflow import __version__
from scratchflow.agent import name as naming
from scratchflow.agent.client import call, call_healed
from scratchflow.agent.delivery import bundle
from scratchflow.agent.delivery import install as installing
from scratchflow.agent.delivery.cache import BundleCache
from scratchflow.agent.delivery.install import Installed, end_trial, install, uninstall
from scratchflow.agent.delivery.needs import needs_for
from scratchflow.agent.delivery.source import agent_name
from scratchflow.agent.name import agent_command
from scratchflow.agent.request import asking
from scratchflow.model.errors.agent import AgentMissing, InstallFailed
from scratchflow.model.errors.store import NoSpace
from scratchflow.process.child import Completed
from tests.process_transport import ProcessTransport, bare_environment
from tests.unit.agent.delivery.this_machine import send_only_the_least, this_host, this_python

AGENTS = ".local/share/scratchflow/agent"
VERSION = asking("version", {}, profile_name="aws", profile={})


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> BundleCache:
    return BundleCache(tmp_path_factory.mktemp("bundles"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An account on a host whose one Python is ours, so that nothing has to be fetched."""
    monkeypatch.setattr(installing, "probe", lambda *_: this_host(str(tmp_path / "home")))
    send_only_the_least(monkeypatch)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def everything(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sends all that the package needs, not only the least."""
    assert home.is_dir()
    for module in (bundle, installing):
        monkeypatch.setattr(module, "needs_for", needs_for)


@pytest.fixture
def far(home: Path) -> ProcessTransport:
    return ProcessTransport(bare_environment(home))


def put(far: ProcessTransport, cache: BundleCache, **options: Any) -> Installed:
    return install(far, profile_name="aws", cache=cache, **options)


def answers(far: ProcessTransport) -> bool:
    try:
        return call(far, VERSION, lambda _: None, command=agent_command()) == {
            "version": __version__
        }
    except AgentMissing:
        return False


def names(home: Path) -> list[str]:
    return sorted(os.listdir(home / AGENTS))


def test_an_installed_agent_answers(far: ProcessTransport, home: Path, cache: BundleCache) -> None:
    assert not answers(far)
    done = put(far, cache)
    assert (done.path, done.was_there) == (str(home / AGENTS / agent_name()), False)
    assert answers(far)
    assert names(home) == [agent_name(), "current"]
    ours = [path for path in (home / AGENTS).rglob("*") if "__pycache__" not in path.parts]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in ours}
    assert modes <= {0o600, 0o700}


def test_a_second_installation_changes_nothing(
    far: ProcessTransport, cache: BundleCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(far, cache)
    monkeypatch.setattr(bundle, "make_bundle", lambda *_: pytest.fail("sent again"))
    assert put(far, cache).was_there


@pytest.mark.usefixtures("everything")
def test_it_runs_without_anything_of_the_hosts(
    far: ProcessTransport, home: Path, cache: BundleCache
) -> None:
    put(far, cache)
    (home / "sitecustomize.py").write_text("raise SystemExit('loaded a foreign file')")
    (home / "msgspec.py").write_text("raise SystemExit('loaded a foreign file')")
    done = subprocess.run(
        ["/bin/sh", str(home / AGENTS / "current/start"), "create", "-p", "local", "--json"],
        env={"HOME": str(home), "PYTHONPATH": str(home), "PYTHONHOME": "/nowhere"},
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"summary"' in done.stdout


def test_a_missing_agent_is_healed_by_asking(far: ProcessTransport, cache: BundleCache) -> None:
    data = call_healed(
        lambda: call(far, VERSION, lambda _: None, command=agent_command()),
        lambda _: put(far, cache),
    )
    assert data == {"version": __version__}


def test_a_home_with_spaces_and_quotes_works(
    tmp_path: Path, cache: BundleCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "it's $HOME; a `home`"
    home.mkdir()
    send_only_the_least(monkeypatch)
    monkeypatch.setattr(installing, "probe", lambda *_: this_host(str(home)))
    far = ProcessTransport(bare_environment(home), through=["sh", "-c"])
    put(far, cache)
    assert answers(far)


# Every call through which the installation changes something over there.
DYING = """
import os, subprocess, sys
left = [int(os.environ["DIE_AT"])]
def dying(name, module):
    real = getattr(module, name)
    def wrapped(*args, **kwargs):
        left[0] -= 1
        if left[0] == 0:
            os._exit(9)
        return real(*args, **kwargs)
    setattr(module, name, wrapped)
for name in ("rename", "replace", "symlink", "unlink", "rmdir"):
    dying(name, os)
dying("run", subprocess)
"""


class DyingTransport(ProcessTransport):
    """Installs with a script that dies at one of its calls, as if the host lost power there."""

    died = False

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        words = [DYING + word if word == installing._READ_SCRIPT else word for word in argv]
        done = super().run(words, stdin=stdin, timeout_s=timeout_s)
        self.died = self.died or done.returncode == 9
        return done


@pytest.mark.slow
def test_killed_at_any_call_it_is_there_whole_or_not_at_all(home: Path, cache: BundleCache) -> None:
    far = ProcessTransport(bare_environment(home))
    for die_at in range(1, 40):
        shutil.rmtree(home / AGENTS, ignore_errors=True)
        dying = DyingTransport(bare_environment(home) | {"DIE_AT": str(die_at)})
        try:
            put(dying, cache)
        except InstallFailed:
            assert dying.died
        was_whole = answers(far)  # then nothing but the tidying is left to do
        assert put(far, cache).was_there is was_whole
        assert was_whole or answers(far)
        assert names(home) == [agent_name(), "current"]
        assert list((home / AGENTS).rglob(".tmp-*")) == []
        if not dying.died:
            assert die_at > 5
            return
    pytest.fail("it never ran to its end")


class KillingTransport(ProcessTransport):
    """Kills the far script after a while, wherever it is then."""

    delay_s = 0.0

    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        assert timeout_s
        process = subprocess.Popen(
            argv,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        killer = threading.Timer(self.delay_s, process.kill)
        killer.start()
        stdout, _ = process.communicate(stdin)
        killer.cancel()
        killer.join()
        return Completed(process.returncode, stdout, b"")


@pytest.mark.slow  # the next one kills at calls
def test_killed_at_any_moment_the_next_run_heals(home: Path, cache: BundleCache) -> None:
    environment = bare_environment(home)
    killing = KillingTransport(environment)
    for step in range(1, 5):
        shutil.rmtree(home / AGENTS, ignore_errors=True)
        killing.delay_s = 0.12 * step
        with contextlib.suppress(InstallFailed):
            put(killing, cache)
        far = ProcessTransport(environment)
        was_whole = answers(far)
        put(far, cache)
        assert was_whole or answers(far)
        assert names(home) == [agent_name(), "current"]


class CuttingTransport(ProcessTransport):
    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        half = stdin[: len(stdin) // 2] if stdin and len(stdin) > 1 << 16 else stdin
        return super().run(argv, stdin=half, timeout_s=timeout_s)


class FlippingTransport(ProcessTransport):
    def run(
        self, argv: Sequence[str], *, stdin: bytes | None = None, timeout_s: float
    ) -> Completed:
        if stdin and len(stdin) > 1 << 16:
            stdin = stdin[:-9] + bytes([stdin[-9] ^ 1]) + stdin[-8:]
        return super().run(argv, stdin=stdin, timeout_s=timeout_s)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(CuttingTransport, "connection broke"), (FlippingTransport, "not what was sent")],
)
def test_what_does_not_arrive_whole_is_not_installed(
    home: Path, cache: BundleCache, kind: type[ProcessTransport], reason: str
) -> None:
    with pytest.raises(InstallFailed, match=reason):
        put(kind(bare_environment(home)), cache)
    assert not (home / AGENTS / agent_name() / "start").exists()


def test_a_bundle_that_does_not_run_there_is_not_installed(
    far: ProcessTransport, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = BundleCache(home / "empty")
    monkeypatch.setattr("scratchflow.agent.delivery.bundle.collect_parts", lambda _: {})
    with pytest.raises(InstallFailed, match="No module named"):
        put(far, broken)
    assert not answers(far)
    assert list((home / AGENTS).rglob(".tmp-*")) == []


def test_a_damaged_agent_is_replaced(far: ProcessTransport, home: Path, cache: BundleCache) -> None:
    put(far, cache)
    shutil.rmtree(next((home / AGENTS / agent_name()).glob("cp*/lib")) / "msgspec")
    assert not answers(far)
    assert not put(far, cache).was_there
    assert answers(far)


def test_a_python_that_moved_is_found_again(
    far: ProcessTransport, home: Path, cache: BundleCache
) -> None:
    put(far, cache)
    (python,) = (home / AGENTS / agent_name()).glob("cp*/python")
    python.write_text("/gone/python3\t\n")
    assert not answers(far)
    assert put(far, cache).was_there
    assert answers(far)
    assert python.read_text().splitlines()[1] == "/gone/python3\t"


def test_a_python_that_needs_a_library_path_gets_it_and_its_children_do_not(
    far: ProcessTransport, home: Path, cache: BundleCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    picky = home / "python3"
    picky.write_text(
        f'#!/bin/sh\n[ "$LD_LIBRARY_PATH" = "{home}/its libs" ] || exit 1\n'
        f'exec {this_python().executable} "$@"\n'
    )
    picky.chmod(0o755)
    found = msgspec.structs.replace(
        this_python(), executable=str(picky), library_path=f"{home}/its libs"
    )
    host = msgspec.structs.replace(this_host(str(home)), pythons=[found])
    monkeypatch.setattr(installing, "probe", lambda *_: host)
    put(far, cache)
    assert answers(far)
    part = next((home / AGENTS / agent_name()).glob("cp*"))
    (part / "lib/scratchflow/cli/main.py").write_text(
        "import os\ndef main(): print(os.environ.get('LD_LIBRARY_PATH'))\n"
    )
    for before, after in (({}, "None"), ({"LD_LIBRARY_PATH": "/mine"}, "/mine")):
        start = ["/bin/sh", str(part.parent / "start")]
        done = subprocess.run(
            start, env=bare_environment(home) | before, capture_output=True, text=True, check=True
        )
        assert done.stdout == f"{after}\n"


def test_a_part_that_does_not_run_here_is_no_trap(
    far: ProcessTransport, home: Path, cache: BundleCache
) -> None:
    put(far, cache)
    (part,) = (home / AGENTS / agent_name()).glob("cp*")
    trap = part.with_name(f"cp300-{part.name.partition('-')[2]}")
    shutil.copytree(part, trap)
    shutil.rmtree(trap / "lib")
    shutil.copytree(trap, part.with_name("cp300-other"))
    assert not answers(far)
    put(far, cache)
    assert answers(far)
    assert not trap.exists()
    assert part.with_name("cp300-other").exists()  # of another machine that shares the home


def test_when_the_best_python_cannot_be_served_the_next_is(
    far: ProcessTransport, home: Path, cache: BundleCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = home / "python3"
    broken.write_text("#!/bin/sh\necho 'lost its library' >&2; exit 1\n")
    broken.chmod(0o755)
    best = msgspec.structs.replace(this_python(), executable=str(broken))
    for pythons in ([best, this_python()], [best]):
        host = msgspec.structs.replace(this_host(str(home)), pythons=pythons)
        monkeypatch.setattr(installing, "probe", lambda *_, host=host: host)
        if len(pythons) == 2:
            assert put(far, cache).python == this_python().executable
        else:
            with pytest.raises(InstallFailed, match="lost its library"):
                put(far, cache)


@pytest.fixture
def other_version(monkeypatch: pytest.MonkeyPatch) -> str:
    """Another laptop's scratchflow."""
    name = "0.0.9-ffffffffffff"
    call_it(monkeypatch, lambda: name)
    return name


def call_it(patch: pytest.MonkeyPatch, name: Callable[[], str]) -> None:
    """What is installed from here on, and what is called, has this name."""
    patch.setattr(installing, "agent_name", name)
    patch.setattr(naming, "agent_name", name)


def test_two_laptops_with_two_versions_do_not_meet(
    far: ProcessTransport, home: Path, cache: BundleCache, other_version: str
) -> None:
    put(far, cache)
    theirs = agent_command()
    assert other_version in theirs
    with pytest.MonkeyPatch.context() as patch:
        call_it(patch, agent_name)
        assert not put(far, cache, keep_unused_s=0).was_there
        ours = agent_command()
    for command in (ours, theirs):
        assert call(far, VERSION, lambda _: None, command=command)
    assert os.readlink(home / AGENTS / "current") == agent_name()
    assert names(home) == sorted([other_version, agent_name(), "current"])


def make_old(home: Path, name: str, *, days: float) -> None:
    (home / AGENTS / name).mkdir(parents=True)
    then = os.path.getmtime(home) - days * 86400
    os.utime(home / AGENTS / name, (then, then))


def test_agents_that_nobody_uses_are_removed_and_the_last_one_stays(
    far: ProcessTransport, home: Path, cache: BundleCache
) -> None:
    for name, days in {"0.0.1-a": 90, "0.0.2-b": 31, "0.0.3-c": 29, "0.0.4-d": 400}.items():
        make_old(home, name, days=days)
    (home / AGENTS / "current").symlink_to("0.0.4-d")
    assert put(far, cache).removed == ["0.0.1-a", "0.0.2-b"]
    assert names(home) == sorted(["0.0.3-c", "0.0.4-d", agent_name(), "current"])


def test_use_keeps_an_agent_from_being_removed(
    far: ProcessTransport, home: Path, cache: BundleCache
) -> None:
    put(far, cache)
    os.utime(home / AGENTS / agent_name(), (0, 0))
    assert answers(far)
    assert (home / AGENTS / agent_name()).stat().st_mtime > 1e9


def test_many_at_once_are_harmless(home: Path, cache: BundleCache) -> None:
    far = ProcessTransport(bare_environment(home))
    put(far, cache)
    uninstall(far)
    problems: list[BaseException] = []

    def one() -> None:
        try:
            put(ProcessTransport(bare_environment(home)), cache)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            problems.append(error)

    threads = [threading.Thread(target=one) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert answers(far)
    assert names(home) == [agent_name(), "current"]


def test_uninstalling_leaves_nothing_of_ours(
    far: ProcessTransport, home: Path, cache: BundleCache
) -> None:
    (home / ".local/share/other").mkdir(parents=True)
    put(far, cache)
    uninstall(far)
    assert sorted(os.listdir(home / ".local/share")) == ["other"]
    assert not answers(far)
    uninstall(far)


@pytest.mark.parametrize("has_snapshots", [False, True])
def test_uninstalling_takes_the_store_in_the_home_only_when_it_is_empty(
    far: ProcessTransport, home: Path, *, has_snapshots: bool
) -> None:
    (home / "scratchflow").mkdir()
    if has_snapshots:
        (home / "scratchflow/work").mkdir()
    uninstall(far)
    assert (home / "scratchflow").exists() == has_snapshots


def test_uninstalling_leaves_what_is_not_the_agent(
    far: ProcessTransport, home: Path, cache: BundleCache
) -> None:
    put(far, cache)
    (home / ".local/share/scratchflow/store").mkdir()
    uninstall(far)
    assert os.listdir(home / ".local/share/scratchflow") == ["store"]


def test_an_agent_on_trial_answers_and_goes_without_a_trace(
    far: ProcessTransport, home: Path, cache: BundleCache
) -> None:
    (home / ".local/share/other").mkdir(parents=True)
    assert not put(far, cache, on_trial=True).was_there
    assert answers(far)
    assert end_trial(far)
    assert os.listdir(home / ".local/share") == ["other"]
    assert not end_trial(far)


def test_an_agent_that_was_kept_stays_after_its_trial(
    far: ProcessTransport, home: Path, cache: BundleCache
) -> None:
    put(far, cache, on_trial=True)
    assert names(home) == [agent_name()]
    assert put(far, cache).was_there
    assert not end_trial(far)
    assert answers(far)
    assert names(home) == [agent_name(), "current"]
    assert put(far, cache, on_trial=True).was_there  # a later one does not put it on trial again
    assert not end_trial(far)
    assert answers(far)


def test_a_trial_leaves_the_agents_of_others_alone(
    far: ProcessTransport, home: Path, cache: BundleCache, other_version: str
) -> None:
    put(far, cache)
    with pytest.MonkeyPatch.context() as patch:
        call_it(patch, agent_name)
        put(far, cache, on_trial=True)
        assert os.readlink(home / AGENTS / "current") == other_version
        assert end_trial(far)
        assert not answers(far)
    assert names(home) == sorted([other_version, "current"])
    assert answers(far)


def test_a_full_home_is_said_before_anything_is_sent(
    far: ProcessTransport, home: Path, cache: BundleCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = msgspec.structs.replace(this_host(str(home)), home_free_kib=1000)
    monkeypatch.setattr(installing, "probe", lambda *_: host)
    with pytest.raises(NoSpace, match=r"0\.977 MiB are free"):
        put(far, cache)
    assert not (home / ".local").exists()


def test_a_home_that_fills_up_leaves_the_old_agent_working(
    home: Path, cache: BundleCache, other_version: str
) -> None:
    """A limit on the size of a file stands in for a full disk: the write fails in the middle."""
    far = ProcessTransport(bare_environment(home))
    put(far, cache)
    with pytest.MonkeyPatch.context() as patch:
        call_it(patch, agent_name)
        limited = ProcessTransport(
            bare_environment(home),
            through=["sh", "-c", 'trap "" XFSZ; ulimit -f 100; eval "$1"', "sh"],
        )
        with pytest.raises(InstallFailed, match="too large"):
            put(limited, cache)
    assert call(far, VERSION, lambda _: None, command=agent_command())
    assert names(home) == sorted([other_version, agent_name(), "current"])
    assert list((home / AGENTS).rglob(".tmp-*")) == []


def test_no_value_becomes_shell_text() -> None:
    assert agent_command()[:2] == ["sh", "-c"]
    assert "\n" not in " ".join(agent_command())
    assert sys.executable not in " ".join(agent_command())
