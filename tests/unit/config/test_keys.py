"""Keys and values as people type them: taken as they are meant, or refused with a guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.config.edit import ORIGIN
from scratchflow.config.keys import OTHER_WORDS, profile_keys
from scratchflow.model.errors.base import ScratchflowError
from scratchflow.model.errors.config import ConfigBadValue, ConfigUnknownKey
from tests.unit.config.written import apply_edit, load, refused


@pytest.mark.parametrize(
    ("text", "key", "guess"),
    [
        ('[profiles.a]\nworksapce = "x"', "profiles.a.worksapce", "workspace"),
        ("[profiles.a.slurm]\nnodse = 1", "profiles.a.slurm.nodse", "nodes"),
        ('defualt_profile = "a"', "defualt_profile", "default_profile"),
        ("[profiels.a]", "profiels", "profiles"),
        ('[profiles.a.backup]\ninterval = "5m"', "profiles.a.backup.interval", "every"),
        ("[profiles.a.slurm]\ncpus = 4", "profiles.a.slurm.cpus", "cpus_per_task"),
    ],
)
def test_an_unknown_key_gets_a_did_you_mean(file: Path, text: str, key: str, guess: str) -> None:
    error = refused(file, text)
    assert isinstance(error, ConfigUnknownKey)
    assert f'"{key}"' in str(error)
    assert f'did you mean "{guess}"?' in str(error)


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("slurm.time=90", "time", "90"),
        ("slurm.exclusive=true", "exclusive", True),
        ('slurm.extra=["--x", "-y"]', "extra", ["--x", "-y"]),
        ("slurm.extra=--x", "extra", ["--x"]),
        ("slurm.cpus_per_task=3", "cpus_per_task", 3),
        ("slurm.constraint=a=b", "constraint", "a=b"),
    ],
)
def test_set_takes_values_as_people_type_them(
    file: Path, override: str, key: str, value: object
) -> None:
    settings = load(file, "[profiles.a]", overrides=[override])
    assert getattr(settings.profile.slurm, key) == value


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("slurm.gpus", "expected KEY=VALUE"),
        ("slurm.gpsu=1", 'did you mean "slurm.gpus"'),
        ("backup.interval=5m", 'did you mean "backup.every"'),
        ("every=5m", 'did you mean "backup.every"'),
        ("memory=5G", 'did you mean "slurm.mem"'),
        ("slurm.queue=long", 'did you mean "slurm.partition"'),
        ("slurm.gpus=many", "cannot read `many`"),
        ("slurm.gpus=-1", "(--set)"),
        ("slurm.time=soon", "`slurm.time` (--set)"),
        ("login=a\nProxyCommand x", "control characters"),
        ("store=/a\udcff", "not UTF-8"),
        ("slurm.extra=\udcff", "not UTF-8"),
        ("environment.variables.\udcff=x", "not UTF-8"),
        ("\udcff=x", r'"\xff"'),
    ],
)
def test_a_bad_set_says_that_the_flag_is_wrong(file: Path, override: str, complaint: str) -> None:
    assert complaint in str(refused(file, "[profiles.a]", overrides=[override]))


@pytest.mark.parametrize(
    "override",
    [
        f"slurm.nodes={'9' * 5000}",
        f"slurm.extra={'[' * 5000}",
        "backup.full_every=999999999w",
        f"environment.variables.{'x.' * 5000}x=1",
    ],
)
def test_a_set_of_absurd_size_is_a_clear_error(file: Path, override: str) -> None:
    assert len(str(refused(file, "[profiles.a]", overrides=[override]))) < 400
    key, _, value = override.partition("=")
    with pytest.raises(ScratchflowError):
        apply_edit(file, f"profiles.a.{key}", value)


def test_other_words_lead_to_keys_and_hide_none() -> None:
    known = {*profile_keys(), "default_profile"}
    assert set(OTHER_WORDS.values()) <= known
    assert not OTHER_WORDS.keys() & {key.rpartition(".")[2] for key in known}


@pytest.mark.parametrize(
    ("origin", "hint"),
    [
        (ORIGIN, "the file is unchanged; run it again with another value"),
        ("--set", "give `--set` another value"),
        ("/home/me/config.toml", "correct it there; for the file `scratchflow config set` does it"),
    ],
)
def test_the_hint_of_a_bad_value_fits_where_it_was_typed(origin: str, hint: str) -> None:
    assert ConfigBadValue(key="k", origin=origin, problem="p").shown_hint == hint
