"""A profile: which cluster, which paths, which resources. Field names are the keys of the file.

Cluster paths keep `$NAME` and `~` as written: they mean the cluster's, which puts them in where a path is used.
"""

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from scratchflow.model.time_limit import as_slurm_takes_it
from scratchflow.model.units import Duration, Span, parse_size

# `$` alone would allow a newline at the end.
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$(?!\n)"
# A host as ssh knows it, with or without `user@`. Starting with `-` it would be an option.
LOGIN_PATTERN = r"^([A-Za-z0-9_][A-Za-z0-9._+-]{0,63}@)?[A-Za-z0-9_][A-Za-z0-9._-]{0,252}$(?!\n)"

Name = Annotated[str, Meta(pattern=NAME_PATTERN)]
Count = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]

# What the machine that uses a path puts in.
PATH_NAME = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})", re.ASCII)
# Whether the value of a name is an absolute path shows where it is used. A user's name never is, and
# the current directory is another one wherever we are started.
_ROOTED = re.compile(r"/|~(?:/|\Z)|\$(?!\{?(?:USER|PWD|OLDPWD)\b)", re.ASCII)
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the configuration file."""


class SlurmOptions(Section, frozen=True):
    """What to ask of Slurm; an empty value or null is not asked for. Named as Slurm names it."""

    partition: str = ""
    account: str = ""
    time: str = "8:00:00"
    nodes: AtLeastOne = 1
    ntasks: AtLeastOne = 1
    cpus_per_task: AtLeastOne | None = None
    mem: str = ""
    gpus: Count = 0
    gres: str = ""
    qos: str = ""
    constraint: str = ""
    nodelist: str = ""
    exclude: str = ""
    exclusive: bool = False
    extra: list[str] = []

    def __post_init__(self) -> None:
        try:
            # Whoever reads it reads Slurm's form; the file keeps what was written.
            msgspec.structs.force_setattr(self, "time", as_slurm_takes_it(self.time))
        except ValueError as error:
            raise ValueError(f"`time` must be {error}") from None
        if self.mem:
            try:
                parse_size(self.mem)
            except ValueError as error:
                raise ValueError(f"`mem` must be {error}") from None


class EnvironmentOptions(Section, frozen=True):
    """Applied in this order to everything that is started on the node for the user."""

    modules: list[str] = []
    after_modules: str = ""
    conda: str = ""
    venv: str = ""
    variables: dict[str, str] = {}
    prologue: str = ""

    def __post_init__(self) -> None:
        for name in self.variables:
            if not _VARIABLE_NAME.fullmatch(name):
                raise ValueError(f"`variables`: `{name}` is not a variable name")


class BackupOptions(Section, frozen=True):
    """What goes into a snapshot, how often, and how long it is kept."""

    every: Duration = Duration(30 * 60)
    final_before: Duration = Duration(10 * 60)
    also: list[str] = []
    exclude: list[str] = []
    level: Annotated[int, Meta(ge=0, le=12)] = 0
    full_every: Duration = Duration(7 * 86400)
    keep_last: AtLeastOne = 10
    keep_hourly: Count = 24
    keep_daily: Count = 7
    keep_weekly: Count = 4
    keep_named: Span = Span(None)
    keep_unmerged: Span = Span(30 * 86400)
    keep_jobs: Span = Span(90 * 86400)
    # `remote:path` as rclone writes it: an off-site copy of the snapshots.
    mirror: str = ""
    # Where rclone is, when it is not on the PATH where the store is.
    rclone: str = ""

    def __post_init__(self) -> None:
        if self.mirror:
            require_remote("mirror", self.mirror)
        if self.every.seconds < 1:
            raise ValueError("`every` must be at least 1s")
        for directory in self.also:
            require_beneath("also", directory)


class Profile(Section, frozen=True):
    """One named set-up."""

    login: str = "local"
    scheduler: Literal["slurm", "none"] = "slurm"
    alias: Name = "compile_machine"
    ssh_config: str = "~/.ssh/config"
    scratch: str = "/scratch/$USER"
    workspace: str = "work"
    store: str = "~/scratchflow"
    transport: Literal["auto", "paramiko", "openssh"] = "auto"
    hold: Literal["detached", "tmux"] = "detached"
    tmux_session: Name = "scratchflow"
    wait: Duration = Duration(10 * 60)
    slurm: SlurmOptions = SlurmOptions()
    environment: EnvironmentOptions = EnvironmentOptions()
    backup: BackupOptions = BackupOptions()

    def __post_init__(self) -> None:
        if not re.fullmatch(LOGIN_PATTERN, self.login):
            raise ValueError("`login` must be an ssh host name, or `local`")
        require_beneath("workspace", self.workspace)
        for key in ("scratch", "store"):
            require_rooted(key, getattr(self, key))

    @property
    def login_name(self) -> str:
        """The login host as ssh config files name it; empty where this machine is the login host."""
        return "" if self.login == "local" else self.login.rpartition("@")[2].lower()

    @property
    def alias_is_login_host(self) -> bool:
        """Whether our file of the alias would stand before the login host itself."""
        return self.scheduler == "slurm" and self.alias.lower() == self.login_name


class SyncOptions(Section, frozen=True):
    """Folders that `sync` keeps equal in the homes of several profiles; the first profile is the middle of the star."""

    folders: list[str] = []
    profiles: list[Name] = []
    # Without a slash the name of a file or directory anywhere, with one a path from the home; `*` and `?` as in a shell.
    leave_out: list[str] = msgspec.field(
        default_factory=lambda: [".ssh", ".gnupg", ".cache", "__pycache__", ".conda/pkgs"]
    )
    keep_versions: AtLeastOne = 10
    # Where unison is, by profile, when it is not on the PATH there.
    programs: dict[Name, str] = {}

    def __post_init__(self) -> None:
        for folder in self.folders:
            parts = folder.split("/")
            if folder != "." and any(part in {"", ".", ".."} for part in parts):
                raise ValueError(
                    f"`folders`: `{folder}` must be a relative path beneath the home, without `..`"
                )
        for key in ("folders", "leave_out"):
            if any("\\" in text or not text for text in getattr(self, key)):
                raise ValueError(f"`{key}` must hold no empty text and no backslash")
        if len(set(self.profiles)) < len(self.profiles):
            raise ValueError("`profiles` names one of them twice")


class Config(Section, frozen=True):
    """The whole configuration file."""

    default_profile: str = ""
    profiles: dict[Name, Profile] = {}
    sync: SyncOptions = SyncOptions()


def require_beneath(key: str, path: str) -> None:
    """Refuses a path that is not a plain relative one: it must stay beneath scratch."""
    parts = path.split("/")
    if any(part in {"", ".", ".."} for part in parts):
        raise ValueError(f"`{key}`: `{path}` must be a relative path beneath scratch, without `..`")


# What rclone's backends call what nobody else may know. `key_file` and `access_key_id` are none.
_HIDDEN_OPTIONS = (
    r"[\w.]*(?:pass|secret|token|bearer|key_pem|grant|cookie|customer_key|apikey|connection_string)\w*"
    r"|(?:[\w.]*[_.])?(?:sas(?:_\w*)?|key|credentials?|otp\w*|2fa|headers?)"
)
# Compiled only for those who have a mirror.
_HIDDEN_IN_REMOTE = (
    rf",\s*(?:{_HIDDEN_OPTIONS})\s*="  # an option
    r"|//[^/,\"']*:(?:(?!,\w+=)[^/\"'])+@|=[\"'][^/\"']*//[^/\"']*:[^/\"']+@"  # a password in an address
    r"|[?&;][^=&]*(?:sig|key|pass|secret|token|auth)[^=&]*="  # a signature in its query
)


def require_remote(key: str, remote: str) -> None:
    """Refuses what rclone would take for an option, or for a path in whatever directory we are started."""
    if remote.startswith("-") or not (":" in remote or remote.startswith("/")):
        raise ValueError(f"`{key}` must be `remote:path`, with a remote that `rclone config` knows")
    if re.search(_HIDDEN_IN_REMOTE, remote.replace("\\", ""), re.IGNORECASE):
        # What is written here is shown by `status`, in errors and in lists of processes.
        raise ValueError(
            f"`{key}` must not hold a password or key: put it into rclone's own configuration"
            " (`rclone config` makes a remote), and write `name:path` with that remote's name"
        )
    if not remote.isprintable():
        raise ValueError(f"`{key}` must be plain text")


def require_rooted(key: str, path: str) -> None:
    """Refuses a path that would depend on where we are started, or on what nobody expands."""
    if not _ROOTED.match(path):
        raise ValueError(f"`{key}` must be an absolute path, or start with `~/` or `$NAME`")
    if "$" in PATH_NAME.sub("", path):
        raise ValueError(
            f"`{key}`: after a `$` only a name is possible, as in `$NAME` or `${{NAME}}`"
        )


def path_names(path: str) -> list[str]:
    """The names in a path, in their order."""
    return [match[1] or match[2] for match in PATH_NAME.finditer(path)]


def to_plain(section: Section) -> dict[str, Any]:
    """The section as the plain values that a TOML file or JSON would hold; null keys left out."""
    return _without_nulls(to_plain_with_nulls(section))


def to_plain_with_nulls(section: Section) -> dict[str, Any]:
    """The section as plain values, every key of it: null where nothing is set."""
    values: dict[str, Any] = msgspec.to_builtins(section, enc_hook=str)
    return values


def _without_nulls(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _without_nulls(value) if isinstance(value, dict) else value
        for key, value in values.items()
        if value is not None
    }


def decode_duration(kind: type, value: Any) -> Any:
    """msgspec's hook for the types it does not know."""
    if kind not in {Duration, Span}:
        raise TypeError(f"no such configuration type: {kind}")
    if not isinstance(value, str):
        raise ValueError('expected a duration in quotes, like "30m"')  # noqa: TRY004 - msgspec adds the key to a ValueError
    try:
        return kind.parse(value)
    except ValueError as error:
        raise ValueError(f"expected {error}, got `{value}`") from None
