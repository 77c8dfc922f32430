"""Private key files are told apart as ssh-keygen writes them, without a passphrase and whatever they hold."""

from __future__ import annotations

import base64
import os
import subprocess
from pathlib import Path

import pytest

from scratchflow.ssh.config.paths import passwd_home
from scratchflow.ssh.config.resolve import ResolvedHost
from scratchflow.ssh.keys.key_files import KeyFile, key_files_of, public_line


def made(path: Path, *options: str, passphrase: str = "") -> Path:
    command = ["ssh-keygen", "-q", *options, "-a", "1", "-N", passphrase, "-f", str(path)]
    subprocess.run(command, check=True)
    return path


def look(*paths: object) -> list[KeyFile]:
    files = tuple(map(str, paths))
    return key_files_of(ResolvedHost("login", "login.example", "ada", identity_files=files))


ED25519, ECDSA = ("-t", "ed25519"), ("-t", "ecdsa")


@pytest.mark.parametrize("passphrase", ["", "correct horse"])
@pytest.mark.parametrize(
    ("options", "kind"),
    [
        (ED25519, "ssh-ed25519"),
        (ECDSA, "ecdsa-sha2-nistp256"),
        ((*ECDSA, "-m", "PEM"), "ecdsa-sha2-nistp256"),
    ],
)
def test_kind_and_lock_are_seen_from_outside(
    tmp_path: Path, options: tuple[str, ...], kind: str, passphrase: str
) -> None:
    path = made(tmp_path / "key", *options, passphrase=passphrase)
    (found,) = look(path)
    public = base64.b64decode((tmp_path / "key.pub").read_text().split()[1])
    assert (found.kind, found.is_locked, found.public_blob) == (kind, bool(passphrase), public)
    assert not found.is_on_token
    assert not found.has_certificate


def test_a_certificate_beside_the_key_is_seen(tmp_path: Path) -> None:
    path = made(tmp_path / "key", *ED25519)
    (tmp_path / "key-cert.pub").touch()
    assert look(path)[0].has_certificate


def test_a_key_on_a_token_is_known_by_its_kind(tmp_path: Path) -> None:
    path = made(tmp_path / "key", *ED25519)
    raw = base64.b64decode("".join(path.read_text().splitlines()[1:-1]))
    kind = b"sk-ssh-ed2551"  # as long as the name that it replaces, with its length and padding
    raw = raw.replace(b"\0\0\0\x0bssh-ed25519", b"\0\0\0\x0b" + kind[:11])
    head, _, foot = path.read_text().partition("\n")
    path.write_text(f"{head}\n{base64.b64encode(raw).decode()}\n{foot.splitlines()[-1]}\n")
    assert look(path)[0].is_on_token


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0" * 100_000,
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\n=====\n-----END OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\n/////w==\n-----END OPENSSH PRIVATE KEY-----\n",
        b"\xff\xfe not a key",
    ],
)
def test_what_is_no_key_is_passed_over_or_of_no_kind(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key").write_bytes(content)
    (tmp_path / "key.pub").write_bytes(b"ssh-ed25519 !!!not-base64 \xff")
    assert [(file.kind, file.public_blob) for file in look(tmp_path / "key")] in ([], [("", None)])


def test_files_that_are_not_there_or_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    last = made(tmp_path / "key", *ED25519)
    assert [file.path for file in look(tmp_path / "gone", tmp_path, last)] == [last]


def test_the_names_of_ssh_for_host_and_user_are_written_out(tmp_path: Path) -> None:
    path = made(tmp_path / "login.example-ada-22%", *ED25519)
    assert [file.path for file in look(tmp_path / "%h-%r-%p%%")] == [path]
    assert look(tmp_path / "%h-%r-%p%%-%C") == []
    assert look(tmp_path / "${HOME}") == []


def test_a_tilde_is_the_home_of_the_password_database(tmp_path: Path) -> None:
    path = made(tmp_path / "key", *ED25519)
    away = os.path.relpath(path, passwd_home())
    assert look(f"~/{away}")[0].kind == "ssh-ed25519"


@pytest.mark.parametrize("comment", ["", "ada@laptop", "Ada's laptop", 'the "new" one', "José"])
def test_a_public_key_is_one_whatever_its_comment_says(tmp_path: Path, comment: str) -> None:
    path = made(tmp_path / "key", *ED25519, "-C", comment)
    assert public_line(path) == (tmp_path / "key.pub").read_text().strip()


@pytest.mark.parametrize("comment", [b"\xff", b"\x1b[2J"])
def test_a_comment_that_cannot_be_shown_is_left_out(tmp_path: Path, comment: bytes) -> None:
    (tmp_path / "key.pub").write_bytes(b"ssh-ed25519 AAAA " + comment + b"\n")
    assert public_line(tmp_path / "key") == "ssh-ed25519 AAAA"


@pytest.mark.parametrize("content", [b"", b"mine", b"ssh-rsa AAAA\nssh-rsa BBBB\n"])
def test_what_is_not_one_public_key_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key.pub").write_bytes(content)
    assert public_line(tmp_path / "key") is None
