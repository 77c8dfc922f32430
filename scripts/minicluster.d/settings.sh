# shellcheck shell=bash
# Sourced by scripts/minicluster: the settings, and the hosts, addresses and daemons that follow from them.

# `up` stores its settings so that the other verbs agree with it.
load_settings() {
    NODES=3 NET='' USERS="alice bob" LAPTOP_USER=root PAM=slurm DIRECT=0 SLURM_EXTRA='' FSX=directory JOB_TMPDIR=0
    SLURM_PREFIX='' ACCOUNTING=0 SECOND_FACTOR=0 GPU_TYPES=''
    # shellcheck disable=SC1091 # written by save_settings, does not exist at lint time
    if [[ -f $STATE/settings ]]; then . "$STATE/settings"; fi
}

read_settings_from_environment() {
    NODES=${MC_NODES:-3} NET=${MC_NET:-} USERS=${MC_USERS:-alice bob}
    LAPTOP_USER=${MC_LAPTOP_USER:-root} PAM=${MC_PAM:-slurm} DIRECT=${MC_DIRECT:-0}
    SLURM_EXTRA=${MC_SLURM_EXTRA:-} FSX=${MC_FSX:-directory} JOB_TMPDIR=${MC_JOB_TMPDIR:-0}
    SLURM_PREFIX=${MC_SLURM_PREFIX:-} ACCOUNTING=${MC_ACCOUNTING:-0} SECOND_FACTOR=${MC_SECOND_FACTOR:-0}
    GPU_TYPES=${MC_GPU_TYPES:-}
    [[ $NODES =~ ^[1-9][0-9]?$ ]] || die "MC_NODES=$NODES is not 1..99"
    [[ -z $NET ]] || is_range "$NET" || die "MC_NET=$NET is not two bytes like 10.77"
    [[ $PAM =~ ^(off|slurm|adopt)$ ]] || die "MC_PAM=$PAM is not off, slurm or adopt"
    [[ $PAM != adopt ]] || has_freezer ||
        die "MC_PAM=adopt needs the cgroup v1 freezer, which this kernel lacks" "use MC_PAM=slurm"
    [[ $DIRECT =~ ^[01]$ ]] || die "MC_DIRECT=$DIRECT is not 0 or 1"
    [[ $JOB_TMPDIR =~ ^[01]$ ]] || die "MC_JOB_TMPDIR=$JOB_TMPDIR is not 0 or 1"
    [[ $ACCOUNTING =~ ^[01]$ ]] || die "MC_ACCOUNTING=$ACCOUNTING is not 0 or 1"
    [[ $SECOND_FACTOR =~ ^[01]$ ]] || die "MC_SECOND_FACTOR=$SECOND_FACTOR is not 0 or 1"
    [[ $GPU_TYPES =~ ^[a-z0-9_\ ]*$ ]] || die "MC_GPU_TYPES=$GPU_TYPES is not a list of names like a100 l4"
    [[ $FSX =~ ^(directory|gluster)$ ]] || die "MC_FSX=$FSX is not directory or gluster"
    ! has_storage || is_real_root ||
        die "MC_FSX=gluster needs the machine's real root" "use sudo, or MC_FSX=directory"
    [[ -z $SLURM_PREFIX || ($SLURM_PREFIX == /* && -d $SLURM_PREFIX/bin) ]] ||
        die "MC_SLURM_PREFIX=$SLURM_PREFIX is not the whole path of a directory with a bin in it"
    [[ -z $SLURM_EXTRA || -r $SLURM_EXTRA ]] || die "cannot read MC_SLURM_EXTRA=$SLURM_EXTRA"
    id "$LAPTOP_USER" &>/dev/null || die "no such user: MC_LAPTOP_USER=$LAPTOP_USER"
    check_user_names
}

is_range() { # A.B
    [[ $1 =~ ^([1-9][0-9]{0,2})\.(0|[1-9][0-9]{0,2})$ ]] &&
        ((BASH_REMATCH[1] <= 223 && BASH_REMATCH[2] <= 255))
}

# The names go into passwd files, and would push out an account of the same name there.
check_user_names() {
    local u uid
    [[ $USERS =~ [^[:space:]] ]] || die "MC_USERS names nobody"
    for u in $USERS; do
        [[ $u =~ ^[a-z][a-z0-9_-]{0,30}$ ]] || die "MC_USERS: $u is not a user name"
        uid=$(id -u "$u" 2>/dev/null) || continue
        ((uid >= 1000 && uid != 65534)) ||
            die "MC_USERS: $u is a system account" "take another name"
    done
}

save_settings() {
    local v
    for v in NODES NET USERS LAPTOP_USER PAM DIRECT SLURM_EXTRA FSX JOB_TMPDIR SLURM_PREFIX \
        ACCOUNTING SECOND_FACTOR GPU_TYPES; do
        printf '%s=%q\n' "$v" "${!v}"
    done | write_file "$STATE/settings"
}

nodes() { local i; for ((i = 1; i <= NODES; i++)); do echo "node-$i"; done; }
hosts() { ! has_storage || echo storage; echo login; nodes; }
is_host() { local h; for h in $(hosts); do [[ $h != "$1" ]] || return 0; done; return 1; }

address_of() { # HOST: its address on the cluster network
    case $1 in
        login) echo "$NET.0.1" ;;
        storage) echo "$NET.0.2" ;;
        node-*) echo "$NET.0.$((10 + ${1#node-}))" ;;
    esac
}
login_front() { echo "$NET.1.2"; } # login as the laptop sees it

daemons_of() { # HOST
    case $1 in
        login) # in the order in which they can start
            if has_accounting; then echo munged mariadbd slurmdbd slurmctld sshd; else echo munged slurmctld sshd; fi ;;
        storage) echo glusterd ;;
        *) echo munged slurmd sshd ;;
    esac
}
