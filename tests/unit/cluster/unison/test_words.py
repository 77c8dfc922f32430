"""What unison 2.52 prints, as it printed it."""

from __future__ import annotations

import pytest

from scratchflow.cluster.unison.words import Reader

# `|` stands at the end of lines that end with spaces.
PLAN = b"""Looking for changes
/ p/new/z\r         \r  Waiting for changes from server
Reconciling changes

local          aws                |
new file <-?-> new file   p/c2  [] """.replace(b"|\n", b"\n")
REST = b"""new file <-?-> new file   p/c2  |
props    ---->            p  |
new file ---->            p/bad\xffname  |
deleted  ---->            p/dir  |
         <---- deleted    p/f (3)  |
         <---- new file   p/f4  |
new link ---->            p/link  |
changed  ====> deleted    p/ two  spaces  |
         error            p/fifo  |
path /home/a/p/fifo has unknown file type

Proceed with propagating updates? [] """.replace(b"|\n", b"\n")
END = b"""Propagating updates
[BGN] Deleting p/dir from //aws//home/b
 40%  00:00 ETA\r               \r[END] Deleting p/dir
100%  00:00 ETA\r               \rFailed [p/f (3)]: Destination updated during synchronization
Saving synchronizer state
Synchronization incomplete at 17:32:14  (4 items transferred, 2 skipped, 1 failed)
  skipped: p/c2 (contents changed on both sides)
  skipped: p/fifo (path /home/a/p/fifo has unknown file type)
  failed: p/f (3)
"""


def _read(*pieces: bytes) -> tuple[Reader, list[str]]:
    reader = Reader()
    asked: list[str] = [question.about for piece in pieces for question in reader.take(piece)]
    return reader, asked


def test_it_asks_about_each_conflict_and_then_about_the_plan() -> None:
    reader, asked = _read(PLAN, REST)
    assert asked == ["conflict", "plan"]
    assert reader.conflicts == [b"p/c2"]


@pytest.mark.parametrize("size", [1, 7])
def test_pieces_may_end_anywhere(size: int) -> None:
    pieces = [
        text[start : start + size] for text in (PLAN, REST) for start in range(0, len(text), size)
    ]
    reader, asked = _read(*pieces)
    assert asked == ["conflict", "plan"]
    assert set(reader.changes) == set(_read(PLAN, REST)[0].changes)


def test_the_side_that_changed_says_which_way_it_goes() -> None:
    reader, _ = _read(PLAN, REST)
    deleted = {path: one.direction for path, one in reader.changes.items() if one.deletes}
    assert deleted == {b"p/dir": "to_other", b"p/f (3)": "to_first"}
    assert [path for path, one in reader.changes.items() if one.replaces] == [
        b"p/bad\xffname",
        b"p/f4",
        b"p/link",
    ]
    assert reader.changes[b"p/ two  spaces"].direction == "to_other"
    assert reader.changes[b"p/fifo"].direction == "error"


def test_what_is_new_for_unison_itself_replaces_only_what_the_other_side_has() -> None:
    text = b"file     ====> dir        p/a  |\nfile     ---->            p/b  |\n"
    reader, _ = _read(text.replace(b"|", b""))
    assert [path for path, one in reader.changes.items() if one.replaces] == [b"p/a"]


def test_the_end_says_what_was_left_and_why() -> None:
    reader, _ = _read(PLAN, REST, END)
    assert reader.failed == {b"p/f (3)": "Destination updated during synchronization"}
    assert reader.skipped == {
        b"p/c2": "contents changed on both sides",
        b"p/fifo": "path /home/a/p/fifo has unknown file type",
    }
    assert reader.done == 1
    assert reader.percent == 100


def test_a_reason_may_take_several_lines() -> None:
    reader, _ = _read(PLAN, REST, b"  skipped: p/c2 (Error in digesting /home/a/p/c2:\n")
    list(reader.take(b"Permission denied [open(/home/a/p/c2)])\n  failed: p/dir\n"))
    reason = "Error in digesting /home/a/p/c2: Permission denied [open(/home/a/p/c2)]"
    assert reader.skipped == {b"p/c2": reason}
    assert reader.failed == {b"p/dir": "unison does not say why"}


