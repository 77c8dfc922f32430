"""Jobs in columns and words."""

from __future__ import annotations

import msgspec
import pytest

from scratchflow.cli.job_words import (
    details,
    differences,
    listed,
    outputs_in_words,
    pruned,
    removal_in_words,
    states,
    table,
)
from scratchflow.model.job import GitState
from scratchflow.model.results.jobs import (
    JobDifference,
    JobKept,
    JobPruned,
    JobsListed,
    JobsPruned,
    OutputShown,
    OutputsPut,
    OutputsShown,
    TaskShown,
)
from scratchflow.report.human import _on_terminal
from tests.unit.flows.jobs.test_code import JOB

TASK = TaskShown(task=0, job_id=7, state="FAILED", why="exit code 3", node="n1", code=3)
ONE = msgspec.structs.replace(
    JOB,
    tasks=[TASK],
    command=["a b", "c"],
    snapshot="20261115T093000Z-3f2a9c",
    git=GitState(commit="c0ffee" * 5, branch="main", dirty=True),
)


def test_a_job_is_one_line() -> None:
    header, line = table([ONE], None)
    assert header.split()[:3] == ["name", "job", "state"]
    assert line.split()[:3] == ["n", "7", "FAILED"]


def test_jobs_of_one_name_are_told_apart_by_what_followed_it() -> None:
    command = ["python3", "src/train.py", "--lr", "0.1"]
    one = msgspec.structs.replace(ONE, name="train.py", command=command)
    other = msgspec.structs.replace(one, number=8, command=[*command[:-1], "0.2"])
    named = msgspec.structs.replace(one, number=9, name="mine", command=command)
    lines = list(table([one, other, named], None))[1:]
    assert [line.partition("  ")[0] for line in lines] == [
        "train.py --lr 0.1",
        "train.py --lr 0.2",
        "mine",
    ]
    again = msgspec.structs.replace(named, number=10)
    assert all(line.startswith("mine  ") for line in list(table([named, again], None))[1:])


def test_the_list_names_jobs_of_which_something_is_not_saved() -> None:
    left = msgspec.structs.replace(TASK, state="COMPLETED", unsaved_on=["n1"])
    jobs = [
        msgspec.structs.replace(ONE, number=5, tasks=[left]),
        ONE,
        msgspec.structs.replace(
            ONE, number=8, tasks=[TASK, msgspec.structs.replace(TASK, lost=True)]
        ),
    ]
    *_, line = listed(JobsListed(jobs=jobs))
    assert (
        line == "not all that jobs 5, 8 made is saved; `scratchflow jobs show 8` says where it is"
    )
    *_, line = listed(JobsListed(jobs=jobs[:2]))
    assert line.startswith("not all that job 5 made is saved; ")
    assert "saved" not in "".join(listed(JobsListed(jobs=[ONE])))


def test_what_was_to_be_collected_and_matched_nothing_is_told() -> None:
    task = msgspec.structs.replace(TASK, unmatched=["ckpt/*.pt"])
    job = msgspec.structs.replace(ONE, tasks=[task], collect=["ckpt/*.pt"])
    text = "\n".join(details(job, None))
    assert "collects   outputs/ ckpt/*.pt\n" in text
    assert "`--collect 'ckpt/*.pt'` matched nothing" in text


def test_without_jobs_the_next_step_is_told_unless_there_are_some_that_cannot_be_read() -> None:
    assert list(listed(JobsListed(jobs=[]))) == ["no jobs; `scratchflow submit -- CMD` submits one"]
    assert list(listed(JobsListed(jobs=[], damaged=["x"]))) == [
        "no jobs but those that cannot be read"
    ]


def test_without_a_cluster_nobody_is_sent_to_submit() -> None:
    (line,) = listed(JobsListed(jobs=[], no_cluster=True))
    assert "submit" not in line
    assert "`scratchflow run -- CMD`" in line


