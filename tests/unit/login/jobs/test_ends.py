"""Each end in words, with the next step."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.login.jobs.ends import name_of, rest_of, why
from scratchflow.model.job import SAVED_ONCE, SlurmTask, TaskRecord
from tests.unit.model.test_job import PLAIN

RECORD = msgspec.structs.replace(PLAIN, number=41, slurm={"mem": "4G", "time": "1:00:00"})
OWN = TaskRecord(task=0, job_id=41, node="n1", phase="ended", start="", code=3)


def said(state: str, **more: object) -> SlurmTask:
    return SlurmTask(task=0, job_id=41, state=state, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("state", "more", "words"),
    [
        (
            "OUT_OF_MEMORY",
            {"peak_memory_bytes": 4 << 30},
            "it ran out of memory: asked for 4G, used 4.00 GiB at the end; `scratchflow jobs rerun 41 --mem 8G` gives it more",
        ),
        (
            "TIMEOUT",
            {},
            "its time limit was reached (1:00:00); `scratchflow jobs rerun 41 --time 02:00:00` gives it twice as long",
        ),
        (
            "CANCELLED",
            {"cancelled_by": "bob", "node": "n1"},
            "it was cancelled by bob; `scratchflow jobs rerun 41` runs it again from the same snapshot",
        ),
        (
            "CANCELLED",
            {"cancelled_by": "bob"},
            "it was cancelled by bob while it waited for another run: after the one on `n1` it was queued again; `scratchflow jobs rerun 41` runs it again from the same snapshot",
        ),
        (
            "CANCELLED",
            {"node": "n1"},
            "it was cancelled; `scratchflow jobs rerun 41` runs it again from the same snapshot",
        ),
        ("FAILED", {}, "exit code 3; `scratchflow logs 41` shows what it printed"),
        (
            "NODE_FAIL",
            {},
            "its node failed; `scratchflow jobs rerun 41` runs it again from the same snapshot",
        ),
        ("COMPLETED", {}, ""),
        ("RUNNING", {}, ""),
    ],
)
def test_the_end_is_told(state: str, more: dict[str, object], words: str) -> None:
    assert why(RECORD, 0, state, OWN, said(state, **more)) == words


def test_one_that_could_not_write_down_its_end_is_told_as_that() -> None:
    own = msgspec.structs.replace(OWN, code=None, phase="running")
    words = why(RECORD, 0, "FAILED", own, said("FAILED", code=24))
    assert words.startswith(
        "it could write no word of its end, as when the store is full, or away on `n1`"
    )


def test_a_command_that_was_not_run_says_why() -> None:
    own = msgspec.structs.replace(OWN, code=None, error="no space")
    assert why(RECORD, 0, "FAILED", own, None) == "the command was not run: no space"


@pytest.mark.parametrize(
    ("asked", "accounted", "words"),
    [
        ("", "256Mn", "asked for 256M; `scratchflow jobs rerun 41 --mem 1G` gives it more"),
        ("", "256Mc", "asked for 256Mc; `scratchflow jobs rerun 41` with a larger `--mem`"),
        ("0", "", "asked for 0; `scratchflow jobs rerun 41` with a larger `--mem`"),
        ("", "", "memory; `scratchflow jobs rerun 41` with a larger `--mem`"),
    ],
)
def test_more_memory_is_advised_as_far_as_it_is_known(
    asked: str, accounted: str, words: str
) -> None:
    record = msgspec.structs.replace(RECORD, slurm={"mem": asked})
    told = said("OUT_OF_MEMORY", asked_memory=accounted)
    assert words in why(record, 0, "OUT_OF_MEMORY", OWN, told)


def test_of_an_array_the_task_alone_is_run_again() -> None:
    record = msgspec.structs.replace(RECORD, tasks=[{}, {}])
    assert "`scratchflow jobs rerun 41_1`" in why(record, 1, "NODE_FAIL", None, None)


def test_one_that_did_not_go_on_says_why() -> None:
    own = msgspec.structs.replace(OWN, not_continued="it has done so 2 times")
    told = "its time limit was near, and it did not go on in another run: it has done so 2 times"
    assert why(RECORD, 0, "COMPLETED", own, None) == told


def test_a_command_that_ended_before_the_failure_is_not_called_unrun() -> None:
    own = msgspec.structs.replace(OWN, error="the store is full")
    words = why(RECORD, 0, "FAILED", own, None)
    assert words == "the command ended with 3, and then: the store is full"


def test_a_limit_that_came_while_outputs_were_saved_is_told_as_that() -> None:
    own = msgspec.structs.replace(OWN, phase="running", code=0)
    words = why(RECORD, 0, "TIMEOUT", own, None)
    assert words.startswith("the command ended with 0; ")
    assert rest_of(own).startswith("what it made last may still be on `n1`; the next job there")


def test_a_task_is_named_as_slurm_names_it() -> None:
    assert name_of(RECORD, 0) == "41"
    assert name_of(msgspec.structs.replace(RECORD, tasks=[{}, {}]), 1) == "41_1"


@pytest.mark.parametrize(
    ("own", "more", "words"),
    [
        (None, {"reason": "BadConstraints", "code": 1}, "no node can meet its constraints"),
        (None, {"code": 1}, "as when the nodes and the partition it asks for do not fit"),
        (
            None,
            {"node": "n2", "code": 0, "signal": 53},
            "Slurm could not open the files that it prints to, as when the store is away on `n2`",
        ),
        (
            None,
            {"node": "n2", "reason": "RaisedSignal:53(Real-time_signal_19)"},
            "Slurm could not open the files that it prints to, as when the store is away on `n2`",
        ),
        (
            None,
            {"node": "n2", "code": 24, "reason": "NonZeroExitCode"},
            f"as when the store is away on `n2`; `jobs/{RECORD.id}/logs/agent.jsonl`",
        ),
        (
            msgspec.structs.replace(OWN, phase="restoring", code=None),
            {"node": "n1", "code": 24},
            "as when the store is away on `n1`",
        ),
    ],
)
def test_a_job_that_failed_before_its_command_began_says_that_it_was_not_run(
    own: TaskRecord | None, more: dict[str, object], words: str
) -> None:
    found = why(RECORD, 0, "FAILED", own, said("FAILED", **more))
    assert found.startswith("the command was not run: ")
    assert words in found
    assert "`scratchflow jobs rerun 41` " in found
    assert "shows what it printed" not in found


def test_a_job_that_slurm_could_not_launch_is_not_sent_for_other_resources() -> None:
    told = said("FAILED", reason="JobLaunchFailure", node="n2")
    words = why(RECORD, 0, "FAILED", None, told)
    assert "on `n2` (JobLaunchFailure), as when the store is away on `n2`; " in words
    assert "other resources" not in words


def test_of_a_run_that_slurm_could_not_launch_after_another_nobody_says_that_it_wrote_no_word() -> (
    None
):
    own = msgspec.structs.replace(OWN, phase="running", code=None, node="n1")
    for told in (
        said("FAILED", reason="JobLaunchFailure", node="n2"),
        said("FAILED", signal=53, node="n2"),
    ):
        words = why(RECORD, 0, "FAILED", own, told)
        assert words.startswith("it was queued again, and that run was not begun: Slurm could not ")
        assert (
            "as when the store is away on `n2`; `scratchflow jobs rerun 41` runs it again" in words
        )


def test_of_one_whose_record_cannot_be_read_nobody_says_that_it_was_not_run() -> None:
    words = why(RECORD, 0, "FAILED", None, said("FAILED", code=3), is_damaged=True)
    assert words == "exit code 3; `scratchflow logs 41` shows what it printed"


def test_of_one_whose_record_was_put_back_nobody_says_that_it_could_write_no_word() -> None:
    own = msgspec.structs.replace(OWN, phase="running", code=None, put_back=True)
    words = why(RECORD, 0, "FAILED", own, said("FAILED", code=5))
    assert words.startswith("how it ended is not known: its record was gone from the store")


def test_a_limit_that_is_a_bare_number_is_told_in_minutes() -> None:
    record = msgspec.structs.replace(RECORD, slurm={"time": "1"})
    assert "limit was reached (1 min); " in why(record, 0, "TIMEOUT", None, said("TIMEOUT"))


def test_what_has_lost_its_name_is_saved_only_once_it_has_it_again() -> None:
    line = f"w2: the command was started in it, and has put something else in its place{SAVED_ONCE}`/s/work` again"
    own = msgspec.structs.replace(OWN, not_collected=[line])
    assert rest_of(own) == (
        "what is not saved is still on `n1`; some of it is in `w2`: the command was started in it, and has put something else"
        " in its place; once that is `/s/work` again, the next job there saves it, such as"
        " `scratchflow submit --sbatch=--nodelist=n1 -- true`"
    )


def test_what_waits_on_a_node_is_told_with_the_way_home() -> None:
    own = msgspec.structs.replace(OWN, not_collected=["outputs/x: No space left on device"])
    way = "the next job there saves it, such as `scratchflow submit --sbatch=--nodelist=n1 -- true`"
    assert (
        rest_of(own) == f"what is not saved is still on `n1`; once the store has room for it, {way}"
    )
    assert (rest_of(OWN), rest_of(None)) == ("", "")


def test_of_what_cannot_be_read_it_is_told_how_that_changes() -> None:
    own = msgspec.structs.replace(
        OWN, not_collected=["outputs/x: Permission denied"], directory="/scratch/a b/jobs/j-0"
    )
    words = rest_of(own)
    assert "it is in `/scratch/a b/jobs/j-0` on `n1`, and" in words
    find = "find '/scratch/a b/jobs/j-0' -not -perm -u+r -exec chmod u+r {} +"
    line = f"scratchflow submit --sbatch=--nodelist=n1 -- {find}"
    assert f"`{line}` changes that; then the next job there saves it" in words


def test_a_directory_that_the_next_job_opens_needs_no_chmod() -> None:
    own = msgspec.structs.replace(OWN, not_collected=["outputs/d/: Permission denied"])
    assert "chmod" not in rest_of(own)
    assert "the next job there saves it" in rest_of(own)


def test_what_an_earlier_run_left_is_told_as_that() -> None:
    own = msgspec.structs.replace(OWN, left_on=["n9"])
    way = "the next job there saves it, such as `scratchflow submit --sbatch=--nodelist=n9 -- true`"
    assert rest_of(own) == f"what an earlier run of it made last may still be on `n9`; {way}"
    closed = msgspec.structs.replace(own, not_collected=["outputs/x: Permission denied"])
    assert "on `n1`, and" in rest_of(closed)


def test_what_cannot_be_read_of_an_earlier_run_is_told_with_its_node_and_the_way_to_change_that() -> (
    None
):
    left = {"n9": ["outputs/x: Permission denied"]}
    own = msgspec.structs.replace(OWN, left_on=["n9"], left_failed=left, directory="/s/jobs/j-0")
    words = rest_of(own)
    assert words.startswith("what is not saved is still on `n9`; some of it cannot be read:")
    assert "--nodelist=n9 -- " in words
    assert "chmod" in words


def test_a_path_that_no_job_can_save_is_not_promised_to_be_saved_by_the_next() -> None:
    own = msgspec.structs.replace(
        OWN, not_collected=["outputs/x: File name too long"], directory="/scratch/a/jobs/j-0"
    )
    words = rest_of(own)
    assert "longer than the store takes: it is in `/scratch/a/jobs/j-0` on `n1`" in words
    assert "once it has shorter names there, the next job there saves it" in words


def test_of_several_nodes_only_the_one_with_closed_files_is_named_for_that() -> None:
    lines = ["outputs/x: No space left on device", "n2: outputs/y: Permission denied"]
    own = msgspec.structs.replace(
        OWN, further_nodes=["n2"], not_collected=lines, directory="/scratch/a/jobs/j-0"
    )
    words = rest_of(own)
    assert (
        "--nodelist=n2 -- find /scratch/a/jobs/j-0 -not -perm -u+r -exec chmod u+r {} +`" in words
    )
    assert (
        "changes that; then once the store has room for it, the next job on each of them" in words
    )


def test_what_went_with_the_job_is_told_as_lost() -> None:
    own = msgspec.structs.replace(OWN, not_collected=["outputs/x: Permission denied"])
    own = msgspec.structs.replace(own, goes_with_job=True, directory="/local/a.3/jobs/j-0")
    words = rest_of(own)
    assert words.startswith("what was not saved is lost: it was in `/local/a.3/jobs/j-0`")
    assert "To avoid it, " in words
    assert "the next job" not in words
