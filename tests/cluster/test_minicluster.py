"""What scripts/minicluster promises: real Slurm, real faults, and nothing left behind."""

import hashlib
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.minicluster import SCRIPT, Minicluster, retry_until, run

NODES = ["node-1", "node-2", "node-3"]


def idle(cluster: Minicluster) -> bool:
    return set(cluster.node_states().values()) == {"idle"}


def boot_and_start(cluster: Minicluster, node: str) -> tuple[int, int]:
    """When the node booted and its slurmd started, as Slurm knows it, in seconds."""
    show = ["env", "SLURM_TIME_FORMAT=%s", "scontrol", "-o", "show", "node", node]
    told = re.search(r"BootTime=(\d+) SlurmdStartTime=(\d+)", cluster.exec("login", *show).stdout)
    assert told
    return int(told[1]), int(told[2])


def traces(cluster: Minicluster) -> dict[str, str]:
    """All that a cluster could leave behind on its laptop."""
    # Named after the directory; the freezer's tree also holds those of other people's clusters.
    cgroup = "minicluster-" + hashlib.sha256(f"{cluster.state}\n".encode()).hexdigest()[:12]
    freezer = f"mount -t cgroup -o freezer cgroup /mnt && cd /mnt && find . -path './{cgroup}*'"
    looks = {
        "processes": ["sh", "-c", "ps -e -o args= | grep -v 'ps -e'"],
        "links": ["ip", "-o", "link"],
        "routes": ["ip", "route", "show", "table", "all"],
        "named network namespaces": ["ip", "netns", "list"],
        "mounts": ["cat", "/proc/mounts"],
        "hosts file": ["cat", "/etc/hosts"],
        "files": ["sh", "-c", f"ls -d {cluster.state}* || true"],
    }
    if cluster.settings.get("MC_PAM") == "adopt":
        looks["cgroups"] = ["unshare", "--mount", "sh", "-c", freezer]
    return {what: run([*cluster.on_laptop, *argv]).stdout for what, argv in looks.items()}


def assert_nothing_left(cluster: Minicluster, before: dict[str, str]) -> None:
    try:
        # A process that was killed is seen until its parent has taken notice.
        retry_until(lambda: traces(cluster) == before, "no trace is left", deadline_s=10)
    finally:
        assert traces(cluster) == before


def reaches(cluster: Minicluster, source: str, target: str) -> bool:
    connect = f"exec 3<>/dev/tcp/{target}/22"
    return cluster.exec(source, "timeout", "2", "bash", "-c", connect, check=False).returncode == 0


class TestRunningCluster:
    def test_all_nodes_are_idle_after_up(self, minicluster: Minicluster) -> None:
        assert minicluster.node_states() == dict.fromkeys(NODES, "idle")
        assert minicluster.run("status").returncode == 0

    def test_laptop_reaches_slurm_as_alice_through_its_ssh_config(
        self, minicluster: Minicluster
    ) -> None:
        assert minicluster.login("whoami").stdout == "alice\n"
        assert "node-[1-3]" in minicluster.login("sinfo", "--noheader").stdout
        assert minicluster.run("ssh-config").stdout == minicluster.ssh_config.read_text()

    def test_ssh_to_a_node_is_refused_without_a_job_and_allowed_with_one(
        self, restored_minicluster: Minicluster
    ) -> None:
        refused = restored_minicluster.ssh("node-2", "hostname", check=False)
        assert refused.returncode == 255
        assert "has no active jobs on this node" in refused.stderr

        restored_minicluster.allocate("node-2")
        assert restored_minicluster.ssh("node-2", "hostname").stdout == "node-2\n"

    def test_scratch_is_private_to_a_node_while_home_and_fsx_are_shared(
        self, minicluster: Minicluster
    ) -> None:
        for directory in ("/scratch", "/home/alice", "/fsx"):
            minicluster.exec("node-1", "touch", f"{directory}/seen")
        for host in ("login", "node-2", "node-3"):
            looked_at = ["/scratch/seen", "/home/alice/seen", "/fsx/seen"]
            seen = minicluster.exec(host, "ls", "-d", *looked_at, check=False)
            assert sorted(seen.stdout.split()) == ["/fsx/seen", "/home/alice/seen"]

    def test_up_on_a_running_cluster_restarts_nothing_and_keeps_the_job_table(
        self, restored_minicluster: Minicluster
    ) -> None:
        def daemons() -> list[str]:
            return [
                restored_minicluster.exec(host, "pgrep", "-l", "munged|slurm|sshd").stdout
                for host in ("login", *NODES)
            ]

        job = restored_minicluster.allocate("node-1")
        before = daemons()
        again = restored_minicluster.run("up")
        assert again.stdout == restored_minicluster.ssh_config.read_text()
        assert restored_minicluster.jobs() == [job]
        assert daemons() == before


