"""Names in `store` become a path on the login host, before a node is asked for anything."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from scratchflow.config.settings import Settings, given_settings
from scratchflow.dispatch.located import with_store_found
from scratchflow.model.errors.config import ConfigBadValue, PathNameUnset
from scratchflow.process.child import Completed


def _settings(store: str) -> Settings:
    return given_settings("aws", {"store": store}, "a test")


def _login_shell(argv: Sequence[str], timeout_s: float) -> Completed:
    assert argv[-2] == "-c"
    assert timeout_s > 0
    return Completed(0, b"motd\n\nscratchflow-environment\nPROJECT=/p/lab\n", b"")


def _nobody(argv: Sequence[str], timeout_s: float) -> Completed:
    raise AssertionError(f"{argv} is not needed, for {timeout_s} s")


@pytest.mark.parametrize("store", ["/fsx/store", "~/store", "/fsx/$USER/${HOME}"])
def test_a_path_that_means_the_same_everywhere_stays_as_it_is(store: str) -> None:
    settings = _settings(store)
    assert with_store_found(settings, {}, _nobody) is settings


def test_a_name_of_this_environment_is_put_in() -> None:
    found = with_store_found(_settings("$PROJECT/$USER"), {"PROJECT": "/q", "USER": "me"}, _nobody)
    assert found.profile.store == "/q/me"


def test_a_name_that_only_the_login_shell_knows_is_asked_there() -> None:
    found = with_store_found(_settings("${PROJECT}/x"), {}, _login_shell)
    assert found.profile.store == "/p/lab/x"


def test_a_name_that_nobody_knows_is_an_error_of_the_configuration() -> None:
    with pytest.raises(PathNameUnset, match=r"`store` is `\$WORK/x`, but `\$WORK` is not set on"):
        with_store_found(_settings("$WORK/x"), {}, _login_shell)


@pytest.mark.parametrize("value", ["/home/a/q$HOME", "/home/a/two\nlines"])
def test_a_value_that_would_mean_another_directory_is_refused(value: str) -> None:
    with pytest.raises(ConfigBadValue, match="cannot be in a path"):
        with_store_found(_settings("$PROJECT/x"), {"PROJECT": value}, _nobody)


def test_a_value_with_a_newline_is_not_cut_there() -> None:
    said = b"motd\n\nscratchflow-environment\nA=1\0PROJECT=/p\nlab\0"
    with pytest.raises(ConfigBadValue, match="cannot be in a path"):
        with_store_found(_settings("$PROJECT/x"), {}, lambda *_: Completed(0, said, b""))
