"""`config import` adds profiles beside those that are there, and asks before it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scratchflow.config.settings import Asked, load_settings
from scratchflow.flows.setup.import_mrunner import import_mrunner
from scratchflow.model.errors.base import Declined
from scratchflow.model.errors.config import ImportUnreadable
from scratchflow.model.profile import Profile
from scratchflow.model.results.config import ConfigImported
from tests.unit.flows.setup.answers import NOBODY, Answers

ENVIRONMENT = {"HOME": "/h", "USER": "u"}
TWO = """
contexts:
  cpu: {backend_type: slurm, slurm_url: me@host, storage_dir: /fsx, partition: cpu}
  the gpu: {backend_type: slurm, slurm_url: me@host, storage_dir: /fsx, gpu: 1}
  kube: {backend_type: kubernetes, storage_dir: /tmp}
current_context: the gpu
"""


class Desk:
    """A file of mrunner's and one of ours."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "config.toml"
        self.source = directory / "config.yaml"
        self.source.write_text(TWO)
        self.shown: list[ConfigImported] = []

    def run(self, asker: Any = None, *, dry_run: bool = False) -> ConfigImported:
        agrees = Answers(agrees=True, can_ask=False)
        return import_mrunner(
            Asked(config=str(self.file)),
            ENVIRONMENT,
            self.source,
            asker or agrees,
            self._show,
            dry_run=dry_run,
        )

    def _show(self, result: ConfigImported) -> list[str]:
        self.shown.append(result)
        return ["shown"]

    def profile(self, name: str | None = None) -> Profile:
        return load_settings(Asked(config=str(self.file), profile=name), ENVIRONMENT).profile


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "config.toml").write_text("# mine\n")
    return Desk(tmp_path)


def profiles(done: ConfigImported) -> list[tuple[str | None, str]]:
    return [(one.profile, one.state) for one in done.contexts]


def test_contexts_become_profiles_that_share_no_directory(desk: Desk) -> None:
    done = desk.run()
    assert profiles(done) == [("cpu", "new"), ("the-gpu", "new"), (None, "not_ours")]
    cpu, gpu = desk.profile("cpu"), desk.profile("the-gpu")
    assert (cpu.login, cpu.store, cpu.slurm.partition) == ("me@host", "/fsx/scratchflow", "cpu")
    assert (gpu.slurm.gpus, gpu.alias, gpu.workspace) == (
        1,
        "compile_machine_the-gpu",
        "work_the-gpu",
    )
    assert cpu.workspace == "work"
    assert done.contexts[1].own == {"alias": gpu.alias, "workspace": gpu.workspace}
    assert desk.file.read_text().startswith("# mine\n")


def test_the_context_in_use_becomes_the_default(desk: Desk) -> None:
    [key] = desk.run().keys
    assert (key.key, key.taken, key.settings) == (
        "current_context",
        True,
        {"default_profile": "the-gpu"},
    )
    assert desk.profile().slurm.gpus == 1


def test_a_default_that_is_there_stays(desk: Desk) -> None:
    desk.file.write_text('default_profile = "b"\n[profiles.a]\n[profiles.b]\nlogin = "b"\n')
    [key] = desk.run().keys
    assert (key.taken, key.reason) == (False, "the default stays `b`")
    assert desk.profile().login == "b"


def test_a_profile_that_was_alone_stays_the_one_that_commands_use(desk: Desk) -> None:
    desk.file.write_text('[profiles.uni]\nlogin = "uni"\n')
    desk.run()
    assert desk.profile().login == "uni"


def test_without_a_context_in_use_the_first_one_is_the_default(desk: Desk) -> None:
    desk.source.write_text(TWO.replace("current_context", "x"))
    desk.run()
    assert desk.profile().slurm.partition == "cpu"


def test_a_context_in_use_that_is_not_ours_is_told_and_breaks_nothing(desk: Desk) -> None:
    desk.source.write_text(TWO.replace("current_context: the gpu", "current_context: kube"))
    [key] = desk.run().keys
    assert (key.taken, key.reason) == (False, "the context `kube` became no profile")
    assert desk.profile().slurm.partition == "cpu"


def test_run_again_it_adds_nothing(desk: Desk) -> None:
    desk.run()
    before = desk.file.read_text()
    done = desk.run(NOBODY)
    assert profiles(done)[:2] == [("cpu", "there_already"), ("the-gpu", "there_already")]
    assert (done.changed, desk.file.read_text()) == (False, before)


def test_a_name_that_is_taken_gets_a_number_and_the_other_profile_stays(desk: Desk) -> None:
    desk.file.write_text('[profiles.cpu]\nlogin = "else"\n')
    assert profiles(desk.run())[0] == ("cpu-2", "new")
    assert desk.profile("cpu").login == "else"
    assert profiles(desk.run())[0] == ("cpu-2", "there_already")


def test_names_that_become_equal_stay_apart(desk: Desk) -> None:
    rows = [
        f"  {name}: {{slurm_url: h, partition: p{n}}}"
        for n, name in enumerate(["a b", "a:b", "local", "'--'"])
    ]
    desk.source.write_text("\n".join(["contexts:", *rows]))
    assert [name for name, _ in profiles(desk.run())] == ["a-b", "a-b-2", "local-2", "imported"]


def test_it_shows_and_asks_once_and_a_no_changes_nothing(desk: Desk) -> None:
    asker = Answers(False)
    with pytest.raises(Declined):
        desk.run(asker)
    assert asker.said == ["shown", "Add this?"]
    assert "+[profiles.cpu]" in desk.shown[0].diff
    assert desk.file.read_text() == "# mine\n"
    assert desk.run(Answers(True)).changed
    assert desk.profile("cpu").login == "me@host"


def test_without_anybody_to_ask_nothing_is_written(desk: Desk) -> None:
    with pytest.raises(Declined):
        desk.run(NOBODY)
    assert desk.file.read_text() == "# mine\n"


def test_a_dry_run_tells_all_and_writes_nothing(desk: Desk) -> None:
    done = desk.run(NOBODY, dry_run=True)
    assert (done.changed, done.dry_run) == (True, True)
    assert "+[profiles.the-gpu.slurm]" in done.diff
    assert desk.file.read_text() == "# mine\n"


def test_a_file_that_cannot_be_read_is_told(desk: Desk) -> None:
    desk.source.write_bytes(b"\xff")
    with pytest.raises(ImportUnreadable, match="not UTF-8"):
        desk.run()
    desk.source.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(ImportUnreadable, match="larger than 1 MiB"):
        desk.run()
    desk.source.unlink()
    with pytest.raises(ImportUnreadable, match="No such file"):
        desk.run()
    desk.source.mkdir()
    with pytest.raises(ImportUnreadable, match="Is a directory"):
        desk.run()