class TestFaults:
    def test_crashed_node_is_gone_at_once_and_up_brings_it_back(
        self, restored_minicluster: Minicluster
    ) -> None:
        restored_minicluster.run("crash", "node-2")
        gone = restored_minicluster.exec("node-2", "true", check=False)
        assert "node-2 is down" in gone.stderr
        assert "hint: " in gone.stderr
        assert not reaches(restored_minicluster, "login", "node-2")
        assert restored_minicluster.run("status", check=False).returncode == 1

        restored_minicluster.run("up")
        assert reaches(restored_minicluster, "login", "node-2")
        assert idle(restored_minicluster)

    def test_when_up_is_done_slurm_has_heard_of_the_boot_and_ended_the_job_there(
        self, restored_minicluster: Minicluster
    ) -> None:
        restored_minicluster.allocate("node-2")
        restored_minicluster.run("crash", "node-2")
        restored_minicluster.run("up")
        assert restored_minicluster.jobs() == []
        assert restored_minicluster.node_states()["node-2"] in {"idle", "completing"}

    def test_only_a_node_that_crashed_tells_a_boot_that_slurm_could_take_for_a_second_one(
        self, restored_minicluster: Minicluster
    ) -> None:
        """Else it may be down right after `up`, and a job that asks for it waits for ever."""
        restored_minicluster.run("crash", "node-2")
        restored_minicluster.run("up")
        booted, started = boot_and_start(restored_minicluster, "node-2")
        assert abs(booted - started) <= 2
        assert time.time() >= started + 3

        restored_minicluster.run("down")
        restored_minicluster.run("up")
        machine_booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        booted, _ = boot_and_start(restored_minicluster, "node-2")
        assert abs(booted - machine_booted) <= 2

    def test_booted_node_has_lost_its_tmp_and_kept_its_scratch(
        self, restored_minicluster: Minicluster
    ) -> None:
        job = restored_minicluster.allocate("node-1")
        restored_minicluster.exec("node-3", "touch", "/tmp/here", "/scratch/here")
        restored_minicluster.run("crash", "node-3")
        restored_minicluster.run("boot", "node-3")
        found = restored_minicluster.exec("node-3", "find", "/tmp", "/scratch", "-name", "here")
        assert found.stdout == "/scratch/here\n"
        assert restored_minicluster.jobs() == [job]

    def test_stopped_slurmctld_does_not_answer_until_up_restarts_it_with_its_jobs(
        self, restored_minicluster: Minicluster
    ) -> None:
        job = restored_minicluster.allocate("node-1", "--job-name=written-down")
        look = ["grep", "-q", "written-down", "/var/spool/slurmctld/job_state"]
        retry_until(
            lambda: restored_minicluster.exec("login", *look, check=False).returncode == 0,
            "slurmctld has saved the job",
        )
        restored_minicluster.run("stop", "login", "slurmctld")
        ping = restored_minicluster.login("scontrol", "ping", check=False)
        assert ping.returncode == 1
        assert "slurmctld(DEAD)" in restored_minicluster.run("status", check=False).stdout

        restored_minicluster.run("up")
        assert restored_minicluster.login("scontrol", "ping").returncode == 0
        assert restored_minicluster.jobs() == [job]

    def test_slurmctld_that_falls_over_a_fault_of_its_own_comes_back(
        self, restored_minicluster: Minicluster
    ) -> None:
        find = ["pgrep", "--oldest", "--exact", "--euid", "slurm", "slurmctld"]

        def pid() -> str:
            return restored_minicluster.exec("login", *find, check=False).stdout.strip()

        before = pid()
        restored_minicluster.exec("login", "kill", "-SEGV", before)
        retry_until(lambda: pid() not in {"", before}, "slurmctld is started again")
        assert restored_minicluster.login("squeue").returncode == 0

    @pytest.mark.parametrize("daemon", ["munged", "sshd", "slurmd"])
    def test_stopped_daemon_of_a_node_is_restarted_by_up(
        self, restored_minicluster: Minicluster, daemon: str
    ) -> None:
        restored_minicluster.run("stop", "node-1", daemon)
        assert f"{daemon}(DEAD)" in restored_minicluster.run("status", check=False).stdout

        restored_minicluster.run("up")
        assert "DEAD" not in restored_minicluster.run("status").stdout

    def test_unplugged_node_is_unreachable_until_up_plugs_it_in(
        self, restored_minicluster: Minicluster
    ) -> None:
        restored_minicluster.run("link", "node-1", "down")
        assert not reaches(restored_minicluster, "login", "node-1")
        assert "cable(OUT)" in restored_minicluster.run("status", check=False).stdout

        restored_minicluster.run("up")
        retry_until(lambda: reaches(restored_minicluster, "login", "node-1"), "node-1 answers")

    def test_unplugged_login_is_unreachable_until_it_is_plugged_in(
        self, restored_minicluster: Minicluster
    ) -> None:
        restored_minicluster.run("link", "login", "down")
        assert restored_minicluster.login("true", check=False).returncode == 255

        restored_minicluster.run("link", "login", "up")
        retry_until(
            lambda: restored_minicluster.login("true", check=False).returncode == 0, "login answers"
        )


