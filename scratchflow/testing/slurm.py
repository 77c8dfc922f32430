"""A Slurm without a cluster, for the states that a real one cannot be brought into.

It prints what Slurm 22.05 prints for the commands that scratchflow uses, and refuses every other
command and option. It passes the same contract tests as the real one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from scratchflow.cluster.command import CommandUnanswered
from scratchflow.process.child import Completed
from scratchflow.process.waiting import Clock
from scratchflow.testing.command import completed

_DOWN = "Unable to contact slurm controller (connect failure)"
_ENDED = {"CANCELLED", "COMPLETED", "FAILED", "TIMEOUT", "PREEMPTED", "NODE_FAIL"}
_ENDED |= {"OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}
_MAX_MINUTES = {"debug": 10, "gpu": 240}


class FakeClock:
    """Time that passes only when somebody sleeps; `on_sleep` is what happens meanwhile."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0
        self.on_sleep: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        """Lets the time pass at once."""
        self.seconds += seconds
        self.on_sleep()

    @property
    def clock(self) -> Clock:
        """As the wait for a job wants it."""
        return Clock(lambda: self.seconds, self.sleep)


class FakeJob(msgspec.Struct):
    """A job as slurmctld keeps it; a test may set any state, also one that Slurm never had."""

    job_id: int
    name: str
    user: str = "alice"
    state: str = "PENDING"
    reason: str = "None"
    nodes: str = ""
    partition: str = "debug"
    minutes: int = 5
    start: int | None = None

    def shown(self, letter: str) -> str:
        """One field of `squeue --format`."""
        started, seconds = self.start is not None, self.minutes * 60
        fields = {
            "A": str(self.job_id),
            "T": self.state,
            "u": self.user,
            "P": self.partition,
            "N": "" if self.state == "PENDING" else self.nodes,
            "S": str(self.start) if started else "N/A",
            "e": str((self.start or 0) + seconds) if started else "N/A",
            "l": f"{self.minutes}:00",
            "r": self.reason,
            "j": self.name,
            "F": str(self.job_id),
            "K": "N/A",
        }
        return fields[letter]


class FakeNode(msgspec.Struct):
    """A node of 4 CPUs and 4000 MB; all but the first have two GPUs."""

    name: str
    state: str = "IDLE"
    reason: str = ""
    gpus: int = 2


def _three_nodes() -> dict[str, FakeNode]:
    names = ("node-1", "node-2", "node-3")
    return {name: FakeNode(name, gpus=2 if name != "node-1" else 0) for name in names}


