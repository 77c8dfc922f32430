"""Probes a host with one fixed script, and chooses the Python to use there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

import msgspec

from scratchflow.agent.delivery.target import MACHINES, OLDEST_GLIBC, OLDEST_PYTHON, Target
from scratchflow.model.errors.agent import LoginShellUnusable, PythonMissing
from scratchflow.model.text import last_line
from scratchflow.ssh.transport.base import Transport

_TIMEOUT_S = 120
_MARK = "scratchflow-probe"


class FoundPython(msgspec.Struct, frozen=True, kw_only=True):
    """A Python as it describes itself."""

    executable: str
    version: tuple[int, int, int]
    implementation: str
    abi: str
    is_64_bit: bool
    machine: str
    libc: tuple[str, str]
    lacks: tuple[str, ...] = ()
    library_path: str = ""

    def unfit(self) -> str:
        """Why it cannot run the agent; empty when it can."""
        reasons = {
            "it does not say where it is": not self.executable.startswith("/"),
            "it is older than 3.10": self.version[:2] < OLDEST_PYTHON,
            f"it is {self.implementation}, not CPython": self.implementation != "CPython",
            "it is a debug or free-threaded build": not self._is_plain_build(),
            f"{self.machine} is not supported": self.machine not in MACHINES,
            "it is a 32-bit build": not self.is_64_bit,
            "its libc is not glibc 2.17 or newer": not _glibc(self.libc) >= OLDEST_GLIBC,
            f"it lacks {', '.join(self.lacks)}": bool(self.lacks),
        }
        return next((reason for reason, applies in reasons.items() if applies), "")

    @property
    def shown_version(self) -> str:
        """`3.11.2`."""
        return ".".join(map(str, self.version))

    def target(self) -> Target:
        """What to put an agent together for."""
        return Target(self.version, self.machine, _glibc(self.libc))

    def _is_plain_build(self) -> bool:
        major, minor, _ = self.version
        return self.abi.startswith(f"cpython-{major}{minor}-")


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The far host."""

    home: str
    system: str
    machine: str
    home_free_kib: int | None
    modules_failed: str
    pythons: list[FoundPython]


# A startup file that reads our input takes this line; the script tells whether it came. It stands
# here because a script's directives for shellcheck come before its first command.
_FIRST_LINE = b"scratchflow_first_line=read\n"


def script(name: str) -> bytes:
    """A file that runs over there, byte for byte."""
    return (files("scratchflow.agent") / "there" / name).read_bytes()


def probe(transport: Transport, modules: Sequence[str] = ()) -> Host:
    """Asks the host; with modules, the Pythons that they bring come first."""
    argv = ["sh", "-s", "--", *modules]
    done = transport.run(argv, stdin=_FIRST_LINE + script("probe.sh"), timeout_s=_TIMEOUT_S)
    pairs = [line.split("\t", 2)[1:] for line in _lines(done.stdout)]
    values = {key: value for key, value in pairs if key != "python"}
    if "end" not in values:
        said = last_line(done.stderr) or last_line(done.stdout)
        reason = said or f"it ended with exit code {done.returncode}, without a word"
        raise LoginShellUnusable(host=transport.host, reason=reason)
    if not values.get("first_line"):
        reason = "one of its startup files reads what is sent to the command"
        raise LoginShellUnusable(host=transport.host, reason=reason)
    free = values.get("home_free_kib", "")
    return Host(
        home=values["home"],
        system=values["system"],
        machine=values["machine"],
        home_free_kib=int(free) if free.isascii() and free.isdigit() else None,
        modules_failed=values.get("modules_failed", ""),
        pythons=_distinct(value for key, value in pairs if key == "python"),
    )


def fitting_pythons(host: Host, transport: Transport, profile_name: str) -> list[FoundPython]:
    """Those that can run the agent, the best first; if none can, every reason why."""
    if host.system != "Linux":
        reason = f"it runs {host.system}, not Linux"
        raise PythonMissing(host=transport.host, reasons=reason, profile=profile_name)
    unfit = {python: reason for python in host.pythons if (reason := python.unfit())}
    fitting = [python for python in host.pythons if python not in unfit]
    if fitting:
        return fitting
    reasons = [f"{python.executable} ({python.shown_version}): {unfit[python]}" for python in unfit]
    if host.modules_failed:
        reasons.insert(0, f"the modules `{host.modules_failed}` cannot be loaded")
    shown = "; ".join(reasons) or "there is none"
    raise PythonMissing(host=transport.host, reasons=shown, profile=profile_name)


def _lines(stdout: bytes) -> list[str]:
    lines = stdout.decode("utf-8", "surrogateescape").split("\n")
    # A prompt without a newline may stand before a line of ours.
    ours = [line[line.find(f"{_MARK}\t") :] for line in lines if f"{_MARK}\t" in line]
    return [line for line in ours if line.count("\t") >= 2]


def _distinct(descriptions: Iterable[str]) -> list[FoundPython]:
    found: dict[str, FoundPython] = {}
    for description in descriptions:
        try:
            python = msgspec.json.decode(description.encode(), type=FoundPython)
        except (msgspec.MsgspecError, UnicodeEncodeError):
            continue
        if f"{python.executable}{python.library_path}".isprintable():  # one line of a file there
            found.setdefault(python.executable, python)
    return list(found.values())


def _glibc(libc: tuple[str, str]) -> tuple[int, int]:
    name, version = libc
    numbers = version.split(".")
    if name != "glibc" or len(numbers) < 2 or not all(part.isdigit() for part in numbers[:2]):
        return (0, 0)
    return int(numbers[0]), int(numbers[1])