class TestGpuTypes:
    def test_nodes_with_gpus_get_the_types_in_turn(self, small_minicluster: Minicluster) -> None:
        cluster = replace(small_minicluster, settings={"MC_NODES": "3", "MC_GPU_TYPES": "a100 l4"})
        cluster.run("up")
        said = cluster.exec(
            "login", "sinfo", "--Node", "--noheader", "--format=%N %G", "-p", "debug"
        )
        assert said.stdout.split() == (
            ["node-1", "(null)", "node-2", "gpu:a100:2", "node-3", "gpu:l4:2"]
        )

    def test_what_is_no_list_of_names_is_refused(self, small_minicluster: Minicluster) -> None:
        cluster = replace(small_minicluster, settings={"MC_GPU_TYPES": "a100;l4"})
        refused = cluster.run("up", check=False)
        assert refused.returncode != 0
        assert "MC_GPU_TYPES" in refused.stderr


class TestSideBySide:
    @pytest.fixture
    def others(self, tmp_path: Path) -> Iterator[list[Minicluster]]:
        """Two more clusters on the same laptop, not started yet."""
        clusters = [Minicluster(tmp_path / name, {"MC_NODES": "1"}) for name in ("a", "b")]
        yield clusters
        for cluster in clusters:
            cluster.run("down", "--purge")

    def test_down_of_one_cluster_leaves_the_others_running(
        self, restored_minicluster: Minicluster, others: list[Minicluster]
    ) -> None:
        job = restored_minicluster.allocate("node-1")
        ups = [cluster.start("up") for cluster in others]  # at the same time
        said = [up.communicate()[0] for up in ups]
        assert [up.returncode for up in ups] == [0, 0], said
        all_three = [restored_minicluster, *others]
        assert len({cluster.address for cluster in all_three}) == 3
        assert [len(cluster.node_states()) for cluster in all_three] == [3, 1, 1]

        others[0].run("down", "--purge")
        assert others[0].run("status", check=False).returncode == 3
        assert others[1].login("sinfo", "--noheader", "--format=%T").stdout.split()[0] == "idle"
        assert restored_minicluster.jobs() == [job]
        assert restored_minicluster.ssh("node-1", "hostname").stdout == "node-1\n"

    def test_address_range_of_a_running_cluster_is_refused(
        self, minicluster: Minicluster, others: list[Minicluster]
    ) -> None:
        taken = ".".join(minicluster.address.split(".")[:2])
        greedy = replace(others[0], settings={"MC_NET": taken})
        refused = greedy.run("up", check=False)
        assert refused.returncode == 1
        assert f"MC_NET={taken} is in use" in refused.stderr
        assert "hint: " in refused.stderr
        greedy.run("down", "--purge")
        assert idle(minicluster)


class TestDown:
    @pytest.mark.parametrize(
        "setting",
        [
            {},
            {"MC_PAM": "adopt"},
            pytest.param({"MC_FSX": "gluster"}, marks=pytest.mark.slow, id="gluster"),
        ],
        ids=str,
    )
    def test_down_leaves_nothing_behind(
        self, small_minicluster: Minicluster, setting: dict[str, str]
    ) -> None:
        cluster = replace(small_minicluster, settings={"MC_NODES": "2", **setting})
        before = traces(cluster)
        cluster.run("up")
        cluster.login("sbatch", "--wrap=sleep 1000")
        cluster.allocate("node-2")
        running = traces(cluster)
        for what in ("processes", "links", "routes", "mounts", "files", "cgroups"):
            assert what not in before or running[what] != before[what]
        cluster.run("down", "--purge")
        assert_nothing_left(cluster, before)

    def test_down_keeps_scratch_and_forgets_jobs(self, small_minicluster: Minicluster) -> None:
        small_minicluster.run("up")
        small_minicluster.allocate("node-1")
        small_minicluster.exec("node-1", "touch", "/scratch/kept")
        small_minicluster.run("down")
        assert small_minicluster.run("status", check=False).returncode == 3

        small_minicluster.run("up")
        small_minicluster.exec("node-1", "test", "-e", "/scratch/kept")
        assert small_minicluster.jobs() == []

    def test_down_of_a_cluster_that_never_was_makes_nothing(
        self, small_minicluster: Minicluster
    ) -> None:
        small_minicluster.run("down", "--purge")
        assert not small_minicluster.state.exists()

    def test_directory_of_somebody_else_is_refused_and_untouched(
        self, small_minicluster: Minicluster
    ) -> None:
        foreign = replace(small_minicluster, state=small_minicluster.state.parent / "thesis")
        (foreign.state / "shared").mkdir(parents=True)
        for verb in (["up"], ["down", "--purge"]):
            refused = foreign.run(*verb, check=False)
            assert refused.returncode == 1
            assert "not a minicluster directory" in refused.stderr
        assert [path.name for path in foreign.state.iterdir()] == ["shared"]


