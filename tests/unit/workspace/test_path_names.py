"""Names in a path become what is set where the path is used, and one that is not set is told well."""

from __future__ import annotations

import pytest

from scratchflow.model.errors.config import PathNameUnset
from scratchflow.workspace.path_names import (
    is_of_the_account,
    names_to_find,
    similar_names,
    with_names,
)

SITE = {"USER": "me", "HOME": "/home/me", "PROJECT": "/p/lab", "TMPDIR": "/tmp/job.7", "LANG": "C"}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("$PROJECT/x", "/p/lab/x"),
        ("${PROJECT}x/$USER", "/p/labx/me"),
        ("~/$USER", "/home/me/me"),
        ("/a/~/$LANG", "/a/~/C"),
        ("$TMPDIR", "/tmp/job.7"),
    ],
)
def test_every_name_is_put_in(written: str, meant: str) -> None:
    assert with_names(written, SITE, key="store") == meant


@pytest.mark.parametrize("environment", [SITE, {**SITE, "PROJEKT": ""}])
def test_a_name_that_is_not_set_is_told_with_where_and_what_looks_like_it(
    environment: dict[str, str],
) -> None:
    with pytest.raises(PathNameUnset) as told:
        with_names("$PROJEKT/x", environment, key="store", where="on `login`")
    assert told.value.exit_code == 10
    assert str(told.value) == (
        "`store` is `$PROJEKT/x`, but `$PROJEKT` is not set on `login`;"
        " set there: `$PROJECT` (/p/lab)"
    )


def test_only_directories_are_recommended_and_the_closest_first() -> None:
    site = {"SLURM_TMPDIR_X": "1", "TMPDIR": "/t", "SLURM_TEMPDIR": "/s", "PATH": "/a:/b"}
    assert similar_names("SLURM_TMPDIR", site) == ["SLURM_TEMPDIR", "TMPDIR"]
    assert similar_names("NOTHING", site) == []


def test_which_names_have_to_be_looked_for() -> None:
    assert names_to_find("$HOME/$PROJECT/$DATA/${WORK}", SITE) == {"DATA", "WORK"}
    assert is_of_the_account("~/x/$USER")
    assert not is_of_the_account("/x/$USERS")
