"""ssh configs as people have them, and worse: made from a number, so that a failure comes back."""

from __future__ import annotations

import random
from dataclasses import dataclass

LONG = 1 << 20


@dataclass(frozen=True)
class MadeConfig:
    """A config, and the hosts in it whose resolution must never change; `host` is any of them."""

    content: bytes
    host: str
    hosts: tuple[str, ...]
    mode: int
    symlinked: bool


def made_config(seed: int) -> MadeConfig:
    """The config with this number."""
    pick = random.Random(seed)  # noqa: S311 - repeatable on purpose
    hosts = [f"host{seed}-{number}" for number in range(pick.randint(1, 6))]
    parts = [_host(pick, host) for host in hosts]
    parts += [piece for piece in _PIECES if pick.random() < 0.25]
    if pick.random() < 0.6:
        pick.shuffle(parts)
    text = pick.choice(["\n", "", "\n\n", "# --\n"]).join(parts)
    content = text.encode("utf-8") if pick.random() < 0.8 else text.encode("latin-1", "replace")
    if seed % 40 == 7:
        content += b"# padding\n" * (LONG // 10)
    if pick.random() < 0.25:
        content = content.replace(b"\n", b"\r\n")
    if pick.random() < 0.3:
        content = content.rstrip(b"\r\n")
    if seed % 25 == 3:
        content = b"\xef\xbb\xbf" + content
    if seed % 50 == 9:
        content = b""
    return MadeConfig(
        content=content,
        host=pick.choice(hosts),
        hosts=(*hosts, "quoted-host", "elsewhere", "no-such-host"),
        mode=pick.choice([0o600, 0o600, 0o644, 0o640]),
        symlinked=pick.random() < 0.2,
    )


def _host(pick: random.Random, host: str) -> str:
    indent = pick.choice(["  ", "\t", "    ", ""])
    equals = pick.choice([" ", " ", "=", " = ", "\t"])
    options = [
        f"{indent}HostName{equals}{host}.example.org",
        f"{indent}User{equals}user{pick.randint(1, 9)}",
        f"{indent}Port{equals}{pick.randint(1, 65535)}",
        f'{indent}IdentityFile{equals}"~/.ssh/my key {pick.randint(1, 9)}"',
        f"{indent}ProxyJump{equals}jump{pick.randint(1, 3)}",
        f"{indent}# a remark with ünïcode and a `tick`",
        f"{indent}ControlPath{equals}~/.ssh/cm-%C",
        f"{indent}ServerAliveInterval{equals}{pick.randint(0, 99)}   ",
    ]
    chosen = pick.sample(options, pick.randint(1, len(options)))
    keyword = pick.choice(["Host", "host", "HOST"])
    return "\n".join([f"{keyword} {host}", *chosen]) + "\n"


_PIECES = [
    "Host *\n  ServerAliveInterval 30\n  ForwardAgent yes\n",
    "Match host *.internal user root\n  Port 2222\n",
    "Match exec true\n  Compression yes\n",
    "Match all\n  LogLevel VERBOSE\n",
    'Include "/nonexistent/with space/*.conf"\n',
    "Include config.d/*\n",
    "# Host not-a-host\n#   HostName nowhere\n",
    "\n\n   \n\t\n",
    'Host "quoted-host" other !not-this *.wild\n  User "some body"\n',
    "# >>> someone else's block >>>\nHost elsewhere\n  User x\n# <<< someone else's block <<<\n",
    "Host compile_machine\n  HostName stale.example\n  ProxyCommand nc %h %p\n",
    "HostKeyAlias global-value\n",
    "Host with-include\n  Include inner/*\n",
]
