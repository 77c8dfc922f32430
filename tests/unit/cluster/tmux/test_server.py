"""A real tmux server of the test's own: what is promised about sessions, windows and words."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from scratchflow.cluster.command import CommandMissing, CommandUnanswered, local_run
from scratchflow.cluster.tmux.server import Pane, Tmux, then_detach
from scratchflow.cluster.tmux.window import WindowHolder
from scratchflow.model.errors.slurm import TmuxFailed
from scratchflow.process.child import Completed
from tests.terminal import ENTER, Terminal
from tests.unit.cluster.tmux.conftest import retry_until

SLEEP = ["sleep", "1000"]
# What a window that holds a job runs.
HOLDS = ["sh", "-c", "exec sleep 1000 # salloc"]

# A child that was cut off is collected late, and the warning of that would fail whichever test comes next.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def listed(socket: str, *arguments: str) -> list[str]:
    argv = ["tmux", "-L", socket, *arguments]
    done = subprocess.run(argv, check=False, capture_output=True, text=True)
    return done.stdout.splitlines()


def test_nothing_runs_before_the_first_start(tmux: Tmux) -> None:
    assert tmux.pane("aws") is None
    assert tmux.session("aws") is None
    assert tmux.kill("aws") is False
    with pytest.raises(TmuxFailed, match='profile "aws" has no session'):
        tmux.attach_argv("aws")


def test_a_look_is_one_process(tmux: Tmux, socket: str) -> None:
    tmux.start("aws", "s", SLEEP)
    asked: list[list[str]] = []

    def run(argv: Sequence[str], timeout_s: float) -> Completed:
        asked.append(list(argv))
        return local_run(os.environ)(argv, timeout_s)

    assert Tmux(run, "login", socket).session("aws") == "s"
    assert len(asked) == 1


def test_names_that_are_not_ascii_are_read_as_they_are(tmux: Tmux, socket: str) -> None:
    tmux.start("aws", "s", SLEEP)
    assert tmux.open_window("aws", "Größe", SLEEP, run="7") == "Größe"
    in_c = Tmux(local_run({**os.environ, "LC_ALL": "C"}), "login", socket)
    assert [pane.window for pane in in_c.detached("aws")] == ["Größe"]


def test_ensure_starts_once(tmux: Tmux, socket: str) -> None:
    first = tmux.ensure("aws", "scratchflow", SLEEP)
    assert (first.session, first.window, first.dead) == ("scratchflow", "node", False)
    assert tmux.ensure("aws", "scratchflow", ["true", "x"]) == first
    assert listed(socket, "list-windows", "-a", "-F", "#{window_name}") == ["node"]
    attach = ["tmux", "-L", socket, "attach-session", "-t", "=scratchflow"]
    assert tmux.attach_argv("aws") == attach


@pytest.mark.parametrize("code", [0, 3])
def test_the_window_and_its_exit_code_stay_when_the_command_ends(tmux: Tmux, code: int) -> None:
    # At once: tmux must not bury it before it was told to keep it.
    pane = tmux.start("aws", "s", ["sh", "-c", f"exit {code}"])
    retry_until(lambda: (tmux.pane("aws") or pane).dead)
    ended = tmux.pane("aws")
    assert ended is not None
    assert (ended.exit_code, ended.pane_id) == (code, pane.pane_id)


def test_a_long_line_is_read_as_one(tmux: Tmux) -> None:
    long = "x" * 700
    pane = tmux.start("aws", "s", ["sh", "-c", f"echo {long}; exec sleep 1000"])
    retry_until(lambda: long in tmux.text(pane))


def test_start_takes_the_place_of_what_ran_before_and_its_words(tmux: Tmux, socket: str) -> None:
    tmux.start("aws", "s", ["sh", "-c", "echo Granted job allocation 5; exec sleep 1000"])
    second = tmux.start("aws", "s", SLEEP)
    assert "Granted" not in tmux.text(second)
    assert listed(socket, "list-panes", "-a", "-F", "#{pane_id}") == [second.pane_id]


def test_a_dead_window_is_filled_again(tmux: Tmux, socket: str) -> None:
    first = tmux.start("aws", "s", ["true", "x"])
    retry_until(lambda: (tmux.pane("aws") or first).dead)
    second = tmux.ensure("aws", "s", SLEEP)
    assert (second.pane_id, second.dead) == (first.pane_id, False)
    assert len(listed(socket, "list-panes", "-a")) == 1


def test_the_users_own_windows_and_sessions_live_on(tmux: Tmux, socket: str) -> None:
    listed("default", "new-session", "-d", "-s", "scratchflow", *SLEEP)
    listed(socket, "new-session", "-d", "-s", "scratch", *SLEEP)  # a prefix of ours
    listed(socket, "new-session", "-d", "-s", "a|b:c", "-n", "d|e:f", *SLEEP)
    tmux.start("aws", "scratchflow", SLEEP)
    listed(socket, "new-window", "-t", "=scratchflow:", "-n", "mine | : too", *SLEEP)
    tmux.start("aws", "scratchflow", SLEEP)
    windows = listed(socket, "list-windows", "-t", "=scratchflow", "-F", "#{window_name}")
    assert sorted(windows) == ["mine | : too", "node"]
    assert tmux.kill("aws")
    assert listed(socket, "list-sessions", "-F", "#{session_name}") == ["a|b_c", "scratch"]
    assert listed("default", "list-sessions", "-F", "#{session_name}") == ["scratchflow"]


def test_a_taken_session_name_is_left_to_its_owner(tmux: Tmux) -> None:
    assert tmux.start("cpu", "my.work", SLEEP).session == "my_work"
    assert tmux.start("gpu", "my.work", SLEEP).session == "my_work-gpu"
    assert tmux.kill("cpu")
    assert tmux.session("gpu") == "my_work-gpu"


def test_a_window_that_was_closed_is_opened_again_in_the_session(tmux: Tmux, socket: str) -> None:
    pane = tmux.start("aws", "s", SLEEP)
    listed(socket, "new-window", "-t", "=s:", *SLEEP)
    tmux.kill_pane(pane.pane_id)
    tmux.kill_pane(pane.pane_id)
    assert (tmux.pane("aws"), tmux.session("aws")) == (None, "s")
    assert tmux.ensure("aws", "s", SLEEP).session == "s"


def test_settings_of_the_user_do_not_end_the_session(tmux: Tmux, tmp_path: Path) -> None:
    settings = "set -g destroy-unattached on\nset -s exit-unattached on\nset -g base-index 7\n"
    settings += "set -g default-command 'exit 9'\nset -g allow-rename on\nset -g history-limit 0\n"
    (tmp_path / ".tmux.conf").write_text(settings)
    tmux.start("aws", "s", ["sh", "-c", r"printf '\033kother\033\\'; exec sleep 1000"])
    for _ in range(10):
        pane = tmux.pane("aws")
        assert pane is not None
        assert (pane.dead, pane.window) == (False, "node")


@pytest.mark.slow
def test_a_session_can_be_started_while_the_last_server_still_ends(tmux: Tmux) -> None:
    for _ in range(20):
        tmux.start("aws", "s", SLEEP)
        assert tmux.kill("aws")


def test_a_mistake_in_the_users_settings_does_no_harm(tmux: Tmux, tmp_path: Path) -> None:
    (tmp_path / ".tmux.conf").write_text("set -g no-such-option on\nnonsense\n")
    pane = tmux.start("aws", "s", ["sh", "-c", "echo salloc: error: oops; exec sleep 1000"])
    retry_until(lambda: "oops" in tmux.text(pane))


@pytest.mark.slow
def test_a_renamed_window_is_still_the_one_that_was_started(tmux: Tmux, socket: str) -> None:
    holder = WindowHolder(tmux, "aws", "s")
    holder.start(SLEEP)
    listed(socket, "rename-window", "-t", "=s:", "mine")
    assert holder.exit_code() is None
    holder.stop()
    assert tmux.session("aws") is None


HOSTILE = [
    "a;",
    ";",
    "a\\;",
    "$(touch CANARY)",
    "`touch CANARY`",
    "'\"",
    "#(touch CANARY)",
    "#{pid}",
]
HOSTILE += ["two\nlines", "-x", "run-shell", "~", "%1", "", " ", "ä"]


def test_arguments_arrive_byte_for_byte(tmux: Tmux, tmp_path: Path) -> None:
    canary, out = tmp_path / "canary", tmp_path / "out"
    words = [word.replace("CANARY", str(canary)) for word in HOSTILE]
    write = "import os, sys; f = open(sys.argv[1] + '~', 'w'); f.write(repr(sys.argv[2:])); f.close(); os.rename(sys.argv[1] + '~', sys.argv[1])"
    tmux.start("aws", "s", ["python3", "-c", write, str(out), *words])
    retry_until(out.exists)
    assert out.read_text() == repr(words)
    pane = tmux.pane("aws")
    assert pane is not None
    out.unlink()
    tmux.restart(pane, ["python3", "-c", write, str(out), *words])
    retry_until(out.exists)
    assert out.read_text() == repr(words)
    assert not canary.exists()


def test_a_single_word_is_never_given_to_a_shell(tmux: Tmux) -> None:
    with pytest.raises(ValueError, match="single word"):
        tmux.start("aws", "s", ["sleep 1000; true"])


def test_without_tmux_the_error_says_what_to_do() -> None:
    def run(argv: object, timeout_s: float) -> Completed:
        raise CommandMissing(f"{argv} {timeout_s}")

    with pytest.raises(TmuxFailed, match="no `tmux` on its PATH") as caught:
        Tmux(run, "login").pane("aws")
    assert 'hold = "detached"' in caught.value.shown_hint


def test_a_server_that_hangs_is_not_waited_for() -> None:
    def run(argv: object, timeout_s: float) -> Completed:
        raise CommandUnanswered(f"{argv} gave no answer within {timeout_s:g} s")

    with pytest.raises(TmuxFailed, match="no answer within 10 s"):
        Tmux(run, "login").pane("aws")


def test_a_shell_that_nobody_has_seen_is_renewed_but_never_the_one_that_holds_the_job(
    tmux: Tmux,
) -> None:
    shell = tmux.ensure("aws", "s", SLEEP)
    assert tmux.ensure("aws", "s", SLEEP).pid == shell.pid
    renewed = tmux.ensure("aws", "s", SLEEP, renew_unused=True)
    assert renewed.pid != shell.pid
    tmux.kill("aws")
    holding = tmux.ensure("aws", "s", HOLDS)
    assert tmux.ensure("aws", "s", SLEEP, renew_unused=True).pid == holding.pid


def test_a_command_that_ends_gives_the_terminal_back_and_leaves_the_window_to_be_filled(
    tmux: Tmux,
) -> None:
    shell = tmux.ensure("aws", "s", then_detach(["sh", "-c", "echo ready; read line"]))
    with Terminal(tmux.attach_argv("aws"), os.environ) as terminal:
        terminal.wait_for("ready")
        terminal.press(ENTER)
        assert terminal.end() == 0
    retry_until(lambda: bool((pane := tmux.pane("aws")) and pane.dead))
    assert tmux.session("aws") == "s"
    assert tmux.ensure("aws", "s", SLEEP).pid != shell.pid


def test_a_pane_that_another_run_closes_in_the_same_moment_is_closed(
    tmux: Tmux, socket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmux.ensure("aws", "s", SLEEP)
    before = tmux.ensure("other", "o", SLEEP)
    seen = tmux.pane_with_id

    def seen_and_closed(pane_id: str) -> Pane | None:
        monkeypatch.setattr(tmux, "pane_with_id", seen)
        found = seen(pane_id)
        listed(socket, "kill-pane", "-t", pane_id)
        return found

    monkeypatch.setattr(tmux, "pane_with_id", seen_and_closed)
    tmux.kill_pane(before.pane_id)
    assert tmux.pane("other") is None


def shown(socket: str, window: str) -> str:
    return "".join(listed(socket, "capture-pane", "-p", "-J", "-t", f"=s:={window}"))


def shown_at_the_end(socket: str, window: str) -> str:
    retry_until(lambda: "has ended" in shown(socket, window))
    return shown(socket, window)


def test_a_command_that_was_left_alone_and_has_ended_says_how_to_leave_its_window(
    tmux: Tmux, socket: str
) -> None:
    tmux.start("aws", "s", SLEEP)
    command = ["sh", "-c", "echo its only line; exit 3"]
    said = shown_at_the_end(socket, tmux.open_window("aws", "train", command, run="7"))
    assert "its only line" in said
    assert "The command has ended with exit code 3. C-b d leaves, C-b & closes this window" in said


def test_at_once_also_when_something_that_it_left_has_the_terminal(tmux: Tmux, socket: str) -> None:
    tmux.start("aws", "s", SLEEP)
    command = ["sh", "-c", "sleep 100 & exit 4"]
    window = tmux.open_window("aws", "train", command, run="7")
    assert "has ended with exit code 4" in shown_at_the_end(socket, window)


@pytest.mark.slow
def test_tmux_learns_every_exit_code(tmux: Tmux, socket: str) -> None:
    """Several, and not too short ones: tmux 3.3 misses about half of such ends if it is let."""
    tmux.start("aws", "s", SLEEP)
    command = ["sh", "-c", "sleep 0.4; exit 3"]
    for window in [tmux.open_window("aws", "train", command, run="7") for _ in range(6)]:
        asked = ["list-panes", "-t", f"=s:={window}", "-F", "#{pane_dead_status}"]
        retry_until(lambda asked=asked: listed(socket, *asked) == ["3"])  # type: ignore[misc]


def test_ctrl_c_ends_the_command_of_a_window_and_not_what_tells_of_its_end(
    tmux: Tmux, socket: str
) -> None:
    tmux.start("aws", "s", SLEEP)
    window = tmux.open_window("aws", "train", ["sh", "-c", "echo ready; sleep 100"], run="7")
    retry_until(lambda: "ready" in shown(socket, window))
    listed(socket, "send-keys", "-t", f"=s:={window}", "C-c")
    assert "The command has ended with exit code 130" in shown_at_the_end(socket, window)
