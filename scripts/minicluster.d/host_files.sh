# shellcheck shell=bash
# Sourced by scripts/minicluster: a host's own /etc, /var and /scratch.

# The private /etc of a host, made anew at each boot from this machine's.
make_host_etc() { # HOST
    local h=$1 etc=$HOSTS_DIR/$1/etc
    rm -rf "$etc"
    cp -a /etc "$etc" 2>/dev/null || true # in a user namespace some files cannot be read
    rm -rf "$etc"/ssh/ssh_host_* "$etc"/ssh/*.d "$etc"/{munge,slurm,apt}
    rm -f "$etc"/{hostname,hosts,resolv.conf,motd,localtime}
    add_users "$etc"
    echo "$h" >"$etc/hostname"
    hosts_lines >"$etc/hosts"
    : >"$etc/resolv.conf"
    sed -i 's/^hosts:.*/hosts: files/' "$etc/nsswitch.conf"
    install -d -o munge -g munge -m 700 "$etc/munge"
    install -o munge -g munge -m 400 "$KEYS/munge.key" "$etc/munge/munge.key"
    mkdir "$etc/slurm" # mount point of the shared configuration
    configure_sshd "$1" "$etc"
}

hosts_lines() {
    local h
    echo "127.0.0.1 localhost"
    for h in $(hosts); do echo "$(address_of "$h") $h"; done
}

add_users() { # ETC
    local u uid=$FIRST_UID f
    touch "$1/shadow" # not copied in a user namespace
    for u in $USERS; do
        for f in passwd group shadow; do sed -i "/^$u:/d" "$1/$f"; done
        echo "$u:x:$uid:$uid:$u:/home/$u:/bin/bash" >>"$1/passwd"
        echo "$u:x:$uid:" >>"$1/group"
        echo "$u:*:19000:0:99999:7:::" >>"$1/shadow"
        uid=$((uid + 1))
    done
}

configure_sshd() { # HOST ETC
    install -m 600 "$KEYS/$1" "$2/ssh/ssh_host_ed25519_key"
    known_hosts_lines >"$2/ssh/ssh_known_hosts"
    cat >"$2/ssh/sshd_config" <<'EOF'
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM yes
UseDNS no
PrintMotd no
X11Forwarding yes
AcceptEnv LANG LC_*
MaxStartups 100:30:200
Subsystem sftp internal-sftp
EOF
    ! asks_for_code "$1" || ask_for_code "$2"
    # Without pam_loginuid, pam_limits and the rest: they fail in containers.
    {
        echo "auth required $(auth_module "$1")"
        echo "account required pam_unix.so"
        case $1-$PAM in
            node-*-slurm) echo "account required pam_slurm.so" ;;
            node-*-adopt) echo "account required pam_slurm_adopt.so" ;;
        esac
        echo "session required pam_permit.so"
    } >"$2/pam.d/sshd"
}

make_host_var() { # HOST
    local var=$HOSTS_DIR/$1/var
    mkdir -p "$var"/{cache,lib,log,spool,tmp}
    chmod 1777 "$var/tmp"
    ln -sfn /run "$var/run"
    install -d -o munge -g munge -m 711 "$var/lib/munge"
    install -d -o munge -g munge -m 700 "$var/log/munge"
    install -d -o slurm -g slurm -m 755 "$var/spool/slurmctld"
    install -d -m 755 "$var/spool/slurmd"
    touch "$var"/log/slurm{ctld,dbd}.log
    chown slurm:slurm "$var"/log/slurm{ctld,dbd}.log
    install -d -m 1777 "$HOSTS_DIR/$1/scratch"
    install -d -m 755 "$HOSTS_DIR/$1/localscratch"
}
