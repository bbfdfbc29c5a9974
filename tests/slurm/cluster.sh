# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests of launch/slurm/: a Slurm on this machine alone, with munge, a controller and two nodes (w1, w2:
# two slurmd of one host), all below one folder, on ports that are free; the cluster ends with the script. Needs root.
# shellcheck shell=bash

# free_ports N: prints N TCP ports at which no process listens.
free_ports() {
  local port found=()
  while ((${#found[@]} < $1)); do
    port=$((20000 + RANDOM % 10000))
    [[ " ${found[*]} " == *" $port "* ]] || (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || found+=("$port")
  done
  echo "${found[*]}"
}

# start_cluster FOLDER: starts the cluster, and sets SLURM_CONF for the commands that follow.
start_cluster() {
  cluster=$1
  local ports host
  mkdir -p "$cluster"/{state,log,w1,w2}
  chmod 755 "$cluster"
  read -ra ports <<<"$(free_ports 3)"
  host=$(hostname -s)
  export SLURM_CONF=$cluster/slurm.conf
  cat >"$SLURM_CONF" <<END
ClusterName=weft
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge.socket
CryptoType=crypto/munge
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/%n
TmpFS=$cluster/%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/%n.pid
SlurmctldLogFile=$cluster/log/slurmctld
SlurmdLogFile=$cluster/log/%n
SlurmctldPort=${ports[0]}
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=1
ReturnToService=2
JobRequeue=1
MpiDefault=none
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=30
SlurmdTimeout=60
NodeName=w1 NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=2 RealMemory=1000 State=UNKNOWN
NodeName=w2 NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=low Nodes=w[1-2] Default=YES MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=20
PartitionName=high Nodes=w[1-2] MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
END
  at_end stop_cluster
  head -c 1024 /dev/urandom >"$cluster/munge.key"
  chmod 400 "$cluster/munge.key"
  munged --force --socket="$cluster/munge.socket" --key-file="$cluster/munge.key" --pid-file="$cluster/munged.pid" \
    --log-file="$cluster/log/munged" --seed-file="$cluster/munge.seed"
  slurmctld -f "$SLURM_CONF"
  slurmd -f "$SLURM_CONF" -N w1
  slurmd -f "$SLURM_CONF" -N w2
  local i
  for ((i = 0; i < 150; i++)); do
    [[ $(sinfo -h -p low -o %t 2>/dev/null) == idle ]] && return
    sleep 0.2
  done
  sinfo -N >&2 || true
  tail -n 20 "$cluster"/log/* >&2
  return 1
}

# Ends the jobs first, so that their steps end; then the daemons that are still alive, by their own pid files.
stop_cluster() {
  local file pid i
  scancel --user=root --signal=KILL --full 2>/dev/null || true
  scancel --user=root 2>/dev/null || true
  for file in "$cluster"/{w1,w2,slurmctld,munged}.pid; do
    [[ -s $file ]] || continue
    pid=$(<"$file")
    kill "$pid" 2>/dev/null || continue
    for ((i = 0; i < 50; i++)); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
  done
  # Steps are separate processes, whose environment names the configuration.
  for file in /proc/[0-9]*/environ; do
    pid=${file//[!0-9]/}
    [[ $pid != "$$" && $pid != "$BASHPID" && $(readlink "/proc/$pid/exe") == */slurmstepd ]] || continue
    grep -qzxF "SLURM_CONF=$SLURM_CONF" "$file" 2>/dev/null && kill -KILL "$pid" 2>/dev/null
  done
  return 0
}
