# shellcheck shell=bash
# Sourced by scripts/minicluster: one-time codes that login asks for besides the key (MC_SECOND_FACTOR=1).

CODE_SECRETS=/etc/users.oath # on login

has_second_factor() { [[ $SECOND_FACTOR == 1 ]]; }
asks_for_code() { has_second_factor && [[ $1 == login ]]; } # HOST

# What PAM asks on a host, besides the key that sshd has looked at.
auth_module() { # HOST
    if asks_for_code "$1"; then echo "pam_oath.so usersfile=$CODE_SECRETS window=20 digits=6"; else echo pam_deny.so; fi
}

# The secret of a user, and how many codes were given out: known to whoever may read the laptop's files.
code_file() { echo "$LAPTOP/code-$1"; } # USER

ask_for_code() { # ETC
    local u secret
    sed -i 's/^KbdInteractiveAuthentication no/KbdInteractiveAuthentication yes/' "$1/ssh/sshd_config"
    # Only for who comes from the laptop: nodes reach login with a key alone, as within any cluster.
    cat >>"$1/ssh/sshd_config" <<EOF
Match Address $NET.1.0/30
    AuthenticationMethods publickey,keyboard-interactive:pam
EOF
    for u in $USERS; do
        secret=$(head -c 20 /dev/urandom | od -An -tx1 | tr -d ' \n')
        printf 'HOTP\t%s\t-\t%s\n' "$u" "$secret"
        echo "$secret 0" | write_file "$(code_file "$u")"
    done | (umask 077 && cat >"$1${CODE_SECRETS#/etc}")
}

cmd_code() { # [USER]
    local user=${1:-${USERS%% *}} secret given
    has_second_factor || die "login asks for no code here" "start the cluster with MC_SECOND_FACTOR=1"
    read -r secret given <"$(code_file "$user")" || die "no such user: $user"
    echo "$secret $((given + 1))" | write_file "$(code_file "$user")"
    oathtool --hotp --counter="$given" "$secret"
}