def test_what_ran_beyond_the_commit_is_told() -> None:
    git = GitState(commit="c0ffee" * 5, branch="main", dirty=False, untracked=True)
    text = "\n".join(details(msgspec.structs.replace(ONE, git=git), None))
    assert "on main, with files that git does not track\n" in text
    both = msgspec.structs.replace(git, dirty=True)
    text = "\n".join(details(msgspec.structs.replace(ONE, git=both), None))
    assert "on main, with changes and files that git does not track\n" in text


def test_a_rerun_names_the_job_by_its_number() -> None:
    job = msgspec.structs.replace(ONE, rerun_of="20261116T214028Z-9c723c", rerun_of_number=14)
    assert "  rerun of   job 14, 20261116T214028Z-9c723c" in list(details(job, None))


def test_tasks_are_counted_by_state() -> None:
    tasks = [msgspec.structs.replace(TASK, task=n, state=s) for n, s in enumerate("AAB")]
    assert states(msgspec.structs.replace(ONE, tasks=tasks)) == "2 A, 1 B"


def test_everything_that_is_known_is_told_and_escaped() -> None:
    odd = msgspec.structs.replace(ONE, tags=["\x1b[31m"])
    text = "\n".join(details(odd, None))
    assert "command    'a b' c" in text
    assert "git c0ffeec0ff on main, with changes" in text
    assert "exit code 3" in text
    assert "\x1b" not in text


def test_restarts_and_what_was_used_are_told() -> None:
    used = msgspec.structs.replace(TASK, restarts=1, peak_memory_bytes=3 << 20, cpu_s=1.5)
    text = "\n".join(details(msgspec.structs.replace(ONE, tasks=[used]), None))
    assert "FAILED on `n1`, restarted 1 time\n" in text
    assert "peak memory 3.00 MiB, 1.5 s of processor time" in text


def test_how_often_it_went_on_is_told() -> None:
    task = msgspec.structs.replace(TASK, continued=1)
    job = msgspec.structs.replace(ONE, continues=3, signal="USR1@120", tasks=[task])
    text = "\n".join(details(job, None))
    assert (
        "gets USR1 120 s before the time limit, then queued again to go on, at most 3 times" in text
    )
    assert "went on in another run 1 time" in text


def test_what_goes_is_told_with_what_it_made() -> None:
    gone = JobPruned(job="j", number=7, name="a", time="", output_files=2, output_bytes=2048)
    stays = JobKept(job="k", number=8, name="b", why="it has not ended", next_step="wait")
    found = JobsPruned(removed=[gone], kept=[stays], unneeded_snapshots=["s"])
    text = "\n".join(pruned(found))
    assert "removed 7 (`a`), submitted -, with 2 files (2.00 KiB) that it made" in text
    assert "kept 8 (`b`): it has not ended; wait" in text
    assert "no job needs 1 snapshot any more" in text
    assert "\n".join(removal_in_words(found)).startswith("Remove for good:\n  7 (`a`)")


def test_what_is_given_up_on_nodes_is_told_before_and_after() -> None:
    gone = JobPruned(job="j", number=7, name="a", time="", given_up=True, rest="on `n1` \x1b")
    found = JobsPruned(removed=[gone])
    for text in ("\n".join(removal_in_words(found)), "\n".join(pruned(found))):
        assert "7 (`a`), submitted -; on `n1` " in text
        assert "\x1b" not in text


def test_what_a_job_removed_that_was_given_up_is_told() -> None:
    task = msgspec.structs.replace(TASK, removed=["what job 4 had left on n1: it was given up"])
    lines = list(details(msgspec.structs.replace(ONE, tasks=[task]), None))
    assert "             removed what job 4 had left on n1: it was given up" in lines


def test_that_what_is_behind_a_link_was_not_saved_is_told() -> None:
    task = msgspec.structs.replace(TASK, links_out=["outputs: a link to `/tmp/x`"])
    lines = list(details(msgspec.structs.replace(ONE, tasks=[task]), None))
    assert "             left out: outputs: a link to `/tmp/x`" in lines


