"""`run` and `shell` as people type them: from the laptop, on the login host and on the node."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.laptop import Laptop
from tests.cluster.minicluster import Minicluster, retry_until
from tests.terminal import CTRL_C, LARGE, Terminal

WORK = "/scratch/alice/work"
SIZE_BYTES = 50_000_000
WORDS = [
    "a b",
    "new\nline\n",
    "q'\"`x",
    "$HOME",
    "*",
    "-n",
    "--",
    "",
    "back\\slash\\\\0",
    "é!",
    "\t;&|",
    "zażółć gęślą jaźń " * 40,
]
# The time limit of its jobs, and what a test may take of it on a busy machine.
_JOB_S, _LONGEST_TEST_S = 600.0, 180.0


def start(laptop: Laptop, *words: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """`run` with pipes; whoever starts it ends it."""
    return subprocess.Popen(
        laptop.argv("run", *words),
        env=laptop.environment,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(laptop: Laptop, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    with start(laptop, *words, stdin=subprocess.PIPE) as process:
        out, err = process.communicate(stdin)
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def way_file(laptop: Laptop) -> Path:
    return Path(laptop.environment["XDG_STATE_HOME"], "scratchflow", "run-way")


@pytest.fixture(scope="module")
def jobs_until(ready: Laptop, minicluster: Minicluster) -> Iterator[list[float]]:
    """Until when each job of this file is long enough for one more test; the last one is held."""
    yield []
    ready.run("clear", "--no-backup")
    minicluster.free_nodes()


@pytest.fixture
def held(ready: Laptop, jobs_until: list[float]) -> Laptop:
    """A laptop with a workspace on a node that does not go in the middle of the test."""
    if not jobs_until or time.monotonic() > jobs_until[-1]:
        if jobs_until:
            ready.data("clear")
        ready.data("up", "--node", "1")
        jobs_until.append(time.monotonic() + _JOB_S - _LONGEST_TEST_S)
    return ready


@pytest.fixture(params=["first", "again"])
def either(request: pytest.FixtureRequest, held: Laptop) -> Laptop:
    """Once with nothing known, and once over the way that an earlier `run` has found; over ssh it asks each time."""
    way_file(held).unlink(missing_ok=True)
    if request.param == "again":
        request.getfixturevalue("job_steps")
        assert run(held, "--", "true").returncode == 0
        assert way_file(held).exists()
    return held


def test_exit_code_output_and_directory_are_the_commands_own(either: Laptop) -> None:
    done = run(either, "--", "sh", "-c", "pwd; hostname; echo err >&2; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (
        7,
        f"{WORK}\nnode-1\n".encode(),
        b"err\n",
    )
    assert run(either, "--", "sh", "-c", "exit 255").returncode == 255
    killed = run(either, "--", "sh", "-c", "kill -9 $$")
    assert (killed.returncode, killed.stderr) == (137, b"")
    assert run(either, "--cwd", "/tmp", "--", "pwd").stdout == b"/tmp\n"
    assert run(either, "--cwd", "missing", "--", "true").returncode == 30
    assert run(either, "--detach", "--cwd", "missing", "--", "true").returncode == 30


def test_words_arrive_as_they_are(either: Laptop) -> None:
    done = run(either, "--", "printf", "%s\\0", *WORDS, os.fsdecode(b"\xff\xfe"))
    assert done.stdout.split(b"\0")[:-1] == [*(word.encode() for word in WORDS), b"\xff\xfe"]


def test_fifty_megabytes_arrive_whole_both_ways(either: Laptop) -> None:
    content = os.urandom(SIZE_BYTES)
    into = run(either, "--", "sha256sum", stdin=content)
    assert into.stdout.split()[0].decode() == hashlib.sha256(content).hexdigest()
    assert run(either, "--", "sh", "-c", "cat > big", stdin=content).returncode == 0
    assert run(either, "--", "cat", "big").stdout == content


def test_it_is_a_step_of_the_job(held: Laptop, minicluster: Minicluster) -> None:
    done = run(held, "--", "sh", "-c", "echo $SLURM_JOB_ID $SLURMD_NODENAME")
    assert done.stdout.decode().split() == [minicluster.jobs()[0], "node-1"]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_far_command_and_all_it_started(
    either: Laptop, minicluster: Minicluster, signum: signal.Signals
) -> None:
    with start(either, "--", "sh", "-c", "sleep 9871 & echo on; sleep 9872") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        process.send_signal(signum)
        assert process.wait() == 128 + signum
    found = minicluster.exec("node-1", "pgrep", "-x", "-f", "sleep 987[12]", check=False).stdout
    assert found == ""


def test_a_command_decides_what_ctrl_c_means_and_a_second_one_ends_it(either: Laptop) -> None:
    script = "trap 'echo caught' INT; echo on; while :; do sleep 0.1; done"
    with start(either, "--", "sh", "-c", script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"caught\n"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 128 + signal.SIGTERM


def test_a_third_ctrl_c_kills_it_without_a_word_of_slurm(either: Laptop) -> None:
    script = "trap 'echo int' INT; trap 'echo term' TERM; echo on; while :; do sleep 0.1; done"
    with start(either, "--", "sh", "-c", script) as process:
        assert process.stdout is not None
        for heard in (b"on\n", b"int\n", b"term\n"):
            assert process.stdout.readline() == heard
            process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 128 + signal.SIGKILL
    assert b"srun" not in err
    assert b"slurm" not in err


def test_a_reader_that_leaves_ends_the_command(either: Laptop, minicluster: Minicluster) -> None:
    with start(either, "--", "yes", "9873") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"9873\n"
        process.stdout.close()
        assert process.wait() == 128 + signal.SIGPIPE
    assert minicluster.exec("node-1", "pgrep", "-f", "^yes 9873", check=False).stdout == ""


@pytest.mark.usefixtures("job_steps")
def test_a_lost_connection_is_told_and_leaves_the_far_command_alone(
    either: Laptop, minicluster: Minicluster
) -> None:
    """The shared connection is killed once the command runs; a file lets it go on only after that."""
    script = (
        "rm -f go went_on; echo on; until [ -e go ]; do sleep 0.1; done; echo more; touch went_on"
    )
    with start(either, "--", "sh", "-c", script) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        shared = way_file(either).read_bytes().split(b"\0")[10].decode()
        argv = ["ssh", "-F", str(either.ssh_config), "-S", shared, "-O", "check", "login"]
        said = subprocess.run(argv, capture_output=True, text=True, check=True).stderr
        match = re.search(r"pid=(\d+)", said)
        assert match
        os.kill(int(match[1]), signal.SIGKILL)
        _, err = process.communicate()
    assert process.returncode == 14
    assert b"was lost while the command ran" in err
    assert b"as process group" in err
    minicluster.exec("node-1", "touch", f"{WORK}/go")
    gone_on = ["test", "-e", f"{WORK}/went_on"]
    retry_until(
        lambda: minicluster.exec("node-1", *gone_on, check=False).returncode == 0, "it went on"
    )


def test_a_shell_has_a_terminal_of_the_same_size_and_gives_it_back(held: Laptop) -> None:
    with Terminal(held.argv("shell"), held.environment, size=LARGE) as terminal:
        terminal.wait_for("$")
        terminal.press("stty size; pwd\r")
        terminal.wait_for("40 120")
        terminal.wait_for(WORK)
        fcntl.ioctl(terminal._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
        terminal.press("until [ \"$(stty size)\" = '33 77' ]; do sleep 0.1; done; echo res''ized\r")
        terminal.wait_for("resized")
        terminal.press("echo be''gun; sleep 9874\r")
        terminal.wait_for("begun")
        terminal.press(CTRL_C)
        terminal.press("echo ba''ck\r")
        terminal.wait_for("back")
        terminal.press("exit 9\r")
        assert terminal.end() == 9
        assert "srun:" not in terminal.text
        assert "closed" not in terminal.text


def test_greetings_of_the_login_host_are_not_in_a_shell(
    held: Laptop, minicluster: Minicluster
) -> None:
    bashrc = minicluster.shared("/home/alice/.bashrc")
    before = bashrc.read_bytes() if bashrc.exists() else None
    bashrc.write_text('[ "$(uname -n)" != login ] || echo "Welcome to login"\n')
    try:
        assert "Welcome" in minicluster.login("true").stdout, "the test is one"
        with Terminal(held.argv("shell"), held.environment, size=LARGE) as terminal:
            terminal.wait_for("$")
            terminal.press("pwd; exit 9\r")
            assert terminal.end() == 9
        assert WORK in terminal.text
        assert "Welcome" not in terminal.text
    finally:
        if before is None:
            bashrc.unlink()
        else:
            bashrc.write_bytes(before)


def detached(laptop: Laptop, script: str) -> str:
    """The window in which it runs, as `--json` tells it."""
    done = run(laptop, "--detach", "--json", "--", "sh", "-c", script)
    last = json.loads(done.stdout.splitlines()[-1])
    assert (last["type"], last["data"]["node"]) == ("summary", "node-1")
    return str(last["data"]["window"]["window"])


def test_what_is_detached_goes_on_in_our_session(held: Laptop, minicluster: Minicluster) -> None:
    windows = [detached(held, "echo 'in the window;'; sleep 9875") for _ in range(2)]
    assert windows == ["sh", "sh-2"]
    show = ["tmux", "-L", "scratchflow", "capture-pane", "-p", "-t", "=scratchflow:=sh-2"]
    retry_until(lambda: "in the window;" in minicluster.login(*show).stdout, "it has printed")

    def sleeping() -> int:
        found = minicluster.exec("node-1", "pgrep", "-x", "-f", "sleep 9875", check=False)
        return len(found.stdout.split())

    retry_until(lambda: sleeping() == 2, "both run")
    assert held.data("attach")["session"] == "scratchflow"


def test_json_goes_with_detach_only(held: Laptop) -> None:
    refused = run(held, "--json", "--", "echo", "ran")
    assert json.loads(refused.stdout.splitlines()[-1])["code"] == "usage.invalid"
    assert refused.returncode == held.outcome("shell")["exit_code"] == 2


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("host", ["login", "node-1"])
def test_it_works_on_the_login_host_and_on_the_node(minicluster: Minicluster, host: str) -> None:
    config = minicluster.shared("/home/alice/run.toml")
    config.write_text('[profiles.mini]\nlogin = "local"\nstore = "/fsx/$USER/store"\n')
    start = 'sh "$(ls -td ~/.local/share/scratchflow/agent/*/ | head -1)/start"'
    words = shlex.join(["printf", "%s\\n", *WORDS])
    script = (
        f"export SCRATCHFLOW_CONFIG=~/run.toml; for turn in 1 2; do {start} run -- {words}; "
        f"echo in | {start} run -- sh -c 'cat; pwd; hostname; echo err >&2; exit 7'; echo $?; done"
    )
    job = f"SLURM_JOB_ID={minicluster.jobs()[0]} SLURMD_NODENAME=node-1"
    there = script if host == "login" else f"export {job}; {script}"
    done = minicluster.ssh(host, "sh", "-c", there)
    once = "".join(f"{word}\n" for word in WORDS) + f"in\n{WORK}\nnode-1\n7\n"
    assert (done.stdout, done.stderr) == (once * 2, "err\n" * 2)


def test_it_has_the_profiles_environment_and_a_change_counts_at_once(
    held: Laptop, minicluster: Minicluster
) -> None:
    held.data("config", "set", "environment.prologue", 'export GREETING="a  b\'s $((40+2))"')
    for _ in range(2):
        done = run(held, "--", "printenv", "GREETING", "SLURM_JOB_ID")
        assert (done.returncode, done.stdout.splitlines()[0]) == (0, b"a  b's 42")
    assert way_file(held).exists() is minicluster.has_steps
    held.data("config", "set", "environment.prologue", "echo no such layer >&2; false")
    failed = run(held, "--", "echo", "ran")
    assert (failed.returncode, failed.stdout) == (40, b"")
    assert b"no such layer" in failed.stderr
    held.data("config", "unset", "environment.prologue")
    assert run(held, "--", "printenv", "GREETING").returncode == 1


@pytest.mark.usefixtures("job_steps")
def test_a_known_way_is_left_when_another_job_is_worked_in(
    held: Laptop, minicluster: Minicluster
) -> None:
    """As when another laptop has just moved, and the old job still runs."""
    job = held.data("status")["allocation"]["job_id"]
    note = "/home/alice/.local/share/scratchflow/current/mini"
    assert minicluster.exec("login", "cat", note).stdout == f"{job}\n"
    assert run(held, "--", "true").returncode == 0
    minicluster.exec("login", "sh", "-c", f"echo {job + 1000} > {note}")
    known = way_file(held).stat().st_mtime_ns
    done = run(held, "--", "wc", "-c", stdin=b"kept")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"4", b"")
    assert way_file(held).stat().st_mtime_ns != known
    assert minicluster.exec("login", "cat", note).stdout == f"{job}\n"


def test_a_changed_startup_file_counts_at_once(held: Laptop, minicluster: Minicluster) -> None:
    held.data("config", "set", "environment.prologue", "export LAYER=1")
    profile = minicluster.shared("/home/alice/.bash_profile")
    try:
        for value in ("first", "second", "third"):
            profile.write_text(f"export STARTED={value}\n")
            for _ in range(2):
                done = run(held, "--", "printenv", "STARTED")
                assert (done.returncode, done.stdout.decode().strip()) == (0, value)
    finally:
        profile.unlink()
        held.data("config", "unset", "environment.prologue")
