# shellcheck shell=bash
# Sourced by scripts/minicluster: slurm.conf and the files beside it.

# node-1 has no GPU, unless it is the only node.
gpu_nodes() { nodes | if ((NODES > 1)); then tail -n +2; else cat; fi; }

# gpu_type NODE: of MC_GPU_TYPES, which the nodes with GPUs get in turn; nothing where none are named.
gpu_type() {
    local types turn
    read -ra types <<<"$GPU_TYPES"
    ((${#types[@]})) || return 0
    turn=$(gpu_nodes | grep -nx "$1")
    echo "${types[((${turn%%:*} - 1) % ${#types[@]})]}"
}

gres_lines() {
    local h type
    for h in $(gpu_nodes); do
        type=$(gpu_type "$h")
        echo "NodeName=$h Name=gpu ${type:+Type=$type }File=/dev/fakegpu[0-1]"
    done
}

comma_list() { paste -sd,; }

node_lines() {
    local h gres type
    for h in $(nodes); do
        gres=
        if gpu_nodes | grep -qx "$h"; then
            type=$(gpu_type "$h")
            gres=" Gres=gpu:${type:+$type:}2"
        fi
        echo "NodeName=$h NodeAddr=$(address_of "$h") CPUs=4 RealMemory=4000 TmpDisk=1000$gres State=UNKNOWN"
    done
}

# A directory for each job on the node's own disk, as many sites have it: root makes it before the first
# step and removes it after the last one; every task is told where it is. A session of ssh is not.
job_tmpdir_lines() {
    [[ $PAM == adopt ]] || echo PrologFlags=Alloc # X11 implies it
    printf '%s=/etc/slurm/%s\n' Prolog job_prolog TaskProlog task_prolog Epilog job_epilog
}

write_job_tmpdir_scripts() {
    write_script "$SHARED/slurm/job_prolog" <<'EOF'
#!/bin/sh
install -d -m 700 -o "$SLURM_JOB_UID" -g "$SLURM_JOB_GID" "/localscratch/$SLURM_JOB_USER.$SLURM_JOB_ID.0"
EOF
    write_script "$SHARED/slurm/task_prolog" <<'EOF'
#!/bin/sh
echo "export SLURM_TMPDIR=/localscratch/$SLURM_JOB_USER.$SLURM_JOB_ID.0"
EOF
    write_script "$SHARED/slurm/job_epilog" <<'EOF'
#!/bin/sh
rm -rf "/localscratch/$SLURM_JOB_USER.$SLURM_JOB_ID.0"
EOF
}

write_script() { # FILE
    write_file "$1"
    chmod 755 "$1"
}

slurm_conf() {
    cat <<EOF
ClusterName=mini
SlurmctldHost=login($(address_of login))
AuthType=auth/munge
CredType=cred/munge
SlurmUser=slurm
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=/var/log/slurmctld.log
SlurmdLogFile=/var/log/slurmd.log
# No resource cgroups.
$(
        if [[ $PAM == adopt ]]; then
            printf 'ProctrackType=proctrack/cgroup\nPrologFlags=X11\n'
        else
            echo ProctrackType=proctrack/linuxproc
        fi
    )
$(if ((JOB_TMPDIR)); then job_tmpdir_lines; fi)
TaskPlugin=task/none
$(accounting_lines)
MpiDefault=none
# The nodes claim more CPUs than this machine has.
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=256
GresTypes=gpu
# The user's limits on login mean nothing on the nodes.
PropagateResourceLimits=NONE
# A test does not wait: short timers. A dead slurmd is found in about 3 times
# MessageTimeout, which slurmctld reads at its start only.
SlurmdTimeout=5
MessageTimeout=5
KillWait=5
OverTimeLimit=0
BatchStartTimeout=10
# A node that was lost comes back by itself; one set down by hand stays down.
ReturnToService=1
MinJobAge=300
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=5,bf_interval=5,batch_sched_delay=0,sched_min_interval=0
$(node_lines)
PartitionName=debug Nodes=$(nodes | comma_list) Default=YES DefaultTime=00:05:00 MaxTime=00:10:00 State=UP
PartitionName=gpu Nodes=$(gpu_nodes | comma_list) Default=NO DefaultTime=00:10:00 MaxTime=04:00:00 State=UP
$(if [[ -n $SLURM_EXTRA ]]; then cat "$SLURM_EXTRA"; fi)
EOF
}

# Before 22.05 there was no such setting, and slurmd stops at one that it does not know.
knows_cgroup_plugin() {
    local version
    [[ -n $SLURM_PREFIX && -x $SLURM_PREFIX/sbin/slurmd ]] || return 0
    version=$("$SLURM_PREFIX/sbin/slurmd" -V)
    [[ $(printf '%s\n' 22.05 "${version##* }" | sort -V | head -n 1) == 22.05 ]]
}

# slurm.conf comes last: it says that the others are there. A running cluster keeps it,
# since somebody may have edited it (followed by `scontrol reconfigure`).
write_slurm_files() {
    [[ ! -s $SHARED/slurm/slurm.conf ]] || return 0
    gres_lines | write_file "$SHARED/slurm/gres.conf"
    # slurmd looks for cgroups even when nothing uses them, and dies if it finds none
    # mounted; naming the version stops it from looking.
    if knows_cgroup_plugin; then echo "CgroupPlugin=cgroup/v1"; fi | write_file "$SHARED/slurm/cgroup.conf"
    if ((JOB_TMPDIR)); then write_job_tmpdir_scripts; fi
    write_accounting_files
    slurm_conf | write_file "$SHARED/slurm/slurm.conf"
}

# Job numbers start at 1 again, so slurmd must forget the credentials of the old ones too, and so must accounting.
forget_jobs() {
    rm -rf "$SHARED/slurm/slurm.conf" "$HOSTS_DIR"/*/var/spool/{slurmctld,slurmd} "$HOSTS_DIR"/*/var/lib/mysql
}