def test_two_jobs_stand_side_by_side() -> None:
    found = [JobDifference(what="snapshot", first="a", second="b")]
    lines = list(differences("1", "2", found))
    assert lines[1].split() == ["snapshot", "a", "b"]
    assert lines[-1] == "`scratchflow snapshots diff a b` shows which files"
    assert list(differences("1", "2", [])) == ["they are the same"]


def test_parameters_are_written_as_they_are_typed() -> None:
    found = [
        JobDifference(what="param v", first=True, second="True"),
        JobDifference(what="param w", first=[1, None], second=0.5),
    ]
    lines = list(differences("1", "2", found))
    assert [line.split()[2:] for line in lines[1:3]] == [["true", "True"], ["[1,null]", "0.5"]]


def test_an_empty_parameter_differs_from_a_missing_one() -> None:
    found = [
        JobDifference(what="param e", first="", second=None),
        JobDifference(what="tags", first="", second="x"),
    ]
    rows = [line.split() for line in differences("1", "2", found)]
    assert rows[1:] == [["param", "e", '""', "-"], ["tags", "-", "x"]]


def test_where_something_is_that_could_not_be_saved_is_told() -> None:
    task = msgspec.structs.replace(
        TASK, not_collected=["outputs/u: Permission denied"], rest="what is not saved is on `n1`"
    )
    lines = list(details(msgspec.structs.replace(ONE, tasks=[task]), None))
    assert "             NOT collected: outputs/u: Permission denied" in lines
    assert "             what is not saved is on `n1`" in lines


def test_what_was_left_out_is_named_and_is_not_said_to_be_on_the_node() -> None:
    task = msgspec.structs.replace(TASK, left_out=["outputs/pipe: a pipe"])
    lines = list(details(msgspec.structs.replace(ONE, tasks=[task]), None))
    assert "             left out: outputs/pipe: a pipe" in lines
    assert not [line for line in lines if "still on" in line]


def test_what_was_collected_is_told_with_the_way_to_this_machine() -> None:
    tasks = [
        msgspec.structs.replace(TASK, task=n, collected_files=n, collected_bytes=5)
        for n in range(3)
    ]
    text = "\n".join(details(msgspec.structs.replace(ONE, tasks=tasks), None))
    assert "outputs    3 files (15 B): `scratchflow jobs outputs 7 --to laptop:.`" in text
    assert "jobs outputs" not in "\n".join(details(ONE, None))


FOUND = OutputsShown(
    job="j",
    number=7,
    directory="/store/j/outputs/0",
    host="login",
    place="job-7",
    outputs=[OutputShown(path="outputs/r", bytes=3, task=0)],
    files=3,
    bytes=30,
    tasks=[0],
)


def test_outputs_are_listed_with_where_they_lie_and_how_to_get_them() -> None:
    assert list(outputs_in_words(FOUND)) == [
        "3 B  outputs/r",
        "… and 2 files more",
        "3 files (30 B) in `/store/j/outputs/0` on `login`",
        "`scratchflow jobs outputs 7 --to laptop:.` brings them here, into `job-7/`",
    ]
    beside = "\n".join(outputs_in_words(msgspec.structs.replace(FOUND, is_beside=True)))
    assert "in `/store/j/outputs/0`, and beside it for `0@…`, on `login`" in beside
    (line,) = outputs_in_words(msgspec.structs.replace(FOUND, files=0))
    assert line.startswith("nothing of job 7 is saved: ")
    (line,) = outputs_in_words(msgspec.structs.replace(FOUND, files=0, is_over=False))
    assert line.startswith("nothing of job 7 is saved yet: ")


def test_where_more_of_them_may_be_is_told_with_or_without_files() -> None:
    put = OutputsPut(target="/h/job-7", host="", written_files=1)
    (line, _) = outputs_in_words(msgspec.structs.replace(FOUND, files=0, rest=["7: on `n1`"]))
    assert line == "nothing of job 7 is saved"
    for more in ({}, {"files": 0}, {"put": put}):
        found = msgspec.structs.replace(FOUND, rest=["7: it may be on `n1`"], **more)
        assert "7: it may be on `n1`" in list(outputs_in_words(found))