def test_a_reason_of_a_failure_is_read_to_its_end() -> None:
    reader, _ = _read(PLAN, REST, b"Propagating updates\nFailed: Error in closing files:\n")
    list(reader.take(b"No space left on device\n 33%  00:00 ETA\r    \rFailed [p/dir]: Error in\n"))
    list(
        reader.take(b"No space left on device [write(/b/p)]\n[END] Copying p/w\n  failed: p/dir\n")
    )
    assert reader.failed == {b"p/dir": "Error in No space left on device [write(/b/p)]"}


def test_the_plan_says_why_something_is_an_error() -> None:
    reader, _ = _read(PLAN, REST)
    assert reader.errors == {b"p/fifo": "path /home/a/p/fifo has unknown file type"}
    assert reader.unknown == []


def test_a_line_of_the_plan_that_nobody_knows_is_kept() -> None:
    reader, _ = _read(PLAN, b"\nnew dir  ~~~~>            p/x  \n", REST)
    assert reader.unknown == [b"new dir  ~~~~>            p/x  "]


def test_only_unison_says_that_there_is_nothing_to_do() -> None:
    said = b"Reconciling changes\nNothing to do: replicas have not changed since last sync.\n"
    assert _read(said)[0].is_equal
    assert not _read(PLAN, REST, END)[0].is_equal


def test_a_file_that_is_named_like_a_question_asks_nothing() -> None:
    reader, asked = _read(b"| p/Proceed with propagating updates? [] ", b"\r   \r")
    assert asked == []
    assert reader.changes == {}


def test_a_question_that_nobody_knows_is_seen() -> None:
    reader, asked = _read(b"Do you really want to proceed? [] ")
    assert asked == []
    assert reader.unknown_question() == "Do you really want to proceed? []"
    assert _read(b"Reconciling changes\n")[0].unknown_question() == ""


def test_the_reason_of_its_end_is_said_whole() -> None:
    reader, _ = _read(b"Looking for changes\nFatal error: Lost connection\nwith the server\n\n")
    assert reader.last_words == "Lost connection with the server"
    assert _read(b"unison: unknown option '-x'\n")[0].last_words == "unison: unknown option '-x'"
    assert _read()[0].last_words == "it said nothing"
    several = b"""Looking for changes
Error: Internal error: On-disk archives are not identical.

  b) Move the archive files on each machine to some other directory
  c) Run unison again to synchronize from scratch.
"""
    words = _read(several)[0].last_words
    assert words.startswith("Error: Internal error: On-disk archives are not identical. b) Move")
    assert words.endswith("c) Run unison again to synchronize from scratch.")


@pytest.mark.parametrize(
    ("said", "side"),
    [
        (b"Fatal error: Error in saving archive:\nNo space left on device\n", "first"),
        (b"Fatal error: Server: Error in saving archive:\nNo space left on device\n", "other"),
        (b"Fatal error: Server: Error in saving archive:\nDisk quota exceeded\n", "other"),
        (b"Fatal error: Lost connection with the server\n", None),
    ],
)
def test_it_is_known_on_which_side_it_gave_up_for_want_of_room(
    said: bytes, side: str | None
) -> None:
    assert _read(b"Looking for changes\n" + said)[0].gave_up_full == side


@pytest.mark.parametrize(("arrow", "full"), [(b"---->", "to_other"), (b"<----", "to_first")])
def test_what_failed_for_want_of_room_tells_the_side_that_is_full(arrow: bytes, full: str) -> None:
    plan = b"Reconciling changes\n\nlocal          aws\n         " + arrow + b"            p/d  \n"
    end = b"""
Propagating updates
Failed [p/d]: Error in closing files:
No space left on device
Synchronization incomplete at 17:32:14  (0 items transferred, 0 skipped, 1 failed)
  failed: p/d
"""
    assert _read(plan + end)[0].full == {full}
    assert _read(plan + end.replace(b"No space left", b"Broken"))[0].full == set()
