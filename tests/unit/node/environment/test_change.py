"""The difference between two environments, applied to a third, and kept in a file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scratchflow.node.environment.change import (
    Change,
    change_between,
    from_bytes,
    parse_dump,
    to_bytes,
)

_NAMES = st.text("ABC_%()abc", min_size=1)
_VALUES = st.binary().map(lambda raw: raw.replace(b"\0", b"").decode("utf-8", "surrogateescape"))


def test_what_belongs_to_one_process_stays_that_process_s_own() -> None:
    before = {"SLURM_STEP_ID": "1", "SHLVL": "1", "PWD": "/a", "GONE": "x", "SAME": "s"}
    after = {"SHLVL": "2", "PWD": "/b", "NEW": "n", "SAME": "s", "SLURM_STEP_ID": "1", "_": "env"}
    change = change_between(before, after)
    assert change == Change({"NEW": "n"}, ("GONE",))
    later = {"SLURM_STEP_ID": "7", "GONE": "y", "PWD": "/c"}
    assert change.applied_to(later) == {"SLURM_STEP_ID": "7", "PWD": "/c", "NEW": "n"}


def test_the_scripts_own_names_are_left_out_even_when_a_profile_exports_everything() -> None:
    ours = {"__scratchflow_words": "/t", "BASH_FUNC___scratchflow_fail%%": "() { :; }"}
    assert change_between({}, {**ours, "X": "1"}) == Change({"X": "1"})


def test_functions_and_values_with_newlines_and_equal_signs_are_read_whole() -> None:
    dump = b"BASH_FUNC_module%%=() {  eval x=1;\n}\0A=b=c\nd\0EMPTY=\0RAW=\xff\0"
    assert parse_dump(dump) == {
        "BASH_FUNC_module%%": "() {  eval x=1;\n}",
        "A": "b=c\nd",
        "EMPTY": "",
        "RAW": "\udcff",
    }


@pytest.mark.slow
@given(st.dictionaries(_NAMES, _VALUES), st.lists(_NAMES, unique=True))
def test_what_is_kept_in_a_file_comes_back_as_it_was(
    values: dict[str, str], removed: list[str]
) -> None:
    change = Change(values, tuple(removed))
    assert from_bytes(to_bytes(change)) == change
