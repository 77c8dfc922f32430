"""The configuration: what loads, what is refused and how, and which value wins."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scratchflow.cli.config import _shown
from scratchflow.config.edit import Edit, apply_edits, full_key, plan_edits
from scratchflow.config.file import write_text
from scratchflow.config.keys import profile_keys
from scratchflow.config.settings import Asked, Settings, load_settings
from scratchflow.flows import config as flow
from scratchflow.model.errors import (
    ConfigBadValue,
    ConfigMissing,
    ConfigNoProfile,
    ConfigProfileNeeded,
    ConfigSyntax,
    ConfigUnknownKey,
    ConfigUnreadable,
    ConfigUnwritable,
    ScratchflowError,
)
from scratchflow.model.units import Duration

CONTRACT_EXAMPLE = """
default_profile = "aws"

[profiles.aws]
login = "aws-login"             # an ssh host
scheduler = "slurm"
alias = "compile_machine"
ssh_config = "~/.ssh/config"
scratch = "/scratch/$USER"
workspace = "work"
store = "/fsx/users/$USER/scratchflow"
transport = "auto"
hold = "detached"
tmux_session = "scratchflow"
wait = "10m"

[profiles.aws.slurm]
partition = "dev"
account = ""
time = "8:00:00"
nodes = 1
ntasks = 1
cpus_per_task = 8
mem = "32G"
gpus = 2
gres = ""
qos = ""
constraint = ""
nodelist = ""
exclude = ""
exclusive = false
extra = ["--oversubscribe"]

[profiles.aws.environment]
modules = ["python/3.11"]
after_modules = ""
conda = ""
venv = ""
variables = { CCACHE_DIR = "/tmp/ccache" }

[profiles.aws.backup]
every = "30m"
final_before = "10m"
also = ["env"]
exclude = ["*.o"]
level = 0
full_every = "7d"
keep_last = 10
keep_hourly = 24
keep_daily = 7
keep_weekly = 4
keep_named = "forever"
keep_unmerged = "30d"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def apply_edit(file: Path, key: str, value: str) -> Edit:
    return apply_edits(file, {key: value})


def load(file: Path, text: str | None = None, **more: Any) -> Settings:
    if text is not None:
        file.write_text(text)
    return load_settings(Asked(config=str(file), **more), {})


def refused(file: Path, text: str, **more: Any) -> ScratchflowError:
    with pytest.raises(ScratchflowError) as caught:
        load(file, text, **more)
    assert caught.value.exit_code == 10
    return caught.value


def test_the_contracts_example_loads_and_leaves_cluster_paths_alone(file: Path) -> None:
    settings = load(file, CONTRACT_EXAMPLE)
    assert settings.name == "aws"
    assert settings.profile.scratch == "/scratch/$USER"
    assert settings.profile.backup.every == Duration(1800)
    assert settings.profile.slurm.extra == ["--oversubscribe"]
    assert settings.profile.environment.variables == {"CCACHE_DIR": "/tmp/ccache"}


def test_the_contracts_example_names_every_key(file: Path) -> None:
    load(file, CONTRACT_EXAMPLE)
    missing = [
        key for key in profile_keys() if f"{key.rpartition('.')[2]} = " not in CONTRACT_EXAMPLE
    ]
    assert missing == []


def test_without_a_file_the_built_in_profile_works_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    settings = load_settings(Asked(), {})
    assert not settings.exists
    assert settings.path == tmp_path / "config" / "scratchflow" / "config.toml"
    assert settings.name == "local"
    assert settings.profile.scheduler == "none"
    assert settings.profile.login == "local"
    assert settings.profile.scratch == str(tmp_path / "data" / "scratchflow" / "scratch")
    assert settings.profile.store == str(tmp_path / "data" / "scratchflow" / "store")


