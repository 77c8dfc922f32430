"""The alias: the one ssh host name that always leads to the current node, or says why it does not.

Only files of our own are written here. Each is complete and was read by ssh before it gets its
name, since one bad line in an included file stops ssh for every host.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from scratchflow.disk.durable import TEMP_PREFIX, fsync_directory, write_new
from scratchflow.model.errors.ssh import SshConfigRefused, SshUnusable
from scratchflow.ssh.config.alias_text import (
    HEADER,
    AliasTarget,
    Parked,
    fault_in,
    numbered,
    numbered_targets,
    parked_command,
    parked_text,
    parse_hosts,
    riding_command,
    target_text,
)
from scratchflow.ssh.config.names import is_name
from scratchflow.ssh.config.paths import SshPaths
from scratchflow.ssh.config.resolve import ResolvedHost, resolve
from scratchflow.ssh.config.user_file import drop_needless_backup

_PLAIN_NAMES = "names are letters, digits, `.`, `_` and `-`; correct it in the profile"
_REPORT = "this is a bug in scratchflow, or an ssh that it does not know: please report `ssh -V`"


def point_alias(
    places: SshPaths, alias: str, target: AliasTarget, others: Sequence[AliasTarget] = ()
) -> None:
    """Makes the alias lead to a node: a reader sees the old place or the new one, never a mix.

    `others` are the further nodes of the same job: `ALIAS-2` leads to the first of them. Those of
    earlier, larger jobs are gone afterwards.
    """
    file = _file_of(places, alias)
    hosts = {alias: target, **dict(numbered_targets(alias, others))}
    for name, one in hosts.items():
        if fault := fault_in(name, one):
            raise _refusal(file, fault)
    make_private_directory(places.directory)
    make_private_directory(places.host_keys_file(target.key_alias).parent)
    text = target_text(alias, target, places, others)
    _replace_checked(file, text, {name: _leading_to(one, places) for name, one in hosts.items()})


def park_alias(places: SshPaths, alias: str, profile: str = "") -> None:
    """Makes `ssh` to the alias fail at once and say what to run, for this profile; to its numbered ones too."""
    file, command = _file_of(places, alias), parked_command(profile)
    others = max(0, len(_hosts(places, alias)) - 1)
    names = [alias, *(numbered(alias, number + 2) for number in range(others))]
    text = parked_text(alias, profile, others)
    _replace_checked(file, text, dict.fromkeys(names, lambda found: found.proxy_command == command))


def read_alias(places: SshPaths, alias: str) -> AliasTarget | Parked | None:
    """Where the alias leads by our own file; None when there is none, or we would not write it so.

    Says nothing of what the user's config makes of it: `resolve` does.
    """
    return next(iter(_hosts(places, alias)), None)


def read_numbered(places: SshPaths, alias: str) -> list[AliasTarget]:
    """Where `ALIAS-2`, `ALIAS-3` … lead by our own file; none while they are parked."""
    return [one for one in _hosts(places, alias)[1:] if isinstance(one, AliasTarget)]


def _hosts(places: SshPaths, alias: str) -> list[AliasTarget | Parked]:
    try:
        content = _file_of(places, alias).read_bytes()
    except OSError:
        return []
    return parse_hosts(content.decode("utf-8", "replace"), alias)


def remove_alias(places: SshPaths, alias: str) -> None:
    """Takes one alias away; a missing one is fine. A directory in its place is somebody else's and stays."""
    file = _file_of(places, alias)
    if not _is_directory(file):
        file.unlink(missing_ok=True)


def foreign_file(places: SshPaths, alias: str) -> Path | None:
    """What is in the place of the alias's file and is not as we write it."""
    file = places.alias_file(alias)
    return file if os.path.lexists(file) and read_alias(places, alias) is None else None


def forget_host_keys(places: SshPaths, profile: str, others: Iterable[str]) -> None:
    """Takes away the host keys of a profile's nodes. Those that may be of another profile, as the names begin alike, stay."""
    theirs = tuple(f"{other}-".lower() for other in others)
    with contextlib.suppress(OSError):
        for file in places.host_keys.glob("*"):
            is_ours = file.name.startswith(f"{profile}-".lower())
            if is_ours and not file.name.startswith(theirs):
                file.unlink(missing_ok=True)


