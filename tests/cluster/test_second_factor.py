"""A login host that takes a key and a one-time code, as many sites have it: the code is asked for once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.laptop import SETUP, SHORT, Laptop
from tests.cluster.minicluster import Minicluster
from tests.terminal import ENTER, Terminal

QUESTION = "One-time password"


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Minicluster]:
    settings = {"MC_NODES": "1", "MC_SECOND_FACTOR": "1"}
    cluster = Minicluster(tmp_path / "cluster", settings)
    try:
        cluster.run("up")
        yield cluster
    finally:
        cluster.run("down", "--purge")


class Person(Laptop):
    """A laptop in front of which somebody sits, with the device that shows the codes."""

    def __init__(self, home: Path, cluster: Minicluster) -> None:
        home.mkdir()
        super().__init__(home, cluster)
        self.runtime = Path(tempfile.mkdtemp(prefix="sf-"))  # sockets need a short path

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "XDG_RUNTIME_DIR": str(self.runtime)}

    def types(self, *arguments: str, code: str = "") -> str:
        """What is on the screen when the command has ended well; a code is typed when it is given."""
        with Terminal(self.argv(*arguments), self.environment) as terminal:
            if code:
                terminal.wait_for_question(QUESTION)
                terminal.press(code + ENTER)
            assert terminal.end() == 0, terminal.text
            return terminal.text

    def next_code(self) -> str:
        return self.cluster.run("code").stdout.strip()


@pytest.fixture
def person(cluster: Minicluster, tmp_path: Path) -> Iterator[Person]:
    person = Person(tmp_path / "home", cluster)
    yield person
    person.run("setup", "--remove", "--all", "--yes")  # ends the connection that is kept for later
    shutil.rmtree(person.runtime, ignore_errors=True)


def test_one_code_is_enough_for_everything_the_alias_included(person: Person) -> None:
    refused = person.outcome(*SETUP, "--yes")
    assert refused["code"].startswith("auth."), refused  # nobody is there to ask
    person.types(*SETUP, "--yes", code=person.next_code())
    assert QUESTION not in person.types("up", *SHORT)
    # As any program of the user's would run it, which cannot ask anybody.
    there = person.ssh("hostname")
    assert (there.returncode, there.stdout) == (0, "node-1\n"), there.stderr
    assert QUESTION not in person.types("run", "--", "true")
    assert person.data("backup")["snapshot"]
    assert person.data("clear")["released"]