@pytest.mark.parametrize(
    ("text", "key", "guess"),
    [
        ('[profiles.a]\nworksapce = "x"', "profiles.a.worksapce", "workspace"),
        ("[profiles.a.slurm]\nnodse = 1", "profiles.a.slurm.nodse", "nodes"),
        ('defualt_profile = "a"', "defualt_profile", "default_profile"),
        ("[profiels.a]", "profiels", "profiles"),
    ],
)
def test_an_unknown_key_gets_a_did_you_mean(file: Path, text: str, key: str, guess: str) -> None:
    error = refused(file, text)
    assert isinstance(error, ConfigUnknownKey)
    assert f'"{key}"' in str(error)
    assert f'did you mean "{guess}"?' in str(error)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("a = \n", 1, 5), ('[profiles.a]\nlogin = "x\n', 2, 11), ("\n\n  ?", 3, 3), ("a = [1,", 1, 8)],
)
def test_bad_toml_names_line_and_column(file: Path, text: str, line: int, column: int) -> None:
    error = refused(file, text)
    assert isinstance(error, ConfigSyntax)
    assert f"line {line}, column {column}:" in str(error)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[profiles.a.slurm]\nnodes = 'two'", "`profiles.a.slurm.nodes`"),
        ("[profiles.a.slurm]\nnodes = 0", "`profiles.a.slurm.nodes`"),
        ("[profiles.a.slurm]\ntime = 'soon'", "`profiles.a.slurm.time`"),
        ("[profiles.a.slurm]\nmem = 'lots'", "`profiles.a.slurm.mem`"),
        ("[profiles.a.backup]\nevery = 30", "in quotes"),
        ("[profiles.a.backup]\nevery = 'often'", "a duration like"),
        ("[profiles.a.backup]\nevery = '0s'", "at least 1s"),
        ("[profiles.a.backup]\nlevel = 99", "`profiles.a.backup.level`"),
        ("[profiles.a.backup]\nalso = ['../b']", "without `..`"),
        ("[profiles.a]\nworkspace = '/abs'", "relative path"),
        ("[profiles.a]\nworkspace = ''", "relative path"),
        ("[profiles.a]\nlogin = '-oProxyCommand=x'", "ssh host name"),
        ("[profiles.a]\nalias = 'two words'", "`profiles.a.alias`"),
        ("[profiles.a]\nscheduler = 'pbs'", "`profiles.a.scheduler`"),
        ("[profiles.a]\nstore = 'relative'", "absolute path"),
        ("[profiles.a]\nstore = '$USER/store'", "absolute path"),
        ("[profiles.a]\nstore = '$OTHER/store'", "absolute path"),
        ("[profiles.a]\nstore = '$HOMES/store'", "absolute path"),
        ("[profiles.a]\nstore = '~somebody/store'", "absolute path"),
        ("[profiles.a]\nscratch = ''", "absolute path"),
        ("[profiles.a]\nscratch = '/scratch/$OTHER'", "the only variables"),
        ("[profiles.a]\nscratch = '/scratch/$USERS'", "the only variables"),
        ("[profiles.a]\nscratch = '/scratch/${OTHER}'", "the only variables"),
        ("[profiles.a]\nscratch = '/scratch/$(id)'", "the only variables"),
        ('[profiles.a]\nlogin = "a\\nProxyCommand x"', "control characters"),
        ('[profiles.a]\nscratch = "/a\\u007f"', "control characters"),
        ('[profiles."../x"]\n', "a profile's name"),
        ("profiles = 3", "expected a table"),
        ("[profiles]\na = 3", "expected a table"),
        ("[profiles.a.environment]\nvariables = {'a b' = 'x'}", "not a variable name"),
        ("[profiles.a]\nslurm = 'x'", "`profiles.a.slurm`"),
    ],
)
def test_a_bad_value_is_refused_by_name(file: Path, text: str, complaint: str) -> None:
    error = refused(file, text)
    assert isinstance(error, ConfigBadValue)
    assert complaint in str(error)