@pytest.mark.slow
class TestGluster:
    """`MC_FSX=gluster`: every host has a mount of its own, and what breaks is healed."""

    @pytest.fixture
    def cluster(self, small_minicluster: Minicluster) -> Minicluster:
        cluster = replace(small_minicluster, settings={"MC_NODES": "1", "MC_FSX": "gluster"})
        cluster.run("up")
        cluster.exec("node-1", "touch", "/fsx/kept")
        return cluster

    def test_files_outlive_the_file_server_and_the_cluster(self, cluster: Minicluster) -> None:
        cluster.run("crash", "storage")
        assert cluster.exec("login", "ls", "/fsx", check=False).returncode != 0
        assert "storage  down" in cluster.run("status", check=False).stdout

        cluster.run("up")
        cluster.exec("login", "test", "-e", "/fsx/kept")
        cluster.run("down")
        cluster.run("up")
        cluster.exec("login", "test", "-e", "/fsx/kept")

    def test_a_mount_whose_client_died_is_shown_and_mounted_again(
        self, cluster: Minicluster
    ) -> None:
        cluster.exec("node-1", "pkill", "-KILL", "glusterfs")
        gone = cluster.exec("node-1", "ls", "/fsx", check=False)
        assert "endpoint is not connected" in gone.stderr
        cluster.exec("login", "ls", "/fsx/kept")
        assert "/fsx(LOST)" in cluster.run("status", check=False).stdout

        cluster.run("up")
        cluster.exec("node-1", "ls", "/fsx/kept")
        assert cluster.run("status").returncode == 0


class TestUnforeseenFailure:
    def test_failure_names_the_file_the_line_and_the_command(self) -> None:
        failed = Minicluster(Path("/proc/minicluster")).run("up", check=False)
        assert failed.returncode == 1
        file, line, command = re.findall(r"error: (\S+):(\d+) failed: (.*)", failed.stderr)[0]
        source = (SCRIPT.parent / "minicluster.d" / file).read_text().splitlines()
        assert source[int(line) - 1].strip() == command == 'mkdir -p "$STATE"'


class TestKilledUp:
    """`up` is killed with SIGKILL as soon as it has made a certain file."""

    MOMENTS = (
        "hosts/login/net",
        "shared/slurm/slurm.conf",
        "hosts/login/boot.log",
        "hosts/node-1/etc",
        "hosts/node-1/boot.log",
        "hosts/node-1/init.pid",
    )

    def kill_up(self, cluster: Minicluster, moment: str) -> None:
        with cluster.start("up") as up:
            retry_until((cluster.state / moment).exists, f"up has made {moment}")
            # nsenter, which led onto the laptop, waits for the script.
            script = run(["pgrep", "--parent", str(up.pid)]).stdout.strip()
            run(["kill", "-KILL", script])
            assert up.wait() == -signal.SIGKILL

    @pytest.mark.slow
    @pytest.mark.parametrize("moment", MOMENTS)
    def test_down_after_a_killed_up_leaves_nothing_behind(
        self, small_minicluster: Minicluster, moment: str
    ) -> None:
        before = traces(small_minicluster)
        self.kill_up(small_minicluster, moment)
        small_minicluster.run("down", "--purge")
        assert_nothing_left(small_minicluster, before)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "moment", ["hosts/storage/scratch/brick", "hosts/login/var/log/glusterfs"]
    )
    def test_down_after_an_up_that_was_killed_on_its_way_to_gluster_leaves_nothing_behind(
        self, small_minicluster: Minicluster, moment: str
    ) -> None:
        cluster = replace(small_minicluster, settings={"MC_NODES": "1", "MC_FSX": "gluster"})
        before = traces(cluster)
        self.kill_up(cluster, moment)
        cluster.run("down", "--purge")
        assert_nothing_left(cluster, before)

    @pytest.mark.parametrize("moment", ["shared/slurm/slurm.conf", "hosts/node-1/etc"])
    def test_up_finishes_what_a_killed_up_began(
        self, small_minicluster: Minicluster, moment: str
    ) -> None:
        self.kill_up(small_minicluster, moment)
        small_minicluster.run("up")
        assert small_minicluster.node_states() == {"node-1": "idle"}
