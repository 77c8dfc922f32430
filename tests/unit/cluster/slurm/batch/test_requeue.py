"""A job puts itself back into the queue: its own task and no other, also when Slurm is slow to answer."""

from __future__ import annotations

from collections.abc import Sequence

from scratchflow.cluster.command import CommandUnanswered
from scratchflow.cluster.slurm.batch.requeue import own_name, requeue, signal_steps
from scratchflow.cluster.slurm.client import Slurm
from scratchflow.process.child import Completed
from scratchflow.testing.slurm import FakeClock


class Scontrol:
    """Gives these answers, one after the other; an empty one is none."""

    def __init__(self, *answers: str) -> None:
        self.answers, self.asked = list(answers), list[list[str]]()

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Completed:
        del timeout_s
        self.asked.append(list(argv))
        answer = self.answers.pop(0)
        if not answer:
            raise CommandUnanswered("no answer")
        return Completed(0) if answer == "done" else Completed(1, b"", answer.encode())


def ask(*answers: str) -> tuple[str, Scontrol]:
    scontrol = Scontrol(*answers)
    return requeue(Slurm(scontrol, "alice", "n1"), "7_3", FakeClock().clock), scontrol


def test_a_task_of_an_array_is_named_by_array_and_task() -> None:
    """The last task of an array has the number of the whole: by that alone all tasks would be queued again."""
    task = {"SLURM_JOB_ID": "7", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"}
    assert own_name(task) == "7_3"
    assert own_name({"SLURM_JOB_ID": "7"}) == "7"


def test_it_is_asked_once_when_slurm_agrees() -> None:
    refused, scontrol = ask("done")
    assert (refused, scontrol.asked) == ("", [["scontrol", "requeue", "7_3"]])


def test_no_answer_is_asked_again_and_an_order_that_was_carried_out_is_done() -> None:
    refused, scontrol = ask("", "Job is pending execution for 7_3")
    assert (refused, len(scontrol.asked)) == ("", 2)


def test_steps_are_signalled_and_nobody_waits_for_an_answer() -> None:
    scontrol = Scontrol("done", "")
    slurm = Slurm(scontrol, "alice", "n1")
    signal_steps(slurm, "7_3", "TERM")
    signal_steps(slurm, "7_3", "TERM")
    assert scontrol.asked == [["scancel", "--signal=TERM", "7_3"]] * 2


def test_a_refusal_is_told_in_slurms_words() -> None:
    refused, scontrol = ask("Requested operation is presently disabled for job 7_3")
    assert "presently disabled" in refused
    assert len(scontrol.asked) == 1
    refused, _ = ask("", "", "")
    assert "no answer" in refused
