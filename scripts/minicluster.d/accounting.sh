# shellcheck shell=bash
# Sourced by scripts/minicluster: MC_ACCOUNTING=1, where MariaDB and slurmdbd on login make `sacct` real.

has_accounting() { [[ $ACCOUNTING == 1 ]]; }

# Peaks are sampled every second, and a step that uses more than its job's memory is killed.
accounting_lines() {
    if has_accounting; then
        cat <<'LINES'
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=login
LINES
    else
        printf '%s\n' JobAcctGatherType=jobacct_gather/none AccountingStorageType=accounting_storage/none
    fi
}

# slurmdbd refuses a file that others can read; the database knows its user by the socket, without a password.
write_accounting_files() {
    has_accounting || return 0
    write_file "$SHARED/slurm/slurmdbd.conf" <<'LINES'
AuthType=auth/munge
DbdHost=login
SlurmUser=slurm
LogFile=/var/log/slurmdbd.log
PidFile=/var/spool/slurmctld/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm_acct_db
LINES
    chown slurm:slurm "$SHARED/slurm/slurmdbd.conf"
    chmod 600 "$SHARED/slurm/slurmdbd.conf"
    write_file "$SHARED/slurm/accounting.sql" <<'LINES'
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
LINES
}

# The kernel outlives every crash of a host, so nothing has to wait for the disk.
start_mariadbd() { # HOST
    make_database "$1"
    # shellcheck disable=SC2016 # expanded by the inner shell
    in_host "$1" setsid /bin/sh -c '"$@" </dev/null >>/var/log/mariadbd.log 2>&1 &' sh \
        mariadbd --no-defaults --user=mysql --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock \
        --skip-networking --init-file=/etc/slurm/accounting.sql --performance-schema=OFF \
        --innodb-buffer-pool-size=32M --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync
    wait_in_host "$1" 'mariadbd does not answer' mariadb --no-defaults -S /run/mysqld/mysqld.sock -e ''
}

# Made aside: an `up` that is killed leaves a whole one or none.
make_database() { # HOST
    in_host "$1" install -d -o mysql -g mysql -m 755 /run/mysqld
    ! in_host "$1" test -d /var/lib/mysql || return 0
    in_host "$1" rm -rf /var/lib/mysql.new
    in_host "$1" mariadb-install-db --no-defaults --user=mysql --datadir=/var/lib/mysql.new \
        --auth-root-authentication-method=socket --skip-test-db --innodb-flush-method=nosync \
        >"$HOSTS_DIR/$1/var/log/mariadb-install-db.log" 2>&1
    in_host "$1" mv /var/lib/mysql.new /var/lib/mysql
}

# slurmctld does not start without the cluster's entry in the database.
start_slurmdbd() { # HOST
    in_host "$1" setpriv --reuid=slurm --regid=slurm --init-groups slurmdbd
    wait_in_host "$1" 'slurmdbd does not answer' sacctmgr --noheader list cluster
    in_host "$1" sacctmgr --quiet --immediate add cluster mini >/dev/null || true # it is there already
}

wait_in_host() { # HOST COMPLAINT CMD...
    local deadline=$((SECONDS + 60))
    until in_host "$1" "${@:3}" &>/dev/null; do
        ((SECONDS < deadline)) || die "$2" "see the logs in $HOSTS_DIR/$1/var/log"
        sleep 0.1
    done
}