@pytest.mark.parametrize(
    "path", ["/s", "~", "~/s", "$HOME", "$HOME/s", "${HOME}/s", "/s/$USER/x", "/s/${USER}_x"]
)
def test_a_path_of_the_cluster_may_name_its_user_and_home(file: Path, path: str) -> None:
    assert load(file, f"[profiles.a]\nstore = '{path}'").profile.store == path


def test_a_directory_in_the_files_place_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigUnreadable, match="is a directory"):
        load(tmp_path)


@pytest.mark.parametrize("content", [b"\x00\x01", b"a = '\xff'", b"\x7fELF\x00"])
def test_a_binary_file_is_a_clear_error(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigUnreadable, match=r"binary file|not UTF-8"):
        load(file)


def test_an_endless_file_is_a_clear_error(file: Path) -> None:
    file.write_bytes(b"#" * (1 << 20) + b"#")
    with pytest.raises(ConfigUnreadable, match="larger than 1 MiB"):
        load(file)


def test_a_device_or_a_socket_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigUnreadable, match="it is a device"):
        load(Path("/dev/zero"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        with pytest.raises(ConfigUnreadable, match="it is a socket"):
            load(tmp_path / "socket")


def test_dev_null_is_an_empty_configuration() -> None:
    assert load(Path("/dev/null")).name == "local"


def test_a_pipe_may_carry_the_configuration() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"[profiles.a]")
    os.close(writing)
    assert load(Path(f"/dev/fd/{reading}")).name == "a"
    os.close(reading)


@pytest.mark.parametrize("kind", ["fifo", "directory", "socket"])
def test_set_replaces_nothing_but_a_regular_file(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "target"
    with socket.socket(socket.AF_UNIX) as server:
        if kind == "fifo":
            os.mkfifo(target)
        elif kind == "directory":
            target.mkdir()
        else:
            server.bind(str(target))
        before = target.stat()
        with pytest.raises(ConfigUnwritable, match="not a regular file"):
            apply_edit(target, "profiles.a.login", "x")
        with pytest.raises(ConfigUnwritable, match="not a regular file"):
            write_text(target, "")
    assert (target.stat().st_mode, target.stat().st_ino) == (before.st_mode, before.st_ino)


def test_an_unreadable_file_is_a_clear_error(file: Path) -> None:
    file.write_text("")
    file.chmod(0)
    with as_somebody_else(), pytest.raises(ConfigUnreadable, match="permission denied"):
        load(file)


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Root may read everything, so root steps down; anybody else is somebody else already."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(me)


def test_a_missing_file_that_was_asked_for_is_an_error(file: Path) -> None:
    with pytest.raises(ConfigMissing):
        load(file)


def test_a_byte_order_mark_and_dos_line_ends_are_read(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbf[profiles.a]\r\nlogin = "x"\r\n')
    assert load(file).profile.login == "x"


def test_flag_beats_environment_beats_file(file: Path) -> None:
    file.write_text('default_profile = "a"\n[profiles.a]\n[profiles.b]\n[profiles.c]\n')
    asked = Asked(config=str(file))
    assert load_settings(asked, {}).name == "a"
    assert load_settings(asked, {"SCRATCHFLOW_PROFILE": "b"}).name == "b"
    flag = Asked(config=str(file), profile="c")
    assert load_settings(flag, {"SCRATCHFLOW_PROFILE": "b"}).name == "c"
    assert load_settings(Asked(), {"SCRATCHFLOW_CONFIG": str(file)}).name == "a"


def test_each_value_knows_its_origin(file: Path) -> None:
    settings = load(
        file, "[profiles.a.slurm]\npartition = 'dev'\ngpus = 1", overrides=["slurm.gpus=4"]
    )
    assert settings.profile.slurm.gpus == 4
    assert settings.origins["slurm.gpus"] == "--set"
    assert settings.origins["slurm.partition"] == str(file)
    assert settings.origins["slurm.nodes"] == "default"


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


def test_a_mistyped_profile_gets_a_did_you_mean(file: Path) -> None:
    file.write_text("[profiles.narval]\n[profiles.beluga]")
    with pytest.raises(ConfigNoProfile, match='did you mean "narval"'):
        load(file, profile="narvla")


def test_several_profiles_without_a_default_ask_for_one(file: Path) -> None:
    file.write_text("[profiles.a]\n[profiles.b]")
    with pytest.raises(ConfigProfileNeeded):
        load(file)


def test_set_keeps_comments_order_and_everything_else(file: Path) -> None:
    file.write_text(CONTRACT_EXAMPLE)
    apply_edit(file, "profiles.aws.slurm.partition", "gpu")
    changed = file.read_text()
    assert changed == CONTRACT_EXAMPLE.replace('partition = "dev"', 'partition = "gpu"')


def test_set_starts_a_file_and_a_profile(file: Path) -> None:
    apply_edit(file, full_key("login", lambda: "narval"), "narval.example")
    apply_edit(file, "profiles.narval.slurm.gpus", "1")
    apply_edit(file, "profiles.narval.environment.variables.A_B", "x y")
    apply_edit(file, "default_profile", "narval")
    settings = load(file)
    assert settings.name == "narval"
    assert settings.profile.login == "narval.example"
    assert settings.profile.slurm.gpus == 1
    assert settings.profile.environment.variables == {"A_B": "x y"}
    assert file.stat().st_mode & 0o777 == 0o600


def test_set_writes_nothing_that_would_not_load(file: Path) -> None:
    file.write_text("[profiles.a]\n")
    with pytest.raises(ConfigBadValue):
        apply_edit(file, "profiles.a.alias", "two words")
    with pytest.raises(ConfigUnknownKey):
        apply_edit(file, "profiles.a.slrum.time", "1")
    with pytest.raises(ConfigBadValue):
        apply_edit(file, "profiles.a.login", "x\ny")
    for key in ("workspace", "slurm.extra", "environment.variables.A"):
        with pytest.raises(ConfigBadValue, match="not UTF-8"):
            apply_edit(file, f"profiles.a.{key}", "\udcff")
    with pytest.raises(ConfigBadValue, match="not UTF-8"):
        apply_edit(file, "profiles.\udcff.login", "x")
    assert file.read_text() == "[profiles.a]\n"
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


def test_set_follows_a_symlink_and_keeps_the_mode(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.toml"
    target.write_text("[profiles.a]\n")
    target.chmod(0o640)
    link = tmp_path / "config.toml"
    link.symlink_to(target)
    apply_edit(link, "profiles.a.login", "x")
    assert link.is_symlink()
    assert 'login = "x"' in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_planned_edit_changes_nothing(file: Path) -> None:
    edit = plan_edits(file, {"profiles.a.login": "x"})
    assert 'login = "x"' in edit.after
    assert not file.exists()


def test_set_in_an_impossible_place_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigUnwritable):
        apply_edit(tmp_path / "file" / "config.toml", "profiles.a.login", "x")


def test_the_default_profile_must_exist(file: Path) -> None:
    file.write_text("[profiles.narval]\n")
    with pytest.raises(ConfigNoProfile, match='did you mean "narval"'):
        apply_edit(file, "default_profile", "narvla")
    assert file.read_text() == "[profiles.narval]\n"
    for name in ("narval", "local", ""):
        apply_edit(file, "default_profile", name)
        assert load(file).name == (name or "narval")


def test_a_profile_and_the_choice_of_it_may_come_together(file: Path) -> None:
    apply_edits(file, {"default_profile": "a", "profiles.a.login": "x"})
    assert load(file).name == "a"


@pytest.mark.parametrize("overrides", [(), ("slurm.cpus_per_task=3",)])
def test_show_lists_every_key_also_one_that_is_not_set(
    file: Path, overrides: tuple[str, ...]
) -> None:
    file.write_text("[profiles.a]\n")
    asked = Asked(config=str(file), overrides=overrides)
    shown = flow.show(asked, {}, lambda _: None, origin=True)
    lines = list(_shown(shown))
    for key in profile_keys():
        assert any(f"{key.rpartition('.')[2]} = " in line for line in lines)
    assert shown.values["slurm"]["cpus_per_task"] == (3 if overrides else None)
    unset = [line for line in lines if line.startswith("# cpus_per_task = (not set)")]
    assert len(unset) == (not overrides)
    assert load(file, "\n".join(lines)).profile == load_settings(asked, {}).profile


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("profiles = 3", "`profiles`"),
        ("[profiles]\na = 3", "`profiles.a`"),
        ("[[profiles.a.slurm]]", "`profiles.a.slurm`"),
    ],
)
def test_set_beneath_what_is_no_table_is_a_clear_error(file: Path, text: str, key: str) -> None:
    file.write_text(text)
    with pytest.raises(ConfigBadValue, match="expected a table") as caught:
        apply_edit(file, "profiles.a.slurm.gpus", "1")
    assert key in str(caught.value)
    assert file.read_text() == text


def test_set_reaches_into_a_table_written_on_one_line(file: Path) -> None:
    file.write_text("profiles = {a = {}}\n")
    apply_edit(file, "profiles.a.slurm.gpus", "1")
    assert load(file).profile.slurm.gpus == 1


@pytest.mark.parametrize(
    "text",
    [
        f"[profiles.a.slurm]\nnodes = {'9' * 5000}",
        f"x = {'[' * 5000}",
        f"{'x.' * 5000}x = 1",
        f"[profiles.a.environment.variables]\n{'x.' * 5000}x = '1'",
    ],
)
def test_more_than_python_can_take_is_a_clear_error(file: Path, text: str) -> None:
    refused(file, text)
    with pytest.raises(ScratchflowError):
        apply_edit(file, "profiles.a.login", "x")


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


def test_a_place_that_may_not_be_entered_is_a_clear_error(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    asked = Asked(config=str(closed / "config.toml"))
    with as_somebody_else():
        with pytest.raises(ConfigUnreadable, match="permission denied"):
            flow.path(asked, {})
        for key in ("login", "profiles.a.login"):
            with pytest.raises((ConfigUnreadable, ConfigUnwritable), match="permission denied"):
                flow.change(asked, {}, key, "x", dry_run=False)


def test_a_relative_config_in_a_deleted_directory_is_a_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        with pytest.raises(ConfigUnreadable, match="current directory is gone"):
            load_settings(Asked(config="config.toml"), {})
    finally:
        os.chdir(tmp_path)


def test_the_usual_place_is_never_relative_to_the_current_directory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for asked in (Asked(), Asked(config="/dev/null")):
        with pytest.raises(ConfigBadValue, match="set HOME"):
            load_settings(asked, {})


@pytest.mark.parametrize("name", ["with $dollar", "line\nend"])
def test_an_odd_home_is_a_clear_error(
    file: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", f"/{name}")
    with pytest.raises(ConfigBadValue, match="environment"):
        load(file, "")


def test_two_writers_at_once_both_get_their_key_in(file: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from scratchflow.config.edit import apply_edits\n"
        "for i in range(10):"
        " apply_edits(Path(sys.argv[1]), {f'profiles.p{sys.argv[2]}-{i}.login': 'x'})"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(file), str(number)])
        for number in range(4)
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    assert len(load(file, profile="p0-0").profiles) == 40 + 1


def test_a_change_says_when_a_running_auto_backup_takes_it_over(file: Path) -> None:
    asked = Asked(config=str(file), profile="local")
    changed = flow.change(asked, {}, "backup.also", '["env"]', dry_run=False)
    assert "`scratchflow autobackup on`" in changed.takes_effect
    assert flow.change(asked, {}, "backup.also", '["env"]', dry_run=False).takes_effect == ""
    assert flow.change(asked, {}, "wait", "5m", dry_run=False).takes_effect == ""
