"""The job's cgroup, in the trees that Slurm makes with version 1 and with version 2."""

from __future__ import annotations

from pathlib import Path

from scratchflow.node.usage.cgroups import job_groups

V2_MOUNT = (
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
    "28 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
)
V1_MOUNTS = (
    "33 32 0:29 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
    "34 32 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n"
    "35 32 0:31 / /sys/fs/cgroup/cpuset rw shared:11 - cgroup cgroup rw,cpuset\n"
)


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def version_2(root: Path, **more: str) -> Path:
    job = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7"
    return tree(
        root,
        {
            "proc/self/mountinfo": V2_MOUNT,
            "proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_7/step_3/user/task_0\n",
            f"{job}/cpu.stat": "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n",
            f"{job}/cpuset.cpus.effective": "0-3,8,10-11\n",
            f"{job}/memory.current": "1000\n",
            f"{job}/memory.stat": "anon 600\nfile 400\ninactive_file 300\n",
            f"{job}/memory.max": more.get("limit", "4096") + "\n",
        },
    )


def version_1(root: Path) -> Path:
    job = "slurm/uid_1000/job_7"
    top = "sys/fs/cgroup"
    return tree(
        root,
        {
            "proc/self/mountinfo": V1_MOUNTS,
            "proc/self/cgroup": f"9:memory:/{job}/step_0/task_0\n5:cpu,cpuacct:/{job}/step_0\n"
            f"4:cpuset:/{job}/step_0\n1:name=systemd:/system.slice/slurmd.service\n",
            f"{top}/cpu,cpuacct/{job}/cpuacct.usage": "2500000000\n",
            f"{top}/cpuset/{job}/cpuset.cpus": "4-5\n",
            f"{top}/memory/{job}/memory.usage_in_bytes": "1000\n",
            f"{top}/memory/{job}/memory.stat": "inactive_file 1\ntotal_inactive_file 300\n",
            f"{top}/memory/{job}/memory.limit_in_bytes": "4096\n",
        },
    )


def test_version_2_tells_what_the_whole_job_uses_and_may_use(tmp_path: Path) -> None:
    groups = job_groups(7, version_2(tmp_path))
    assert groups.cpu_seconds() == 2.5
    assert groups.cores() == 7
    assert groups.memory_bytes() == 700
    assert groups.memory_limit_bytes() == 4096


def test_version_1_tells_the_same_from_three_trees(tmp_path: Path) -> None:
    groups = job_groups(7, version_1(tmp_path))
    assert groups.cpu_seconds() == 2.5
    assert groups.cores() == 2
    assert groups.memory_bytes() == 700
    assert groups.memory_limit_bytes() == 4096


def test_a_tree_of_which_a_part_is_mounted_is_read_from_there(tmp_path: Path) -> None:
    version_2(tmp_path)
    (tmp_path / "sys/fs/cgroup/system.slice/slurmstepd.scope").rename(tmp_path / "here")
    mounted = V2_MOUNT.replace("0:26 / /sys/fs/cgroup", "0:26 /system.slice/slurmstepd.scope /here")
    (tmp_path / "proc/self/mountinfo").write_text(mounted)
    assert job_groups(7, tmp_path).memory_bytes() == 700


def test_no_limit_is_none_in_both_versions(tmp_path: Path) -> None:
    assert job_groups(7, version_2(tmp_path / "2", limit="max")).memory_limit_bytes() is None
    root = version_1(tmp_path / "1")
    limit = root / "sys/fs/cgroup/memory/slurm/uid_1000/job_7/memory.limit_in_bytes"
    limit.write_text("9223372036854771712\n")
    assert job_groups(7, root).memory_limit_bytes() is None


def test_the_group_of_another_job_or_of_none_is_not_taken(tmp_path: Path) -> None:
    version_2(tmp_path)
    for job_id in (70, None):
        groups = job_groups(job_id, tmp_path)
        assert (groups.cpu_seconds(), groups.cores()) == (None, None)
        assert (groups.memory_bytes(), groups.memory_limit_bytes()) == (None, None)
