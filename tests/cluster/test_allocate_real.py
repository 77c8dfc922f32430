"""Taking and holding a node on a real cluster, through interruptions, faults and hostile words."""

import random
import subprocess
import time

import pytest

from scratchflow.cluster.slurm.jobs import job, our_jobs
from scratchflow.cluster.slurm.wait import ended_error
from scratchflow.model.allocation import OPEN, RunningAllocation
from scratchflow.model.errors.allocation import (
    AllocationEnded,
    AllocationPending,
    AllocationRefused,
    NodeFailed,
)
from scratchflow.model.errors.base import ScratchflowError
from tests.cluster.login import LoginHost, lines, result
from tests.cluster.minicluster import retry_until

OPTIONS = {"time": "5:00", "exclusive": True}


def state(login: LoginHost, held: RunningAllocation) -> str:
    return job(login.slurm, held.job_id, held.name).state


def sessions(login: LoginHost, socket: str = "scratchflow") -> list[str]:
    listed = login.tmux("list-sessions", "-F", "#{session_name}", socket=socket)
    return listed.text.split()


def screen(login: LoginHost, session: str = "scratchflow") -> str:
    return login.tmux("capture-pane", "-p", "-t", f"={session}:node").text


def is_on(login: LoginHost, node: str, session: str = "scratchflow") -> bool:
    """Whether the window's shell runs on that node, asked as its user would."""
    login.tmux("send-keys", "-t", f"={session}:node", "echo at-$(hostname)", "Enter")
    return f"at-{node}" in screen(login, session)


class TestWindow:
    def test_detached_the_window_ends_up_as_a_shell_on_the_node(self, login: LoginHost) -> None:
        got = login.allocate(node="node-2", hold="window")
        retry_until(lambda: is_on(login, "node-2"), "the shell answers from the node")
        assert sessions(login) == ["scratchflow"]
        assert state(login, got) == "running"

        shown = login.tmux("list-panes", "-a", "-F", "#{pane_id}").text.strip()
        assert login.do("show", allocation=_plain(got)) == shown

    def test_detached_the_job_outlives_tmux_and_the_window_can_be_made_again(
        self, login: LoginHost
    ) -> None:
        got = login.allocate(node="node-2", hold="window")
        login.tmux("kill-server")
        retry_until(lambda: sessions(login) == [], "the server is gone")
        assert state(login, got) == "running"
        login.do("show", allocation=_plain(got))
        retry_until(lambda: is_on(login, "node-2"), "the new shell answers from the node")

    def test_with_hold_tmux_the_job_ends_with_the_server(self, login: LoginHost) -> None:
        got = login.allocate(node="node-2", hold="tmux")
        retry_until(lambda: is_on(login, "node-2"), "the shell answers from the node")
        login.tmux("kill-server")
        retry_until(lambda: state(login, got) == "ended", "the job is given back")

    def test_kill_ends_our_session_only(self, login: LoginHost) -> None:
        login.tmux("new-session", "-d", "-s", "scratchflow", socket="default")
        login.tmux("new-session", "-d", "-s", "mine")
        got = login.allocate(hold="window")
        assert login.do("kill") is True
        assert login.do("kill") is False
        assert sessions(login) == ["mine"]
        assert sessions(login, "default") == ["scratchflow"]
        assert state(login, got) == "running"

    def test_two_profiles_with_one_session_name_live_side_by_side(self, login: LoginHost) -> None:
        first = login.allocate("cpu", node="node-1", hold="window")
        second = login.allocate("gpu.big", node="node-2", hold="window")
        assert sessions(login) == ["scratchflow", "scratchflow-gpu_big"]
        retry_until(lambda: is_on(login, "node-1"), "the first is on its node")
        retry_until(lambda: is_on(login, "node-2", "scratchflow-gpu_big"), "so is the second")
        assert login.do("kill", profile="cpu") is True
        assert sessions(login) == ["scratchflow-gpu_big"]
        assert [state(login, held) for held in (first, second)] == ["running", "running"]

    def test_a_refusal_in_the_window_is_told_and_leaves_no_session(self, login: LoginHost) -> None:
        with pytest.raises(AllocationRefused, match="Invalid partition name specified"):
            login.allocate(hold="window", partition="nosuch")
        assert sessions(login) == []

    def test_a_second_allocation_takes_over_the_window_of_the_first(self, login: LoginHost) -> None:
        got = login.allocate(node="node-1", hold="window")
        login.scancel(got.job_id)
        login.allocate(node="node-3", hold="window")
        retry_until(lambda: is_on(login, "node-3"), "the shell is on the new node")
        windows = login.tmux("list-windows", "-a", "-F", "#{window_name}").text.split()
        assert windows == ["node"]

    def test_without_a_scheduler_the_session_is_the_allocation(self, login: LoginHost) -> None:
        first, second, released, after = login.do("none", session="solo")
        assert first == second
        assert (first["job_id"], first["state"], first["nodes"]) == (None, "running", ["login"])
        assert (released, after) == (True, None)
        assert sessions(login) == []


def _plain(got: RunningAllocation) -> dict[str, object]:
    return {"job_id": got.job_id, "name": got.name, "state": got.state, "nodes": list(got.nodes)}


def _interrupt(login: LoginHost, process: subprocess.Popen[str], after_s: float) -> None:
    """Ctrl-C, so long after it began; it may have finished by then."""
    pid = next(lines(process))["pid"]
    time.sleep(after_s)  # the moment itself is what is tested
    login.run(["kill", "-INT", str(pid)], 20)


