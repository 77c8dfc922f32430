"""`sync`, and the unison that it runs."""

from __future__ import annotations

from scratchflow.model.errors.base import ScratchflowError


class SyncConflict(ScratchflowError):
    """Both sides of a sync changed the same file; both versions stay where they are."""

    code = "sync.conflict"
    exit_code = 41
    message = "{count} paths changed on both sides"
    hint = "`scratchflow sync --interactive` asks for each; `--prefer PROFILE` or `--prefer newer` decides for all"


class SyncNotConfigured(ScratchflowError):
    """The configuration does not say what is to be kept equal, or in which homes."""

    code = "sync.not_configured"
    exit_code = 10
    message = "{problem} in `[sync]` of `{path}`"
    hint = '`scratchflow config set sync.profiles \'["uni", "aws"]\'` and `scratchflow config set sync.folders \'["projects", "notes"]\'`'


class SyncFolderRefused(ScratchflowError):
    """A folder of `[sync]`, or a path of `--path`, cannot be kept equal."""

    code = "sync.folder_refused"
    exit_code = 10
    message = "`{folder}` does not sync: {reason}"
    hint = (
        "take it out of `folders` in `[sync]`, or name a directory of the home; nothing was changed"
    )


class SyncPathRefused(SyncFolderRefused):
    """A path of `--path` is nothing that `sync` looks at."""

    code = "sync.path_refused"
    hint = (
        "`--path` takes a path in the folders that are synced: {folders}; `scratchflow config set sync.folders` names"
        " others; nothing was changed"
    )


class SyncPathMissing(ScratchflowError):
    """A path of `--path` is in none of the homes."""

    code = "sync.no_such_path"
    exit_code = 30
    message = "`{path}` is in none of the homes: {profiles}"
    hint = (
        "check how it is written: paths begin at the home, like `notes/todo.md`; nothing was synced. A conflict about a path that is gone"
        " everywhere leaves the list with the next whole `scratchflow sync`"
    )


class SyncSameHome(ScratchflowError):
    """Two profiles of `[sync]` have one home."""

    code = "sync.same_home"
    exit_code = 10
    message = "`{first}` and `{other}` have the same home, `{home}`"
    hint = "name one of them in `profiles` of `[sync]`"


class UnisonMissing(ScratchflowError):
    """A login host has no unison."""

    code = "sync.no_unison"
    exit_code = 40
    message = "there is no working `{program}` on `{host}` (profile `{profile}`): {reason}"
    hint = 'install the package `unison`, or put a static one from https://github.com/bcpierce00/unison/releases there and name it: `[sync.programs]`, `{profile} = "~/bin/unison"`'


class UnisonMismatch(ScratchflowError):
    """The two login hosts have versions of unison that do not understand each other."""

    code = "sync.unison_versions"
    exit_code = 40
    message = "unison is {ours} on `{first}` and {theirs} on `{other}`, which do not work together"
    hint = "2.52 or newer on both sides works: put a static one from https://github.com/bcpierce00/unison/releases where it is older, and name it in `[sync.programs]`"


LOST_HOME = "when they were lost on the other side, `scratchflow sync -- -ignorearchives` brings them back there"


class SyncManyDeletions(ScratchflowError):
    """A sync would delete many files of one side, and nobody agreed to that."""

    code = "sync.many_deletions"
    exit_code = 36
    message = "`{profile}` would lose {files} of {total} files; nothing was changed"
    hint = (
        "`scratchflow sync --dry-run` lists what would go, a directory in one line; "
        "`--allow-deletions` deletes them, with a copy in `~/.unison/backup` there; " + LOST_HOME
    )


class SyncBusy(ScratchflowError):
    """Another sync works with the same home."""

    code = "sync.busy"
    exit_code = 34
    message = "another sync works with the home of `{profile}`; nothing was changed"
    hint = "wait for its end and try again; one that lost its connection ends by itself within two minutes"
    retryable = True


FULL_HOME = (
    "make room there: on its login host, `df -h ~` and `quota -s` show how full it is, and what `sync` replaced or deleted"
    " before is in `~/.unison/backup`; then `scratchflow sync` goes on where it stopped"
)


class SyncHomeFull(ScratchflowError):
    """The disk or quota of a home is full."""

    code = "sync.home_full"
    exit_code = 33
    message = "the home of profile `{profile}` is full: {reason}"
    hint = FULL_HOME
    retryable = True


class UnisonFailed(ScratchflowError):
    """Unison gave up."""

    code = "sync.failed"
    exit_code = 40
    message = "unison gave up between `{first}` and `{other}`: {words}"
    hint = "`scratchflow sync` again goes on where it stopped; when it says the same again, its words tell what to do, and `scratchflow sync -- OPTION` gives unison an option. What it knows of the last sync (its archives) is forgotten with `scratchflow sync -- -ignorearchives`: then all files are compared"
    retryable = True
