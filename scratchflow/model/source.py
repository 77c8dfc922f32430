"""What `create --from` and `--to` may name: a directory, `laptop:DIR`, a git URL."""

import re

LAPTOP = "laptop:"

_URL = re.compile(r"(https?|ssh|git|file)://[^\s]+")
_SCP = re.compile(r"[\w.-]+@[\w.-]+:[^\s:][^\s]*|[\w.-]+:[^\s:/][^\s]*\.git/?")
_PASSWORD = re.compile(r"^([a-z]+://)[^/]*@")


def on_laptop(text: str) -> str | None:
    """The path in `laptop:PATH`: one of the machine that it is typed on. None for any other text."""
    return text.removeprefix(LAPTOP) if text.startswith(LAPTOP) else None


def is_git_url(text: str) -> bool:
    """Whether git would go to the network with it, or to `file://`."""
    return not text.startswith(("/", "./", "../", LAPTOP)) and bool(
        _URL.fullmatch(text) or _SCP.fullmatch(text)
    )


def without_password(url: str) -> str:
    """The URL for messages and records: a user's name and token are nobody else's."""
    if url.startswith("ssh://"):  # the name before the host is the server's account, and no secret
        return url
    return _PASSWORD.sub(r"\1", url)
