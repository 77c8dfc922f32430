"""Which reader a spec needs: files of Python are mrunner's, all others are TOML."""

from __future__ import annotations

from pathlib import Path

from scratchflow.experiments.spec import Spec


def read_spec(path: Path) -> Spec:
    """What the file says. A SpecInvalid or ParameterInvalid says what is wrong with it."""
    if path.suffix == ".py":
        from scratchflow.experiments.mrunner_spec import read_mrunner_spec

        return read_mrunner_spec(path)
    from scratchflow.experiments.toml_spec import read_toml_spec

    return read_toml_spec(path)
