"""The file that shells read, in real shells, and the request that writes it."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path

import msgspec
import pytest

from scratchflow.cluster.slurm.request import login_shell_argv
from scratchflow.model.requests import NOTHING
from scratchflow.node.environment.change import Change, parse_dump
from scratchflow.node.environment.shell import fresh_text, prepare_shell, shell_text
from tests.terminal import Terminal
from tests.unit.conftest import Desk, make_desk
from tests.unit.node.environment.node_home import NodeHome

_CHANGE = Change(
    {
        "LINES_OF": "a\nb'c\"d $HOME `id` \\",
        "RAW": "\udcff",
        "EMPTY": "",
        "odd.name": "x",
        "BASH_FUNC_hello%%": "() {  [[ a == a ]] && echo hello $1\n}",
    },
    ("GONE", "odd.gone"),
)


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh"])
def test_every_shell_takes_over_values_as_they_are(tmp_path: Path, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"there is no {shell} on this machine")
    file = tmp_path / "environment.sh"
    file.write_bytes(shell_text(_CHANGE).encode("utf-8", "surrogateescape"))
    argv = [shell, "-c", f". {file} && exec /usr/bin/env -0"]
    base = {"GONE": "1", "PATH": "/usr/bin:/bin"}
    found = parse_dump(subprocess.run(argv, env=base, capture_output=True, check=True).stdout)
    for name in ("LINES_OF", "RAW", "EMPTY"):
        assert found[name] == _CHANGE.values[name]
    assert "GONE" not in found
    assert "odd.name" not in found
    assert ("BASH_FUNC_hello%%" in found) == (shell == "bash")


def test_a_function_works_in_bash(tmp_path: Path) -> None:
    file = tmp_path / "environment.sh"
    file.write_bytes(shell_text(_CHANGE).encode("utf-8", "surrogateescape"))
    argv = ["bash", "-c", f". {file}; bash -c 'hello you'"]
    assert subprocess.run(argv, capture_output=True, check=True).stdout == b"hello you\n"


def _shell_says(argv: list[str], at_node: NodeHome, asked: str) -> str:
    done = subprocess.run(
        argv, input=f"{asked}\n", env=at_node.base, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_an_interactive_bash_has_the_environment_after_its_startup_files(
    at_node: NodeHome, tmp_path: Path
) -> None:
    desk = make_desk(
        tmp_path / "home", '[profiles.test.environment]\nprologue = "PATH=/mine:$PATH"\n'
    )
    at_node.profile("export FROM_PROFILE=1")
    ready = prepare_shell(desk.context, desk.notify, NOTHING, at_node.base)
    assert stat.S_IMODE(Path(ready.file).stat().st_mode) == 0o600
    argv = login_shell_argv("/bin/bash", str(desk.work), ready.file)
    said = _shell_says(argv, at_node, 'echo "$PATH:$FROM_PROFILE:$PWD"')
    assert said == f"/mine:{at_node.tools}:/usr/bin:/bin:1:{desk.work}\n"


def _prompt(desk: Desk, at_node: NodeHome, shown: str) -> str:
    """What stands before the cursor in a shell in a terminal, as soon as it ends with this."""
    ready = prepare_shell(desk.context, desk.notify, NOTHING, at_node.base)
    argv = login_shell_argv("/bin/bash", str(desk.scratch), ready.file)
    with Terminal(argv, at_node.base) as terminal:
        terminal.wait_for(shown)
        return terminal.cursor_row


def _venv_desk(at_node: NodeHome, place: Path, more: str = "") -> Desk:
    (place / "desk").mkdir(mode=0o700)
    venv = at_node.venv("env")
    return make_desk(place / "desk", f'[profiles.test.environment]\nvenv = "{venv}"\n{more}')


@pytest.mark.parametrize(
    "said", ["", "export VIRTUAL_ENV_PROMPT=env", "export VIRTUAL_ENV_PROMPT="]
)
def test_the_prompt_is_the_user_s_own_with_the_environment_before_it(
    at_node: NodeHome, tmp_path: Path, said: str
) -> None:
    """Newer versions of venv leave the parentheses out of the variable, old ones have none."""
    desk = _venv_desk(at_node, tmp_path)
    with (at_node.scratch / "env/bin/activate").open("a") as script:
        script.write(f"{said}\n")
    at_node.profile("case $- in *i*) PS1='ada@node:\\W> ' ;; esac")
    assert _prompt(desk, at_node, ">") == f"(env) ada@node:{desk.scratch.name}>"


def test_a_prompt_that_names_the_environment_already_names_it_once(
    at_node: NodeHome, tmp_path: Path
) -> None:
    desk = _venv_desk(at_node, tmp_path)
    at_node.profile(f"PS1='mine> '; . {at_node.scratch}/env/bin/activate")
    assert _prompt(desk, at_node, ">") == "(env) mine>"


def test_the_base_of_conda_in_the_prompt_gives_way_to_the_environment(
    at_node: NodeHome, tmp_path: Path
) -> None:
    (tmp_path / "desk").mkdir(mode=0o700)
    lines = "export CONDA_PROMPT_MODIFIER='(torch) '"
    desk = make_desk(tmp_path / "desk", f'[profiles.test.environment]\nprologue = "{lines}"\n')
    at_node.profile("export CONDA_PROMPT_MODIFIER='(base) '; PS1='(base) mine> '")
    assert _prompt(desk, at_node, ">") == "(torch) mine>"


def test_another_shell_has_it_too(at_node: NodeHome, tmp_path: Path) -> None:
    layers = '[profiles.test.environment]\nvariables = { CCACHE_DIR = "$HOME/c" }\n'
    desk = make_desk(tmp_path / "home", layers)
    ready = prepare_shell(desk.context, desk.notify, NOTHING, at_node.base)
    argv = login_shell_argv("/bin/sh", str(desk.work), ready.file)
    assert _shell_says(argv, at_node, 'echo "$CCACHE_DIR"') == f"{at_node.home}/c\n"


def test_a_table_of_one_command_changes_no_other(at_node: NodeHome, tmp_path: Path) -> None:
    """`run` sources a file that it knows from before: `--set` must not write its values there."""
    desk = make_desk(
        tmp_path / "home", '[profiles.test.environment]\nvariables = { Q = "profile" }\n'
    )

    def with_q(value: str) -> Path:
        profile = desk.context.profile
        layers = msgspec.structs.replace(profile.environment, variables={"Q": value})
        changed = msgspec.structs.replace(profile, environment=layers)
        settings = msgspec.structs.replace(desk.context.settings, profile=changed)
        context = msgspec.structs.replace(desk.context, settings=settings)
        return Path(prepare_shell(context, desk.notify, NOTHING, at_node.base).file)

    usual = Path(prepare_shell(desk.context, desk.notify, NOTHING, at_node.base).file)
    once = with_q("secret")
    assert "secret" not in usual.read_text()
    assert "Q=profile" in usual.read_text()
    assert with_q("profile") == usual
    assert "Q=secret" in once.read_text()
    for number in range(8):  # and it does not lie there for ever
        with_q(str(number))
    left = [file for file in usual.parent.iterdir() if "secret" in file.read_text()]
    assert [file for file in left if file.name.startswith(once.name)] == []


def test_without_layers_there_is_no_file_and_a_plain_shell(
    at_node: NodeHome, tmp_path: Path
) -> None:
    desk = make_desk(tmp_path / "home")
    assert prepare_shell(desk.context, desk.notify, NOTHING, at_node.base).file == ""
    assert list(desk.scratch.iterdir()) == [desk.work]
    argv = login_shell_argv("/bin/bash", str(desk.work), "")
    assert (
        _shell_says(argv, at_node, "pwd; shopt login_shell")
        == f"{desk.work}\nlogin_shell    \ton\n"
    )


def test_a_file_that_is_gone_leaves_a_plain_shell(at_node: NodeHome, tmp_path: Path) -> None:
    argv = login_shell_argv("/bin/bash", "", str(tmp_path / "gone"))
    assert _shell_says(argv, at_node, "echo here") == "here\n"


def test_what_it_was_computed_from_is_noted_and_a_change_of_it_is_seen(tmp_path: Path) -> None:
    startup, missing = tmp_path / "it's a profile", tmp_path / "missing"
    startup.write_text("export Q=1")
    check = tmp_path / "fresh"
    check.write_bytes(fresh_text([str(startup), str(missing)]))

    def is_fresh() -> bool:
        return subprocess.run(["sh", "-c", f". {check}"], check=False).returncode == 0

    assert is_fresh()
    startup.write_text("export Q=2")
    assert not is_fresh()
    check.write_bytes(fresh_text([str(startup), str(missing)]))
    assert is_fresh()
    missing.touch()
    assert not is_fresh()
    missing.unlink()
    assert is_fresh()
    startup.unlink()
    assert not is_fresh()


def test_a_startup_file_that_is_a_link_is_watched_where_it_leads(tmp_path: Path) -> None:
    kept, link, check = tmp_path / "dotfiles", tmp_path / ".bash_profile", tmp_path / "fresh"
    kept.write_text("export Q=1")
    link.symlink_to(kept)
    check.write_bytes(fresh_text([str(link)]))
    kept.write_text("export Q=eleven")
    assert subprocess.run(["sh", "-c", f". {check}"], check=False).returncode != 0


@pytest.mark.parametrize("line", ["export HOME=/nonexistent", "unset HOME"])
def test_startup_files_are_watched_although_the_environment_sets_another_home(
    at_node: NodeHome, tmp_path: Path, line: str
) -> None:
    place = tmp_path / "desk"
    place.mkdir(mode=0o700)
    desk = make_desk(place, f'[profiles.test.environment]\nprologue = "{line}"\n')
    context = msgspec.structs.replace(desk.context, job_id=7)

    def ready(value: str) -> tuple[Path, str]:
        at_node.profile(f"export R={value}")
        file = Path(prepare_shell(context, desk.notify, NOTHING, at_node.base).file)
        return file.with_name(f"{file.name}.fresh"), file.read_text()

    fresh, text = ready("one")
    assert "export R=one" in text
    at_node.profile("export R=eleven")
    assert subprocess.run(["sh", "-c", f". {fresh}"], check=False).returncode != 0
    assert "export R=eleven" in ready("eleven")[1]
