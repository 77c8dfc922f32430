"""Hostile values in every key of the profile and every flag of every verb, through the real program.

SCRATCHFLOW_THOROUGH=1 tries every kind of hostility on its own, which takes minutes. With `--brief`, each key and flag
has one of two values.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from scratchflow.cli.verbs import VERBS, app
from scratchflow.config.keys import profile_keys
from tests.hostile.config.laptop import Laptop

THOROUGH = bool(os.environ.get("SCRATCHFLOW_THOROUGH"))
KINDS = {
    "everything": "-x'\"; touch {canary}; $(touch {canary}) `touch {canary}` #;",
    "lines": "x\nProxyCommand touch {canary}\ntouch {canary}",
    "command": "x; touch {canary}",
    "substitution": "$(touch {canary})",
    "option": "-oProxyCommand=touch {canary}",
    "long option": "--wrap=touch {canary}",
    "parent": "../../canary",
    "markup": "[bold]{{0}}%n$HOME",
}
HOSTILE = KINDS if THOROUGH else {kind: KINDS[kind] for kind in ("everything", "lines")}
# Whatever is wrong with a value, these say so: usage, configuration, ssh configuration, Slurm's no.
REFUSED = {2, 10, 11, 22}


@pytest.fixture(scope="module")
def laptop() -> Iterator[Laptop]:
    # A short path: a tmux socket lies in it.
    directory = Path(tempfile.mkdtemp(prefix="hostile-"))
    made = Laptop(directory)
    setup = made.run("setup", "far", "--name", "p", "--store", "~/store", "--yes")
    assert setup.returncode == 0, setup
    yield made
    made.close()
    shutil.rmtree(directory)


@pytest.fixture
def hostile(request: pytest.FixtureRequest, laptop: Laptop) -> list[str]:
    """What this test tries; each key and flag has the same in every run."""
    values = [value.format(canary=laptop.directory / "canary") for value in HOSTILE.values()]
    if request.config.getoption("--brief"):
        return [values[zlib.crc32(request.node.name.encode()) % len(values)]]
    return values


def require_harmless(laptop: Laptop, *arguments: str) -> int:
    """Runs it; nothing of the value may have been run, and no bug may have come to light."""
    done = laptop.run(*arguments, "--json")
    last: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert last["exit_code"] == done.returncode, done
    assert done.returncode not in {1, 127}, done
    assert "Traceback" not in done.stderr, done
    assert laptop.marks() == [], done
    return done.returncode


# Of a file, or of records that are not there.
_NEEDS_NO_CLUSTER = ("config", "jobs list", "cancel")


@pytest.mark.parametrize("key", profile_keys())
def test_no_value_of_a_key_is_ever_run(laptop: Laptop, hostile: list[str], key: str) -> None:
    for text in hostile:
        asked = ["--set", f"{key}={text}", "allocate", "--wait", "1s"]
        assert require_harmless(laptop, *asked) in REFUSED


def test_no_module_is_run_when_the_agent_is_brought_to_the_cluster(laptop: Laptop) -> None:
    for value in HOSTILE.values():
        shutil.rmtree(laptop.far / ".local", ignore_errors=True)
        text = value.format(canary=laptop.directory / "canary")
        require_harmless(laptop, "--set", f"environment.modules={text}", "nodes")


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_name_in_the_file_is_refused(laptop: Laptop, kind: str) -> None:
    name = json.dumps(HOSTILE[kind].format(canary=laptop.directory / "canary"))
    file = laptop.directory / "other.toml"
    for text in (
        f"[profiles.{name}]\n",
        f"default_profile = {name}\n[profiles.p]\n",
        f"[profiles.p.environment.variables]\n{name} = 'x'\n",
        f"[profiles.p]\n{name} = 'x'\n",
    ):
        file.write_text(text)
        assert require_harmless(laptop, "--config", str(file), "status") == 10


def options() -> Iterator[tuple[str, str]]:
    """Each verb with each option that takes a value; an empty name is its bare words."""
    for verb in VERBS:
        yield from _options_of(verb, typer.main.get_command(app).get_command(None, verb))  # type: ignore[attr-defined]


def _options_of(words: str, command: Any) -> Iterator[tuple[str, str]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield from _options_of(f"{words} {name}", inner)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield words, ""
        elif not parameter.is_flag and not parameter.name.endswith("_completion"):
            yield words, parameter.opts[0]


@pytest.mark.parametrize(("verb", "option"), list(dict.fromkeys(options())))
def test_no_value_of_a_flag_is_ever_run(
    laptop: Laptop, hostile: list[str], verb: str, option: str
) -> None:
    before = (laptop.home / ".config/scratchflow/config.toml").read_bytes()
    for text in hostile:
        given = [option, text] if option else [text]
        code = require_harmless(laptop, *verb.split(), *given)
        assert code or verb.startswith(_NEEDS_NO_CLUSTER), (verb, option, text)
    (laptop.home / ".config/scratchflow/config.toml").write_bytes(before)


@pytest.mark.parametrize("option", ["--profile", "--config", "--set"])
def test_no_value_of_a_global_flag_is_ever_run(laptop: Laptop, option: str) -> None:
    for value in HOSTILE.values():
        text = value.format(canary=laptop.directory / "canary")
        assert require_harmless(laptop, "status", option, text) in {2, 10}
