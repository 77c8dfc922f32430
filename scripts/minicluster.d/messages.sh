# shellcheck shell=bash
# Sourced by scripts/minicluster: messages and error exits.

say() { printf 'minicluster: %s\n' "$*" >&2; }

die() { # MESSAGE [HINT]
    say "error: $1"
    [[ -z ${2:-} ]] || printf 'hint: %s\n' "$2" >&2
    exit 1
}

misuse() { # MESSAGE
    say "error: $1"
    printf 'hint: %s\n' "\`minicluster help\` lists the verbs" >&2
    exit 2
}

# For failures nobody foresaw; the foreseen ones go through die.
unforeseen() { # FILE:LINE COMMAND
    say "error: $1 failed: $2"
    printf 'hint: %s\n' "\`minicluster down\` cleans up what this left; logs are in $STATE" >&2
}
trap 'unforeseen "${BASH_SOURCE[0]##*/}:$LINENO" "$BASH_COMMAND"' ERR