class TestInterrupted:
    @pytest.mark.parametrize("hold", ["direct", "window", "tmux"])
    def test_ctrl_c_at_any_moment_leaves_no_job(self, login: LoginHost, hold: str) -> None:
        moments = random.Random(hold)  # noqa: S311 - the same moments in every run
        login.allocate("another", node="node-1")
        for attempt in range(5):
            # Every other one must wait: an interruption meets a request in the queue as well.
            node = "node-1" if attempt % 2 else "node-2"
            process = login.begin("allocate", hold=hold, node=node, options=OPTIONS)
            with process:
                _interrupt(login, process, moments.uniform(0, 0.5))
                _, trace = process.communicate()
            finished = process.returncode == 0
            left = [held for held in our_jobs(login.slurm, "aws") if held.state in OPEN]
            assert finished or left == [], f"after attempt {attempt}: {trace}"
            for number in [held.job_id for held in left if held.job_id is not None]:
                login.scancel(number)
            login.do("kill")

    def test_a_second_ctrl_c_does_not_stop_the_withdrawal(self, login: LoginHost) -> None:
        login.allocate("another", node="node-1")
        with login.begin("allocate", hold="window", node="node-1", options=OPTIONS) as process:
            printed = lines(process)
            pid = str(next(printed)["pid"])
            assert next(printed)["seen"]["state"] == "pending"
            for _ in range(3):
                login.run(["kill", "-INT", pid], 20)
            process.communicate()
        assert our_jobs(login.slurm, "aws") == []

    def test_after_kill_9_the_job_is_found_by_its_name(self, login: LoginHost) -> None:
        login.allocate("another", node="node-1")
        with login.begin("allocate", hold="window", node="node-1", options=OPTIONS) as process:
            printed = lines(process)
            pid = str(next(printed)["pid"])
            seen = next(printed)["seen"]
            login.run(["kill", "-KILL", pid], 20)
            process.communicate()
        (found,) = our_jobs(login.slurm, "aws")
        assert (found.job_id, found.name) == (seen["job_id"], seen["name"])


def is_written_down(login: LoginHost, held: RunningAllocation) -> bool:
    """After a crash slurmctld knows only what was in its file; it writes every few seconds."""
    look = ["grep", "--quiet", "--text", held.name, "/var/spool/slurmctld/job_state"]
    return login.cluster.exec("login", *look, check=False).returncode == 0


class TestQueue:
    def test_slurms_estimate_of_the_start_is_told(self, login: LoginHost) -> None:
        first = login.allocate("another", node="node-1")
        with pytest.raises(AllocationPending):
            login.allocate(node="node-1", wait_s=1, keep_waiting=True)

        def estimate() -> int:
            (waiting,) = our_jobs(login.slurm, "aws")
            return waiting.start_estimate or 0

        retry_until(lambda: estimate() > 0, "the scheduler has made a plan")
        assert first.end_time is not None
        assert estimate() >= first.end_time


class TestFaults:
    def test_a_detached_job_outlives_a_crash_of_the_login_host(self, login: LoginHost) -> None:
        got = login.allocate(node="node-3", hold="window")
        retry_until(lambda: is_written_down(login, got), "slurmctld has saved the job")
        login.cluster.run("crash", "login")
        login.cluster.run("boot", "login")
        retry_until(lambda: login.run(["squeue"], 20).returncode == 0, "slurmctld answers")
        assert state(login, got) == "running"
        assert sessions(login) == []

    def test_a_lost_node_is_told_as_such(self, login: LoginHost) -> None:
        got = login.allocate(node="node-3")
        login.cluster.run("crash", "node-3")
        retry_until(lambda: state(login, got) == "ended", "Slurm notices")
        seen = job(login.slurm, got.job_id, got.name)
        assert (seen.cause, seen.nodes) == ("node_fail", ("node-3",))
        assert isinstance(ended_error(seen), NodeFailed)

    def test_a_wait_outlasts_a_restart_of_slurmctld(self, login: LoginHost) -> None:
        first = login.allocate("another", node="node-1")
        with login.begin(
            "allocate", node="node-1", wait_s=300, options=OPTIONS, hold="window"
        ) as process:
            printed = lines(process)
            next(line for line in printed if line.get("seen", {}).get("state") == "pending")
            login.stop_controller()
            next(line for line in printed if line.get("seen", {}).get("state") == "unknown")
            login.start_controller()
            login.scancel(first.job_id)
            done = result(process)
        assert done["nodes"] == ["node-1"]


HOSTILE = [
    "$(touch /tmp/canary)",
    "`touch /tmp/canary`",
    "'; touch /tmp/canary; '",
    '"; touch /tmp/canary #',
    "x\ntouch /tmp/canary\n",
    "x;",
    "#(touch /tmp/canary)",
    "--wrap=touch /tmp/canary",
    "-x | touch /tmp/canary",
]


class TestHostileWords:
    @pytest.mark.parametrize("hold", ["direct", "window"])
    def test_no_option_is_ever_run_by_a_shell_or_by_tmux(self, login: LoginHost, hold: str) -> None:
        for word in HOSTILE:
            everywhere = {"partition": word, "constraint": word, "account": word, "gres": word}
            options = {**OPTIONS, **everywhere, "extra": [f"--comment={word}"]}
            with pytest.raises((AllocationRefused, AllocationEnded)):
                login.do("allocate", hold=hold, options=options)
        # tmux would take the `;` for the end of its command, and run the next word as another.
        extra = ["--comment=x;", "run-shell", "touch /tmp/canary", ";", "run-shell", "true"]
        with pytest.raises(ScratchflowError):
            login.allocate(hold=hold, extra=extra, node="node-77")
        assert login.run(["ls", "/tmp/canary"], 20).returncode != 0
        assert our_jobs(login.slurm) == []