class FakeSlurm(msgspec.Struct):
    """slurmctld and the commands that ask it. Call it as a `Run`."""

    user: str = "alice"
    up: bool = True
    overlap: bool = True
    """Off: as before 20.11, `srun` does not know `--overlap`."""
    task_plugin: str = "task/cgroup,task/affinity"
    accounted: dict[int, str] = msgspec.field(default_factory=dict)
    """`sacct` lines of jobs that slurmctld has forgotten; empty: accounting is off."""
    qos_flags: list[str] | None = None
    """The flags of each QOS in the database; None: it has no answer to that, or there is none."""
    job_submit: str = "(null)"
    """Which programs of the site see a job before Slurm does."""
    jobs: dict[int, FakeJob] = msgspec.field(default_factory=dict)
    nodes: dict[str, FakeNode] = msgspec.field(default_factory=_three_nodes)
    fake_clock: FakeClock = msgspec.field(default_factory=FakeClock)
    asked: list[list[str]] = msgspec.field(default_factory=list)
    last_id: int = 0
    sbatch: Literal["answers", "loses the answer", "loses the order", "breaks after it"] = "answers"

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Completed:
        """Answers as the command would, within any time limit."""
        del timeout_s
        self.asked.append(list(argv))
        answers = {
            "squeue": self._squeue,
            "scontrol": self._scontrol,
            "scancel": self._scancel,
            "sacct": self._sacct,
            "srun": self._srun,
            "sbatch": self._sbatch,
            "sacctmgr": self._sacctmgr,
        }
        return answers[argv[0]](list(argv[1:]))

    def add(self, name: str, *, state: str = "RUNNING", nodes: str = "node-1", **more: str) -> int:
        """Puts a job into the table."""
        self.last_id += 1
        start = int(self.fake_clock.seconds) if state != "PENDING" else None
        job = FakeJob(self.last_id, name, self.user, state, nodes=nodes, start=start)
        for key, value in more.items():
            setattr(job, key, value)
        self.jobs[self.last_id] = job
        return self.last_id

    def schedule(self) -> None:
        """Starts what can start, as slurmctld does now and then."""
        for job in self.jobs.values():
            if job.state == "PENDING" and job.reason in {"None", "Resources", "ReqNodeNotAvail"}:
                self._place(job, job.nodes)

    def _place(self, job: FakeJob, wanted: str) -> None:
        fits = [node for node in self.nodes.values() if wanted in {"", node.name}]
        free = [node for node in fits if node.state == "IDLE" and not self._cpus_used(node)]
        if free:
            job.state, job.reason, job.nodes = "RUNNING", "None", free[0].name
            job.start = int(self.fake_clock.seconds)
        else:
            drained = any(node.state != "IDLE" for node in fits)
            job.reason = "ReqNodeNotAvail" if wanted and drained else "Resources"

    def submit(self, argv: Sequence[str]) -> tuple[int, str]:
        """What `salloc` would do with these arguments: the job's number (0: none) and its words."""
        failed = "salloc: error: Job submit/allocate failed: "
        options = dict(_option(word) for word in argv[1:] if word.startswith("--"))
        partition = options.get("partition") or "debug"
        if not self.up:
            return 0, f"{failed}{_DOWN}\n"
        if partition not in _MAX_MINUTES:
            said = f"salloc: error: invalid partition specified: {partition}\n"
            return 0, f"{said}{failed}Invalid partition name specified\n"
        wanted = options.get("nodelist", "")
        if wanted and wanted not in self.nodes:
            return 0, f"{failed}Invalid node name specified\n"
        number = self.add(options["job-name"], state="PENDING", nodes=wanted, partition=partition)
        job = self.jobs[number]
        job.minutes = _minutes(options.get("time", "5"))
        if job.minutes > _MAX_MINUTES[partition]:
            job.reason, job.nodes = "PartitionTimeLimit", ""
            return number, f"salloc: Pending job allocation {number}\n"
        self._place(job, wanted)
        granted = job.state == "RUNNING"
        return number, f"salloc: {'Granted' if granted else 'Pending'} job allocation {number}\n"

    def _sbatch(self, words: list[str]) -> Completed:
        """As `sbatch --parsable` answers, or `sbatch --test-only`."""
        if "--test-only" in words:
            return self._would_take(words)
        if self.sbatch == "loses the order":
            raise CommandUnanswered("`sbatch` gave no answer within 60 s")
        said = self.submit(["sbatch", *words])
        if not said[0]:
            words_of_sbatch = said[1].replace("salloc", "sbatch")
            failed = "Batch job submission failed"
            return completed(1, "", words_of_sbatch.replace("Job submit/allocate failed", failed))
        if self.sbatch == "loses the answer":
            raise CommandUnanswered("`sbatch` gave no answer within 60 s")
        if self.sbatch == "breaks after it":
            failed = "sbatch: error: Batch job submission failed: Connection reset by peer\n"
            return completed(1, "", failed)
        return completed(0, f"{said[0]}\n")

    def _would_take(self, words: list[str]) -> Completed:
        """As `sbatch --test-only` answers: of partitions and nodes it knows, whatever else was asked."""
        options = dict(_option(word) for word in words if word.startswith("--"))
        partition, node = options.get("partition") or "debug", options.get("nodelist", "")
        failed = "allocation failure: "
        said = ""
        if not self.up:
            said = f"{failed}{_DOWN}"
        elif partition not in _MAX_MINUTES:
            said = f"sbatch: error: invalid partition specified: {partition}\n{failed}Invalid partition name specified"
        elif node and node not in self.nodes:
            said = f"{failed}Invalid node name specified"
        elif all(one.state != "IDLE" for one in self.nodes.values() if node in {"", one.name}):
            said = f"{failed}Requested node configuration is not available"
        if said:
            return completed(1, "", f"{said}\n")
        return completed(
            0, "", "sbatch: Job 1 to start at 2027-01-15T08:00:00 using 1 processors\n"
        )

    def _squeue(self, options: list[str]) -> Completed:
        if not self.up:
            return completed(1, "", f"slurm_load_jobs error: {_DOWN}\n")
        given = dict(_option(word) for word in options)
        unknown = given.keys() - {"noheader", "user", "states", "jobs", "name", "format", "array"}
        if unknown:
            raise AssertionError(f"this fake knows no `squeue` with {unknown}")
        if "jobs" in given and int(given["jobs"]) not in self.jobs:
            return completed(1, "", "slurm_load_jobs error: Invalid job id specified\n")
        chosen = [job for job in self.jobs.values() if _fits(job, given)]
        lines = [
            re.sub("%(.)", lambda letter, job=job: job.shown(letter[1]), given["format"])  # type: ignore[misc]
            for job in chosen
        ]
        return completed(0, "".join(f"{line}\n" for line in lines))

    def _scontrol(self, words: list[str]) -> Completed:
        if words[:2] == ["show", "hostnames"]:
            return completed(1, "", "scontrol: not in this fake\n")
        if not self.up:
            return completed(1, "", f"slurm_load_jobs error: {_DOWN}\n")
        if words == ["show", "config"]:
            kind = "slurmdbd" if self.accounted or self.qos_flags is not None else "none"
            text = f"AccountingStorageType   = accounting_storage/{kind}\nTaskPlugin              = {self.task_plugin}\n"
            return completed(0, f"{text}JobSubmitPlugins        = {self.job_submit}\n")
        if words[-1] == "node":
            return completed(0, "".join(self._shown_node(node) for node in self.nodes.values()))
        if words[-1] == "partition":
            return completed(0, _PARTITIONS)
        if words[:3] != ["--oneliner", "show", "job"]:
            raise AssertionError(f"this fake knows no `scontrol {words}`")
        return completed(1, "", "slurm_load_jobs error: Invalid job id specified\n")

    def _sacctmgr(self, words: list[str]) -> Completed:
        if words != ["--noheader", "--parsable2", "show", "qos", "format=Flags"]:
            raise AssertionError(f"this fake knows no `sacctmgr {words}`")
        if self.qos_flags is None:
            return completed(1, "", "sacctmgr: error: no database\n")
        return completed(0, "".join(f"{flags}\n" for flags in self.qos_flags))

    def _shown_node(self, node: FakeNode) -> str:
        used = self._cpus_used(node)
        state = "MIXED" if node.state == "IDLE" and used else node.state
        partitions = "debug,gpu" if node.gpus else "debug"
        gres = f"gpu:{node.gpus}" if node.gpus else "(null)"
        reason = (
            f" Reason={node.reason} [root@{int(self.fake_clock.seconds)}]" if node.reason else ""
        )
        return (
            f"NodeName={node.name} Arch=aarch64 CoresPerSocket=1  CPUAlloc={used} CPUEfctv=4 CPUTot=4 "
            f"ActiveFeatures=(null) Gres={gres} GresUsed=gpu:0 OS=Linux 6.1 #1 SMP  RealMemory=4000 "
            f"AllocMem={used * 256} State={state} ThreadsPerCore=1 Partitions={partitions}  "
            f"CfgTRES=cpu=4,mem=4000M AllocTRES={reason}\n"
        )

    def _cpus_used(self, node: FakeNode) -> int:
        return sum(job.state == "RUNNING" and job.nodes == node.name for job in self.jobs.values())

    def _scancel(self, words: list[str]) -> Completed:
        if not self.up:
            return completed(8, "", f"scancel: error: Kill job error on job id 1: {_DOWN}\n")
        given = dict(_option(word) for word in words[:-1])
        job = self.jobs.get(int(words[-1]))
        if job is not None and _fits(job, given) and job.state not in _ENDED:
            job.state = "CANCELLED"
        return completed(0)

    def _srun(self, words: list[str]) -> Completed:
        if words not in (["--version"], ["--overlap", "--version"]):
            raise AssertionError(f"this fake knows no `srun {words}`")
        if self.overlap or "--overlap" not in words:
            return completed(0, "slurm-wlm 22.05.8\n" if self.overlap else "slurm 19.05.5\n")
        said = "srun: unrecognized option '--overlap'\nTry \"srun --help\" for more information\n"
        return completed(1, "", said)

    def _sacct(self, words: list[str]) -> Completed:
        if not self.accounted:
            return completed(1, "", "Slurm accounting storage is disabled\n")
        given = dict(_option(word) for word in words)
        return completed(0, self.accounted.get(int(given["jobs"]), ""))


_PARTITIONS = """\
PartitionName=debug Default=YES DefaultTime=00:05:00 MaxTime=00:10:00 Nodes=node-[1-3] State=UP
PartitionName=gpu Default=NO DefaultTime=00:10:00 MaxTime=04:00:00 Nodes=node-[2-3] State=UP
"""


def _option(word: str) -> tuple[str, str]:
    key, _, value = word.removeprefix("--").partition("=")
    return key, value


def _fits(job: FakeJob, given: dict[str, str]) -> bool:
    return (
        given.get("user", job.user) == job.user
        and given.get("name", job.name) == job.name
        and given.get("jobs", str(job.job_id)) == str(job.job_id)
        and ("states" in given or job.state not in _ENDED)
    )


def _minutes(text: str) -> int:
    """`5`, `5:00`, `1:05:00` and `2-12` as Slurm reads them."""
    days, _, rest = text.rpartition("-")
    first, second = (*(int(part) for part in rest.split(":")), 0)[:2]
    in_hours = bool(days) or rest.count(":") == 2
    return int(days or 0) * 1440 + (first * 60 + second if in_hours else first)
