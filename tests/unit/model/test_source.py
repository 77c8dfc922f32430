"""What `create --from` names."""

from __future__ import annotations

import pytest

from scratchflow.model.source import is_git_url, on_laptop, without_password


@pytest.mark.parametrize(
    "text",
    [
        "https://github.com/me/x.git",
        "https://github.com/me/x",
        "ssh://git@host:22/x",
        "git@github.com:me/x.git",
        "git@github.com:me/x",
        "work-alias:me/x.git",
        "file:///fsx/repo",
        "git://host/x",
    ],
)
def test_git_urls(text: str) -> None:
    assert is_git_url(text)


@pytest.mark.parametrize(
    "text",
    [
        "/fsx/me/project",
        "/fsx/a@b:c.git",
        "project",
        "./a@b:c",
        "laptop:x.git",
        "laptop:me@x:y",
        "ext::sh -c x",
        "-u",
        "",
        "C:x",
    ],
)
def test_no_git_urls(text: str) -> None:
    assert not is_git_url(text)


def test_the_laptops_path() -> None:
    assert on_laptop("laptop:~/x y") == "~/x y"
    assert on_laptop("laptop:") == ""
    assert on_laptop("/laptop:x") is None


def test_a_token_in_a_url_is_not_shown() -> None:
    assert without_password("https://me:token@host/x") == "https://host/x"
    assert without_password("https://token@host/x@y") == "https://host/x@y"
    assert without_password("ssh://git@host/x") == "ssh://git@host/x"
    assert without_password("git@host:x") == "git@host:x"
