"""What `create --packages` and `--requirements` make of words and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from scratchflow.cli.packages import Requirements, package_words, read_requirements
from scratchflow.model.errors.base import UsageInvalid
from scratchflow.model.errors.transfer import RequirementsUnread


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["numpy", "numpy >=2,<3"], ("numpy", "numpy >=2,<3")),
        (["-c pytorch -c nvidia", "pytorch"], ("-c", "pytorch", "-c", "nvidia", "pytorch")),
        (["torch --index-url 'https://x/a b'"], ("torch", "--index-url", "https://x/a b")),
        (["$(touch x)", "a;b"], ("$(touch x)", "a;b")),
        (["scikit-learn"], ("scikit-learn",)),
    ],
)
def test_a_package_is_one_word_and_options_are_split(
    values: list[str], words: tuple[str, ...]
) -> None:
    assert package_words(values, "create") == words


@pytest.mark.parametrize(
    "value", ["-p /elsewhere x", "--prefix=/x y", "torch --target /x", "-c 'open", "a\nb", ""]
)
def test_what_would_install_elsewhere_or_is_no_package_is_refused(value: str) -> None:
    with pytest.raises(UsageInvalid):
        package_words([value], "create")


def _read(path: Path, env: str, python: str = "") -> Requirements:
    return read_requirements(str(path), env, python, "create")


def test_the_name_of_a_file_says_what_it_is(tmp_path: Path) -> None:
    for name in ("requirements.txt", "environment.yml", "pyproject.toml"):
        (tmp_path / name).write_text(f"# {name}\n")
    listed = _read(tmp_path / "requirements.txt", "conda")
    assert listed == Requirements("# requirements.txt\n", "list")
    described = _read(tmp_path / "environment.yml", "conda")
    assert described == Requirements("# environment.yml\n", "conda")
    project = _read(tmp_path / "pyproject.toml", "venv", "3.11")
    assert project == Requirements("# pyproject.toml\n", "project")
    (tmp_path / "uv.lock").write_text("version = 1\n")
    for name in ("pyproject.toml", "uv.lock"):
        locked = _read(tmp_path / name, "venv")
        assert locked == Requirements("# pyproject.toml\n", "project", "version = 1\n")


def test_a_file_for_the_other_kind_of_environment_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageInvalid, match="needs `--env conda`"):
        _read(tmp_path / "environment.yaml", "venv")
    with pytest.raises(UsageInvalid, match="needs `--env venv`"):
        _read(tmp_path / "uv.lock", "conda")
    with pytest.raises(UsageInvalid, match="leave `--python` out"):
        _read(tmp_path / "environment.yml", "conda", "3.11")


def test_a_file_that_cannot_travel_is_told(tmp_path: Path) -> None:
    with pytest.raises(RequirementsUnread, match="No such file"):
        _read(tmp_path / "nothing.txt", "venv")
    with pytest.raises(RequirementsUnread, match=r"uv.lock.*No such file"):
        _read(tmp_path / "uv.lock", "venv")
    (tmp_path / "uv.lock").write_text("version = 1\n")
    with pytest.raises(RequirementsUnread, match=r"pyproject.toml.*No such file"):
        _read(tmp_path / "uv.lock", "venv")
    (tmp_path / "large.txt").write_bytes(b"x" * 300_000)
    with pytest.raises(RequirementsUnread, match="too large"):
        _read(tmp_path / "large.txt", "venv")
    (tmp_path / "binary.txt").write_bytes(b"\xff")
    with pytest.raises(RequirementsUnread, match="not text"):
        _read(tmp_path / "binary.txt", "venv")
