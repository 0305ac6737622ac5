#!/usr/bin/env bash
# A Slurm of four nodes on this machine, for tests: real daemons with accounting, on the loopback interface only.
#
#   slurm.sh install              the Debian packages that it needs; no server of theirs is started
#   slurm.sh up FOLDER            start everything; state and logs are kept in FOLDER
#   slurm.sh crash FOLDER NODE    kill a node's daemon and all that runs under it, as when a machine loses its power
#   slurm.sh down FOLDER          stop everything that `up` started
#
# SLURM_CONF=FOLDER/slurm.conf and FOLDER/bin ahead in PATH are all that Slurm's commands need then. For root only.
set -euo pipefail
PACKAGES=(munge slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins mariadb-server)
NODES=(n1 n2 n3 n4)

fail() { echo "slurm.sh: $*" >&2; exit 1; }

wait_for() { # SECONDS COMMAND...: until it succeeds
    local tries=$(($1 * 5))
    shift
    until "$@" > /dev/null 2>&1; do
        [ $((tries -= 1)) -gt 0 ] || fail "waited in vain for: $*"
        sleep 0.2
    done
}

install() {
    local there # "ii" is a package that is there; one that was removed leaves its name
    there=$(dpkg-query --show --showformat='${db:Status-Abbrev}\n' "${PACKAGES[@]}" 2> /dev/null | grep -c '^ii' || true)
    [ "$there" = ${#PACKAGES[@]} ] && return
    export DEBIAN_FRONTEND=noninteractive
    local policy=/usr/sbin/policy-rc.d # what it answers, 101, keeps the packages from starting their servers
    if [ ! -e $policy ]; then
        trap "rm -f $policy" EXIT
        printf '#!/bin/sh\nexit 101\n' > $policy
        chmod +x $policy
    fi
    { apt-get -qq update && apt-get -qq install -y --no-install-recommends "${PACKAGES[@]}"; } > /dev/null
}

configure() {
    [ ! -e "$at/slurm.conf" ] || fail "$at has been used; it must be a new folder"
    mkdir -p "$at"/{bin,state,spool,log,mysql,munge}
    chmod 755 "$at"
    head --bytes 128 /dev/urandom > "$at/munge.key"
    chmod 600 "$at/munge.key"
    cat > "$at/slurm.conf" <<EOF
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=26817
SlurmUser=root
SlurmdUser=root
AuthInfo=socket=$at/munge/socket
StateSaveLocation=$at/state
SlurmdSpoolDir=$at/spool/%n
SlurmctldPidFile=$at/slurmctld.pid
SlurmdPidFile=$at/slurmd.%n.pid
SlurmctldLogFile=$at/log/slurmctld
SlurmdLogFile=$at/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=26819
AccountingStoragePass=$at/munge/socket
# Without cgroups, memory is watched: once a second, and a step that has more than it asked for is killed.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
# Waits of minutes, in seconds: when a silent node is given up, and when a killed job must be gone.
SlurmdTimeout=10
KillWait=2
SchedulerParameters=sched_interval=2,bf_interval=2
ReturnToService=2
NodeName=n[1-4] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[26821-26824] CPUs=1 RealMemory=4000
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE
EOF
    cat > "$at/slurmdbd.conf" <<EOF
DbdHost=localhost
DbdPort=26819
SlurmUser=root
AuthInfo=socket=$at/munge/socket
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=26806
StorageUser=slurm
LogFile=$at/log/slurmdbd
PidFile=$at/slurmdbd.pid
EOF
    chmod 600 "$at/slurmdbd.conf"
    # Inside a job the executor drops SLURM_CONF before it calls srun.
    printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$at/slurm.conf" "$(command -v srun)" > "$at/bin/srun"
    chmod +x "$at/bin/srun"
}

database() { mariadb --no-defaults --socket="$at/mysql.sock" --user=root "$@"; }

start() {
    export SLURM_CONF=$at/slurm.conf
    munged --force --key-file="$at/munge.key" --socket="$at/munge/socket" --pid-file="$at/munged.pid" \
        --log-file="$at/log/munged" --seed-file="$at/munge.seed"
    mariadb-install-db --no-defaults --user=root --datadir="$at/mysql" --skip-test-db > "$at/log/mysql" 2>&1
    setsid mariadbd --no-defaults --user=root --datadir="$at/mysql" --socket="$at/mysql.sock" \
        --pid-file="$at/mariadbd.pid" --bind-address=127.0.0.1 --port=26806 --skip-log-bin \
        >> "$at/log/mysql" 2>&1 < /dev/null &
    wait_for 30 database --execute "SELECT 1"
    database --execute "CREATE USER slurm@'127.0.0.1'; GRANT ALL ON slurm_acct_db.* TO slurm@'127.0.0.1'"
    slurmdbd
    wait_for 30 sacctmgr --noheader list cluster
    sacctmgr --immediate --quiet add cluster test
    sacctmgr --immediate --quiet add account science
    sacctmgr --immediate --quiet add user root account=science
    slurmctld -i
    wait_for 30 scontrol ping
    for node in "${NODES[@]}"; do slurmd -N "$node"; done
    wait_for 30 idle
}

idle() { [ "$(sinfo --noheader --Node --states=idle --format=%N | wc -l)" = ${#NODES[@]} ]; }

tree() { # PID...: they and all their descendants
    local pid
    for pid in "$@"; do
        echo "$pid"
        tree $(pgrep -P "$pid")
    done
}

steps() { # NODE: what watches over its jobs' steps, known by the log that it has open
    local pid
    for pid in $(pgrep slurmstepd); do
        if ls -l "/proc/$pid/fd" 2> /dev/null | grep -q "$at/log/$1\$"; then echo "$pid"; fi
    done
}

crash() { kill -KILL $(cat "$at/slurmd.$1.pid") $(tree $(steps "$1")); }

pids() { cat "$@" 2> /dev/null || true; } # FILE...: the daemons that have written these

quiet() { [ -z "$(squeue --noheader)" ]; }

gone() { ! kill -0 "$@"; }

# Daemons that wait for others are ended before those.
stop() {
    export SLURM_CONF=$at/slurm.conf
    timeout 10 scancel --user root && wait_for 20 quiet || true
    local daemons node
    for node in "${NODES[@]}"; do
        kill -KILL $(tree $(steps "$node")) 2> /dev/null || true
    done
    for daemons in "$at"/'slurm*.pid' "$at"/mariadbd.pid "$at"/munged.pid; do
        daemons=$(pids $daemons)
        kill $daemons 2> /dev/null && wait_for 20 gone $daemons || true
    done
}

[ "$(id -u)" = 0 ] || fail "only root can start the daemons"
[ "${1-}" = install ] || at=$(realpath --canonicalize-missing "${2:?a folder}")
case ${1-} in
    install) install ;;
    up) configure && start ;;
    crash) crash "${3:?a node}" ;;
    down) stop ;;
    *) fail "install, up, crash or down, not ${1-nothing}" ;;
esac
