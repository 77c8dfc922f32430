"""What git tracks, and clones that say in git's own words why they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from scratchflow.process.git import GitFailed, clone, require_repository, state_of, tracked_files


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """No configuration of whoever runs the tests."""
    name = {"GIT_AUTHOR_NAME": "a", "GIT_COMMITTER_NAME": "a"}
    mail = {"GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_EMAIL": "a@b"}
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **name, **mail}


@pytest.fixture
def repository(tmp_path: Path, environment: dict[str, str]) -> Path:
    directory = tmp_path / "repository"
    directory.mkdir()
    (directory / "sub").mkdir()
    (directory / "sub" / os.fsdecode(b"odd \xff\n")).write_text("x")
    (directory / "file").write_text("y")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run(["git", *words], cwd=directory, env=environment, check=True)
    (directory / "untracked").touch()
    return directory


def test_tracked_files_are_those_of_the_index(
    repository: Path, environment: dict[str, str]
) -> None:
    assert sorted(tracked_files(repository, environment)) == [b"file", b"sub/odd \xff\n"]
    assert tracked_files(repository / "sub", environment) == [b"odd \xff\n"]
    in_a_hook = {**environment, "GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere/index"}
    assert len(tracked_files(repository, in_a_hook)) == 2


def test_the_state_tells_changes_from_files_that_are_not_tracked(
    repository: Path, environment: dict[str, str]
) -> None:
    def found() -> tuple[bool | None, bool | None]:
        state = state_of(repository, environment)
        assert state is not None
        return state.dirty, state.untracked

    assert found() == (False, True)
    (repository / ".git/info/exclude").write_text("untracked\n")
    assert found() == (False, False)
    (repository / "file").write_text("changed")
    assert found() == (True, False)


def test_no_repository_is_told_in_gits_words(tmp_path: Path, environment: dict[str, str]) -> None:
    with pytest.raises(GitFailed, match="not a git repository"):
        tracked_files(tmp_path, environment)


def test_a_clone_is_whole_and_its_steps_are_told(
    repository: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    steps: list[tuple[str, int, int]] = []
    clone(f"file://{repository}", tmp_path / "out", environment, lambda *step: steps.append(step))
    assert (tmp_path / "out/file").read_text() == "y"
    assert ("Receiving objects", 5, 5) in steps


def test_a_clone_that_fails_says_why(tmp_path: Path, environment: dict[str, str]) -> None:
    with pytest.raises(GitFailed, match=r"does not appear to be a git repository|does not exist"):
        clone(f"file://{tmp_path}/none", tmp_path / "out", environment, lambda *_: None)
    assert not (tmp_path / "out").exists()
    with pytest.raises(GitFailed, match="fatal: "):
        require_repository(f"file://{tmp_path}/none", environment)


def test_a_url_runs_no_command_and_is_no_option(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    canary = tmp_path / "canary"
    for url in (f"ext::touch {canary}", f"--upload-pack=touch {canary}"):
        with pytest.raises(GitFailed):
            clone(url, tmp_path / "out", environment, lambda *_: None)
    assert not canary.exists()


def test_without_git_that_is_what_is_said(tmp_path: Path) -> None:
    with pytest.raises(GitFailed, match="there is no `git`"):
        clone("file:///x", tmp_path / "out", {"PATH": str(tmp_path)}, lambda *_: None)


class _Guarded(SimpleHTTPRequestHandler):
    """Files for whoever knows the password."""

    def do_GET(self) -> None:
        wanted = b64encode(b"me:p@ss:%41").decode()
        if self.headers.get("Authorization") != f"Basic {wanted}":
            self.send_response(HTTPStatus.UNAUTHORIZED)
            self.send_header("WWW-Authenticate", 'Basic realm="r"')
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal."""


@pytest.fixture
def guarded(repository: Path, environment: dict[str, str]) -> Iterator[str]:
    """The repository behind a password; the address without it."""
    bare = repository.parent / "www/bare.git"
    for words in (
        ["clone", "-q", "--bare", ".", str(bare)],
        ["-C", str(bare), "update-server-info"],
    ):
        subprocess.run(["git", *words], cwd=repository, env=environment, check=True)
    handler = partial(_Guarded, directory=str(bare.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}/bare.git"
        server.shutdown()


@pytest.mark.slow
def test_a_password_is_on_no_command_line_and_in_no_clone(
    guarded: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    programs, seen = tmp_path / "bin", tmp_path / "seen"
    programs.mkdir()
    (programs / "git").write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >>{seen}\nexec {shutil.which("git")} "$@"\n'
    )
    (programs / "git").chmod(0o755)
    watched = {**environment, "PATH": f"{programs}:{environment['PATH']}"}
    url = f"http://me:p@ss:%2541@{guarded}"
    require_repository(url, watched)
    clone(url, tmp_path / "out", watched, lambda *_: None)
    assert (tmp_path / "out/file").read_text() == "y"
    assert "p@ss" not in seen.read_text()
    assert f"url = http://{guarded}\n" in (tmp_path / "out/.git/config").read_text()
    with pytest.raises(GitFailed):
        clone(f"http://me:wrong@{guarded}", tmp_path / "no", watched, lambda *_: None)
