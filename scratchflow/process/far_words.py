"""A command's words on their way through shells that we do not choose, and what runs them at the far end.

Next to nothing is imported here: `run` must start fast.
"""

from __future__ import annotations

# What means itself between single quotes in every shell, and to `printf %b`.
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%^")

# From so many characters on, fewer of them matter more than a program that is started at the far end.
_LONG = 256

# `$1` is a token that only the two ends know. Then come, as `packed` makes them, the directory, a file to source
# (or nothing), for a command that is followed the note of the job that is worked in (or nothing), and the command. Each script is one line without single quotes, `!` or doubled backslashes: so every
# login shell hands it on as it is.
_UNPACK = (
    "unset CDPATH; sf_t=$1; shift; sf_n=$#; "
    'while [ "$sf_n" -gt 0 ]; do sf_n=$((sf_n-1)); sf_w=$1; shift; case $sf_w in '
    ',*) sf_w=$(printf "%bx" "${sf_w#?}"); sf_w=${sf_w%x};; '
    # What cannot be read starts nothing: the words of `base64` are the reason that is told.
    ':*) sf_w=$(printf %s "${sf_w#?}" | base64 -d && printf x) || exit 1; sf_w=${sf_w%x};; '
    "*) sf_w=${sf_w#?};; esac; "
    'set -- "$@" "$sf_w"; done; sf_d=$1 sf_e=$2; shift 2; '
)
# The traps let a signal to the group reach the command, and keep the shell for the last line.
_TRAP = "trap : INT TERM HUP QUIT PIPE USR1 USR2; "
# Not HUP: when its terminal goes, only the shell hears of that, and the command when the shell has ended.
_TRAP_IN_TERMINAL = _TRAP.replace(" HUP", "")
_SOURCE = '[ -z "$sf_e" ] || . "$sf_e"; '
# stderr is the command's own between a first and a last line that carry the token, and stdout after its first line.
# What shells and `srun` say before is told apart by that; what a shell says of a command that a signal ended goes
# to /dev/null. Such a command takes with it what it has left in its group. It exits with 0, so that `srun` has nothing to say about the code.
_FOLLOWED = (
    _UNPACK + "sf_j=$1; shift; exec 3>&2 2>/dev/null; "
    # Another job is worked in by now, as after a `hop`: nothing has started, and the near end finds out anew.
    '[ -z "$sf_j" ] || { read -r sf_i < "$sf_j" && [ "$sf_i" = "$SLURM_JOB_ID" ]; } || exit 0; '
    'cd "$sf_d" || { printf "\\001%s nodir 0\\n" "$sf_t" >&3; exit 0; }; '
    # A file that is gone or was emptied: nothing has started, and the near end finds out anew.
    '[ -z "$sf_e" ] || [ -s "$sf_e" ] || exit 0; '
    # So is one that was computed from startup files or a venv that have changed since; over a known way nobody else looks.
    '[ -z "$sf_j" ] || [ -z "$sf_e" ] || { [ -s "$sf_e.fresh" ] && . "$sf_e.fresh"; } || exit 0; '
    "read -r sf_1 sf_2 sf_3 sf_4 sf_g sf_6 < /proc/$$/stat; "
    'printf "\\001%s started %s\\n" "$sf_t" "$sf_g"; '
    'printf "\\001%s started %s\\n" "$sf_t" "$sf_g" >&3; '
    + _SOURCE
    + _TRAP
    + '( exec 2>&3 3>&-; exec "$@" ); sf_c=$?; '
    '[ "$sf_c" -le 128 ] || kill -s TERM 0; '
    'printf "\\001%s ended %s\\n" "$sf_t" "$sf_c" >&3; exit 0'
)
# In a terminal all output is one stream. What came before the first line is not the command's, and after the last line the
# exit code is: `srun` exits with 0 when it loses the node. TTOU: a shell that was killed has not given the terminal back.
_IN_TERMINAL = (
    _UNPACK
    + 'cd "$sf_d" || exit 1; [ "$sf_t" = - ] || printf "\\001%s started 0\\n" "$sf_t"; '
    + _SOURCE
    + _TRAP_IN_TERMINAL
    + '( exec "$@" ); sf_c=$?; '
    '[ "$sf_t" = - ] || { trap "" TTOU; printf "\\001%s ended %s\\n" "$sf_t" "$sf_c"; }; exit "$sf_c"'
)
_REPLACING = _UNPACK + 'cd "$sf_d" || exit 1; ' + _SOURCE + 'exec "$@"'


def packed(word: bytes) -> str:
    r"""The word as plain characters: after `.` as it is, after `,` with `\0NNN` for every other byte.

    After `:` in base64, which is shorter for long words, but starts a program at the far end.
    """
    if all(byte in _PLAIN for byte in word):
        return "." + word.decode("ascii")
    escaped = "," + "".join(chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in word)
    if len(escaped) < _LONG or len(escaped) * 3 <= len(word) * 4:
        return escaped
    from binascii import b2a_base64

    return ":" + b2a_base64(word, newline=False).decode("ascii")


def followed_argv(
    token: str, directory: bytes, sourced: bytes, command: list[bytes], *, current: bytes = b""
) -> list[str]:
    """What the node runs, so that the near end hears when the command starts and how it ends.

    With `current`, the note of the job that is worked in, nothing starts in any other job.
    """
    words = (directory, sourced, current, *command)
    return ["sh", "-c", _FOLLOWED, "sh", token, *(packed(word) for word in words)]


def terminal_argv(
    directory: bytes, sourced: bytes, command: list[bytes], *, token: str = ""
) -> list[str]:
    """What the node runs in a terminal; with a token, between two lines that carry it."""
    words = (directory, sourced, *command)
    return ["sh", "-c", _IN_TERMINAL, "sh", token or "-", *(packed(word) for word in words)]


def kill_argv(group: int, signal_name: str) -> list[str]:
    """Sends a signal to all processes of a command that was followed."""
    return ["sh", "-c", f"kill -s {signal_name} -- -{group}"]


def replacing_argv(directory: bytes, sourced: bytes, command: list[bytes]) -> list[str]:
    """What takes the place of this process where the command is to run on this machine."""
    words = (directory, sourced, *command)
    return ["sh", "-c", _REPLACING, "sh", "-", *(packed(word) for word in words)]


def quoted(words: list[str]) -> str:
    """The words for a login shell, which splits them again."""
    return " ".join("'" + word.replace("'", "'\"'\"'") + "'" for word in words)


class Way:
    """How words get to the node: `carrier` before them starts them there, `outer` gets to where the carrier is.

    `outer` is an ssh, whose command is one string for a login shell; so is the carrier's with `quotes`.
    """

    def __init__(self, outer: list[str], carrier: list[str], *, quotes: bool) -> None:
        self.outer, self.carrier, self.quotes = outer, carrier, quotes

    def argv(self, words: list[str]) -> list[str]:
        """What is run here to run the words there."""
        inner = [*self.carrier, quoted(words)] if self.quotes else [*self.carrier, *words]
        return [*self.outer, quoted(inner)] if self.outer else inner
