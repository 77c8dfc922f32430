"""What was asked for becomes a record that says it all, or is refused in words before Slurm is asked."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.login.jobs.new_record import program_name
from scratchflow.login.jobs.submit import submit
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.requests import Submit
from scratchflow.store.jobs.records import job_directory, job_ids, read_job
from tests.unit.login.jobs.conftest import Cluster

CMD = Submit(command=("python", "train.py"))


def asked_of_slurm(cluster: Cluster) -> list[list[str]]:
    return [argv for argv in cluster.fake.asked if argv[0] == "sbatch"]


def test_a_script_brings_its_lines_its_name_and_its_interpreter(cluster: Cluster) -> None:
    done = submit(cluster.login, Submit(script="job.sh", command=("x",)))
    record = read_job(cluster.desk.place, done.job)
    assert record is not None
    assert (record.name, record.command) == ("mine", ["/bin/bash", "-e", "job.sh", "x"])
    text = job_directory(cluster.desk.place, done.job).script.read_text()
    assert text.splitlines()[1:3] == ["#SBATCH --job-name=mine", "#SBATCH --mem=1G"]
    with pytest.raises(UsageInvalid, match="first line"):
        submit(cluster.login, Submit(script="README"))
    with pytest.raises(UsageInvalid, match="has no batch script"):
        submit(cluster.login, Submit(script="missing.sh"))


def test_a_dry_run_takes_a_script_and_a_directory_that_no_snapshot_has_yet(
    cluster: Cluster,
) -> None:
    asked = Submit(script="new.sh", directory="runs", dry_run=True)
    with pytest.raises(UsageInvalid, match="has no batch script `new"):
        submit(cluster.login, asked)
    text = "#!/bin/sh\n#SBATCH --mem=2G\n"
    unsaved = msgspec.structs.replace(asked, unsaved_script=text, unsaved_directory=True)
    done = submit(cluster.login, unsaved)
    assert (done.runs, done.script_slurm) == (["/bin/sh", "new.sh"], {"mem": "2G"})


def test_a_directory_that_is_not_in_the_snapshot_is_refused_at_once(cluster: Cluster) -> None:
    done = submit(cluster.login, msgspec.structs.replace(CMD, directory="src"))
    with pytest.raises(UsageInvalid, match="`sub` is not in the workspace"):
        submit(cluster.login, msgspec.structs.replace(CMD, directory="sub"))
    assert job_ids(cluster.desk.place) == [done.job]
    assert len(asked_of_slurm(cluster)) == 1


def test_how_often_it_goes_on_and_its_signal_are_in_the_record(cluster: Cluster) -> None:
    done = submit(cluster.login, msgspec.structs.replace(CMD, continues=3))
    record = read_job(cluster.desk.place, done.job)
    assert record is not None
    assert (record.continues, record.signal) == (3, "USR1@120")
    assert {"--requeue", "--signal=B:USR1@120"} <= set(done.command)
    done = submit(cluster.login, msgspec.structs.replace(CMD, signal="SIGTERM@60"))
    assert "--signal=B:USR1@60" in done.command
    assert "--requeue" not in done.command


@pytest.mark.parametrize(
    "wrong",
    [
        Submit(command=("x",), signal="KILL@9"),
        Submit(command=("x",), continues=-1),
        Submit(command=("x",), continues=1, signal="USR1@300"),
        Submit(command=("x",), signal="USR1@100", sbatch=("--time=1",)),
    ],
)
def test_a_signal_that_nobody_could_heed_is_refused(cluster: Cluster, wrong: Submit) -> None:
    with pytest.raises(UsageInvalid, match=r"--signal|--continue|would come before"):
        submit(cluster.login, wrong)
    assert asked_of_slurm(cluster) == []


@pytest.mark.parametrize(
    "wrong",
    [
        Submit(command=("x",), sbatch=("a.sh",)),
        Submit(command=("x",), collect=("../x",)),
        Submit(command=("x",), collect=("~/x",)),
        Submit(command=("x",), collect=("{a,b}/*",)),
        Submit(command=("x",), collect=("x{1..3}",)),
    ],
)
def test_what_would_mean_something_else_is_refused(cluster: Cluster, wrong: Submit) -> None:
    with pytest.raises(UsageInvalid):
        submit(cluster.login, wrong)
    assert asked_of_slurm(cluster) == []


def test_a_command_further_down_makes_its_outputs_there(cluster: Cluster) -> None:
    cluster.desk.write("work/a[1]/b/x")
    cluster.desk.backup()
    asked = msgspec.structs.replace(CMD, directory="a[1]/b", collect=("*.pt", "./x/"))
    record = read_job(cluster.desk.place, submit(cluster.login, asked).job)
    assert record is not None
    assert record.collect == ["a[[]1]/b/outputs", "*.pt", "x"]


def test_an_array_of_ones_own_is_refused(cluster: Cluster) -> None:
    with pytest.raises(UsageInvalid, match=r"--array=0-3.*--grid"):
        submit(cluster.login, msgspec.structs.replace(CMD, sbatch=("--array=0-3",)))
    assert asked_of_slurm(cluster) == []
    assert list(job_ids(cluster.desk.place)) == []


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("--test-only", "makes no job.*--dry-run"),
        ("--wrap=x", "`scratchflow submit -- CMD` runs a command"),
        ("--job-name=x", "`--name NAME` names the job"),
        ("--output=x", "`scratchflow logs` finds it"),
    ],
)
def test_an_option_without_effect_or_without_a_job_is_refused_in_words(
    cluster: Cluster, option: str, words: str
) -> None:
    with pytest.raises(UsageInvalid, match=f"`{option}` cannot be passed on: .*{words}"):
        submit(cluster.login, msgspec.structs.replace(CMD, sbatch=(option,)))
    assert asked_of_slurm(cluster) == []
    submit(cluster.login, Submit(script="job.sh"))  # its own lines about that are overruled


def test_a_job_may_have_several_nodes_unless_it_goes_on(cluster: Cluster) -> None:
    options = msgspec.structs.replace(cluster.profile.slurm, nodes=2)
    profile = msgspec.structs.replace(cluster.profile, slurm=options)
    cluster.settings = msgspec.structs.replace(cluster.settings, profile=profile)
    assert "--nodes=2" in submit(cluster.login, CMD).command
    with pytest.raises(UsageInvalid, match="jobs with one node"):
        submit(cluster.login, msgspec.structs.replace(CMD, continues=1))


def test_several_nodes_by_an_option_of_sbatch_are_known_as_such(cluster: Cluster) -> None:
    asked = msgspec.structs.replace(CMD, sbatch=("--nodes=2",))
    assert {"--nodes=2", "--ntasks=2"} <= set(submit(cluster.login, asked).command)
    with pytest.raises(UsageInvalid, match="jobs with one node"):
        submit(cluster.login, msgspec.structs.replace(asked, continues=1))


def test_a_scripts_own_resources_win_over_the_profile_and_flags_over_both(cluster: Cluster) -> None:
    text = "#!/bin/sh\n#SBATCH --time=3 -p debug\n#SBATCH -c2\n#SBATCH --mem 300M\ntrue\n"
    cluster.desk.write("work/res.sh", text)
    cluster.desk.backup()
    asked = Submit(script="res.sh", given=("mem",))
    record = read_job(cluster.desk.place, submit(cluster.login, asked).job)
    assert record is not None
    assert (record.slurm["time"], record.slurm["partition"]) == ("", "")
    assert record.slurm["mem"] == cluster.profile.slurm.mem
    (argv,) = asked_of_slurm(cluster)
    assert not [word for word in argv if word.startswith(("--time", "--partition", "--cpus"))]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("python3 train.py --lr 1", "train.py"),
        ("/usr/bin/python3.12 -u src/train.py", "train.py"),
        ("python -m pkg.train x", "pkg.train"),
        ("python3 -W error train.py", "python3"),
        ("python3 -c x.y", "python3"),
        ("bash scripts/run.sh", "run.sh"),
        ("bin/solve a.txt", "solve"),
        ("python3", "python3"),
    ],
)
def test_a_job_is_called_by_its_script_and_not_by_the_interpreter(command: str, name: str) -> None:
    assert program_name("", command.split()) == name


def test_a_command_without_its_dashes_is_told_with_them(cluster: Cluster) -> None:
    with pytest.raises(UsageInvalid, match=r"`scratchflow submit -- python3 'a b.py' 1` runs it"):
        submit(cluster.login, Submit(script="python3", command=("a b.py", "1")))


@pytest.mark.parametrize("word", ["--", "-", "", "a.sh", "--licenses x"])
def test_what_is_no_option_is_not_passed_on_to_sbatch(cluster: Cluster, word: str) -> None:
    asked = msgspec.structs.replace(CMD, sbatch=(word,), dry_run=True)
    with pytest.raises(UsageInvalid, match=f"one option with its value in one word.*not `{word}`"):
        submit(cluster.login, asked)
    submit(cluster.login, msgspec.structs.replace(CMD, sbatch=("--comment=a b", "-Lx y")))


@pytest.mark.parametrize("option", ["--nodes=1-2", "-N1-2", "-N2", "--nodes=1,4"])
def test_a_job_that_goes_on_may_not_get_more_nodes_than_one(cluster: Cluster, option: str) -> None:
    cluster.desk.write("work/several.sh", f"#!/bin/bash\n#SBATCH {option}\ntrue\n")
    cluster.desk.backup()
    typed = msgspec.structs.replace(CMD, sbatch=(option,), continues=1)
    script = Submit(script="several.sh", continues=1)
    for asked in (typed, script):
        with pytest.raises(UsageInvalid, match="`--continue` is for jobs with one node"):
            submit(cluster.login, asked)
    for asked in (
        msgspec.structs.replace(typed, continues=0),
        msgspec.structs.replace(typed, sbatch=("--nodes=1-1",)),
        msgspec.structs.replace(script, given=("nodes",)),
    ):
        assert submit(cluster.login, asked).number


@pytest.mark.parametrize("option", ["--no-requeue", "--no-req"])
def test_a_job_that_goes_on_may_not_be_forbidden_to_be_put_back(
    cluster: Cluster, option: str
) -> None:
    asked = msgspec.structs.replace(CMD, sbatch=(option,))
    assert option in submit(cluster.login, asked).command
    with pytest.raises(UsageInvalid, match="forbids what `--continue` does"):
        submit(cluster.login, msgspec.structs.replace(asked, continues=1))