def our_aliases(places: SshPaths) -> list[str]:
    """The aliases whose files we wrote, of whichever profile."""
    return sorted(file.stem for file in places.directory.glob("*.conf") if _is_ours(file))


def remove_files(places: SshPaths) -> None:
    """Takes away everything that is ours, after the user's config no longer includes it.

    A directory in which somebody else put something stays, with that in it.
    """
    drop_needless_backup(places)
    keys = places.host_keys
    aliases = [places.alias_file(name) for name in our_aliases(places)]
    temps = places.directory.glob(f"{TEMP_PREFIX}*")
    with contextlib.suppress(OSError):
        for file in [*aliases, *temps, *keys.glob("*")]:
            file.unlink(missing_ok=True)
        keys.rmdir()
    with contextlib.suppress(OSError):
        places.directory.rmdir()


def make_private_directory(directory: Path) -> None:
    """Makes the directory readable by nobody else, whatever the umask; those above stay as is."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
        if status.st_uid == os.geteuid():
            if stat.S_IMODE(status.st_mode) != 0o700:
                directory.chmod(0o700)
            return
        reason = "it belongs to somebody else"
    except OSError as error:
        reason = _words(error)
    look = f"`ls -ld {shlex.quote(str(directory))}`"
    raise _refusal(directory, reason, f"{look} shows what it is; move it away")


def _replace_checked(
    file: Path, text: str, checks: Mapping[str, Callable[[ResolvedHost], bool]]
) -> None:
    """Replaces one of our files after ssh itself read each name of the candidate as meant.

    The candidate's name starts with a dot, so no ssh includes it; a killed run leaves it behind.
    """
    make_private_directory(file.parent)
    if _is_directory(file):
        name = shlex.quote(str(file))
        remedy = f"`ls -la {name}` shows what is in it; `mv {name} {name}.aside` moves it away, then try again"
        raise _refusal(file, "it is a directory, and scratchflow keeps a file there", remedy)
    temp = file.with_name(f"{TEMP_PREFIX}{os.urandom(6).hex()}-{file.name}")
    try:
        write_new(temp, text.encode("utf-8", "surrogateescape"), mode=0o600)
        if not all(is_right(resolve(name, config=temp)) for name, is_right in checks.items()):
            raise _refusal(file, "ssh reads it in another way than was meant", _REPORT)
        os.replace(temp, file)
        fsync_directory(file.parent)
    except SshUnusable as error:
        raise _refusal(file, str(error), error.shown_hint) from None
    except OSError as error:
        raise _refusal(file, _words(error), "check permissions and free space") from None
    finally:
        with contextlib.suppress(OSError):
            temp.unlink(missing_ok=True)


def _leading_to(target: AliasTarget, places: SshPaths) -> Callable[[ResolvedHost], bool]:
    command = riding_command(target, places)
    return lambda found: _leads_to(found, target, command)


def _leads_to(found: ResolvedHost, target: AliasTarget, command: str | None) -> bool:
    jump = "" if command else target.login or ""
    return (
        found.hostname == target.node.lower()
        and found.user == target.user
        and found.port == target.port
        # ssh prints a login host that looks like an address in brackets.
        and re.sub(r"[\[\]]", "", found.proxy_jump or "") == jump
        and found.proxy_command == command
        and (found.host_key_alias or "").lower() == target.key_alias.lower()
        and found.strict_host_key_checking == "accept-new"
        and found.control_path is None
        and found.control_master in {"false", "no"}
    )


def _file_of(places: SshPaths, alias: str) -> Path:
    if not is_name(alias):
        raise _refusal(places.directory, f"`{alias}` cannot be the name of an alias")
    return places.alias_file(alias)


def _is_directory(file: Path) -> bool:
    """Not a symlink to one, which is replaced and removed like a file."""
    return file.is_dir() and not file.is_symlink()


def _is_ours(file: Path) -> bool:
    try:
        return file.read_bytes().startswith(HEADER.encode())
    except OSError:
        return False


def _refusal(path: Path, reason: str, remedy: str = _PLAIN_NAMES) -> SshConfigRefused:
    return SshConfigRefused(path=path, reason=reason, remedy=remedy)


def _words(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()