def test_of_several_tasks_it_is_said_where_their_parameters_are() -> None:
    *_, last = outputs_in_words(msgspec.structs.replace(FOUND, is_array=True))
    assert last == "`scratchflow jobs show 7` says which parameters each task had"


def test_where_outputs_were_put_is_told() -> None:
    def told(**fields: object) -> str:
        put = msgspec.structs.replace(OutputsPut(target="/h/job-7", host="node-1"), **fields)
        (line,) = outputs_in_words(msgspec.structs.replace(FOUND, put=put))
        return line

    assert told(dry_run=True).startswith("would put 3 files (30 B) into `/h/job-7` on `node-1`")
    assert told(same_files=3) == "`/h/job-7` on `node-1` has all of it already: 3 files (30 B)"
    assert told(written_files=2, written_bytes=9, same_files=1) == (
        "`/h/job-7` on `node-1`: 2 files (9 B) written, 1 file was there already"
    )


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_list_stays_within_the_terminal(width: int) -> None:
    found = ["COMPLETED"] * 3 + ["RUNNING"] * 2 + ["FAILED"]
    tasks = [
        msgspec.structs.replace(TASK, task=n, state=state, node=f"node-{n}", start="2026-11-16T10:00:00Z", last_output="2026-11-16T10:00:00Z")
        for n, state in enumerate(found)
    ]  # fmt: skip
    job = msgspec.structs.replace(
        ONE, name="train_a_large_model.py", time="2026-11-16T10:00:00Z", tasks=tasks
    )
    header, line = table([job], width)
    assert max(len(header), len(line)) <= width
    assert "3 COMPLETED, 2 RUNNING, 1 FAILED" in line
    assert line.startswith("train_a_lar")
    assert ("last output" in header) is (width >= 100)


def test_what_old_means_is_told() -> None:
    *_, line = pruned(JobsPruned(removed=[], older_than="90d"))
    assert line == "old are jobs that ended more than 90d ago (`backup.keep_jobs`)"
    *_, line = pruned(JobsPruned(removed=[], older_than="forever"))
    assert "`forever`" in line


def test_the_way_to_run_what_failed_with_mended_code_is_told() -> None:
    *_, line = details(ONE, None)
    assert line.startswith("`scratchflow jobs rerun --failed 7` runs it from the same files")
    assert "`--current` from the workspace as it is now" in line
    well = msgspec.structs.replace(TASK, state="COMPLETED")
    assert "--current" not in "".join(details(msgspec.structs.replace(ONE, tasks=[well]), None))


def test_files_that_earlier_runs_made_are_told_apart() -> None:
    task = msgspec.structs.replace(
        TASK, collected_files=3000, collected_bytes=5, earlier_files=2502
    )
    text = "\n".join(details(msgspec.structs.replace(ONE, tasks=[task]), None))
    assert "collected 3,000 files (5 B), 2,502 of them by earlier runs" in text
    assert "outputs    3,000 files (5 B)" in text


def test_a_long_value_goes_on_beneath_itself_not_beneath_its_label() -> None:
    git = GitState(commit="c0ffee" * 5, branch="main", dirty=True, untracked=True)
    lines = details(msgspec.structs.replace(ONE, git=git), None)
    (code,) = [line for line in lines if line.startswith("  code ")]
    first, second = _on_terminal(code, 80)
    assert first.startswith("  code       snapshot 3f2a9c, git c0ffee")
    assert second == f"{' ' * 13}{second.strip()}"
    assert second.endswith("does not track")


def test_memory_is_compared_in_units_that_people_read() -> None:
    found = [JobDifference(what="peak memory", first=25_399_296, second=None)]
    assert list(differences("1", "2", found))[1].split() == ["peak", "memory", "24.2", "MiB", "-"]
