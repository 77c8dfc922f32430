"""What a file system says about the store, as an error that a user can act on."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.store import NoSpace, StoreUnusable
from scratchflow.store.failures import store_errors, translated

STORE = Path("/shared/store")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_a_full_quota_are_no_space(number: int) -> None:
    error = translated(OSError(number, ""), STORE)
    assert isinstance(error, NoSpace)
    assert os.strerror(number) in str(error)


def test_a_store_that_may_not_be_written_names_what_is_there_in_the_way_out(tmp_path: Path) -> None:
    for number in (errno.EACCES, errno.EPERM):
        for missing in ("", "lock.d/owner.json"):
            error = translated(OSError(number, ""), tmp_path / missing)
            assert isinstance(error, StoreUnusable)
            assert f"`ls -ld {tmp_path}`" in error.shown_hint


def test_braces_in_a_path_are_nothing_special() -> None:
    error = translated(OSError(errno.EACCES, ""), Path("/shared/{0}/{path}"))
    assert "/shared/{0}/{path}" in str(error)


def test_an_error_without_a_number_still_says_what_happened() -> None:
    assert "the server went away" in str(translated(OSError("the server went away"), STORE))


def test_a_real_error_keeps_its_cause_and_others_pass_through(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnusable) as caught, store_errors(tmp_path):
        os.listdir(tmp_path / "file")
    assert isinstance(caught.value.__cause__, NotADirectoryError)
    with pytest.raises(ValueError, match="ours"), store_errors(tmp_path):
        raise ValueError("ours")
    with pytest.raises(ScratchflowError) as same, store_errors(tmp_path):
        raise caught.value
    assert same.value is caught.value
