# shellcheck shell=bash
# Sourced by scripts/minicluster: keys, the users' homes, and the laptop's ssh config.

make_key() { # FILE COMMENT
    [[ ! -s $1 || ! -s $1.pub ]] || return 0
    rm -f "$1" "$1.pub"
    ssh-keygen -q -t ed25519 -N '' -C "$2" -f "$1"
}

make_keys() {
    local h
    mkdir -p "$KEYS" "$LAPTOP"
    chmod 700 "$KEYS"
    [[ -s $KEYS/munge.key ]] || head -c 1024 /dev/urandom | write_file "$KEYS/munge.key"
    for h in $(hosts); do make_key "$KEYS/$h" "$h"; done
    make_key "$LAPTOP/id_ed25519" laptop
}

make_home() { # USER UID
    local home=$SHARED/home/$1 new=$SHARED/home/.new-$1
    [[ ! -d $home ]] || return 0
    rm -rf "$new"
    cp -r /etc/skel "$new"
    mkdir "$new/.ssh"
    make_key "$new/.ssh/id_ed25519" "$1@mini"
    cat "$new/.ssh/id_ed25519.pub" "$LAPTOP/id_ed25519.pub" >"$new/.ssh/authorized_keys"
    chmod 700 "$new" "$new/.ssh"
    chmod 600 "$new"/.ssh/{authorized_keys,id_ed25519}
    chown -R "$2:$2" "$new"
    mv "$new" "$home"
}

make_shared_dirs() {
    local u uid=$FIRST_UID
    mkdir -p "$SHARED"/{home,fsx,slurm}
    chmod 1777 "$SHARED/fsx"
    for u in $USERS; do
        make_home "$u" "$uid"
        uid=$((uid + 1))
    done
}

known_hosts_lines() {
    local h
    echo "login,$(address_of login),$(login_front) $(cut -d' ' -f1,2 "$KEYS/login.pub")"
    for h in $(nodes); do
        echo "$h,$(address_of "$h") $(cut -d' ' -f1,2 "$KEYS/$h.pub")"
    done
}

# Needs no /etc/hosts on the laptop: it knows login by address, and the nodes' names are
# looked up by login, at the other end of the jump.
laptop_ssh_config() {
    local h
    cat <<EOF
Host login node-*
    User ${USERS%% *}
    IdentityFile $LAPTOP/id_ed25519
    IdentitiesOnly yes
    UserKnownHostsFile $LAPTOP/known_hosts
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
    BatchMode $(has_second_factor && echo no || echo yes)
    ConnectTimeout 10
Host login
    HostName $(login_front)
EOF
    if [[ $DIRECT == 1 ]]; then
        for h in $(nodes); do printf 'Host %s\n    HostName %s\n' "$h" "$(address_of "$h")"; done
    else
        printf 'Host node-*\n    ProxyJump login\n'
    fi
}

write_laptop_files() {
    known_hosts_lines | write_file "$LAPTOP/known_hosts"
    laptop_ssh_config | write_file "$LAPTOP/ssh_config"
    chown -R "$LAPTOP_USER:" "$LAPTOP"
    chmod 600 "$LAPTOP/id_ed25519"
}
