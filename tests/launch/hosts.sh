# SPDX-License-Identifier: Apache-2.0
# Sourced by hosts_test.sh: two hosts on one machine. Each has its own network, name, mounts and shared memory; a pair of
# virtual interfaces joins them. Everything ends with the shell that sources it.
# shellcheck shell=bash

# begin_hosts FOLDER: makes the hosts a and b, and writes their descriptions into the folder.
begin_hosts() {
  folder=$1 prefix=weft-$$ net=10.77.$((RANDOM % 256))
  declare -gA holder=()
  at_end end_hosts
  mkdir -p "$folder"
  local host
  for host in a b; do ip netns add "$prefix-$host"; done
  ip link add "w$$a" netns "$prefix-a" type veth peer name "w$$b" netns "$prefix-b"
  for host in a b; do
    ip -n "$prefix-$host" link set lo up
    ip -n "$prefix-$host" address add "$net.$([[ $host == a ]] && echo 1 || echo 2)/24" dev "w$$$host"
    ip -n "$prefix-$host" link set "w$$$host" up
    begin_host "$host"
  done
  cat >"$folder/agent" <<EOF
#!/bin/bash
# What mpirun calls in place of ssh: agent HOST COMMAND...
host=\$1
shift
exec nsenter --target "\$(cat "$folder/\$host.holder")" --net --uts --mount --ipc --wd="\$PWD" -- bash -c "\$*"
EOF
  chmod +x "$folder/agent"
}

# A process holds a host's namespaces, which other processes enter.
begin_host() {
  local host=$1
  printf '%s\n' "127.0.0.1 localhost" "$net.1 $prefix-a" "$net.2 $prefix-b" >"$folder/hosts"
  # shellcheck disable=SC2016 # the shell on that host expands it
  nsenter --net="/run/netns/$prefix-$host" unshare --uts --mount --ipc --propagation private bash -c '
    hostname "$1" && mount -t tmpfs none /dev/shm && mount --bind "$2/hosts" /etc/hosts && echo $$ >"$2/$3.tmp" &&
      mv "$2/$3.tmp" "$2/$3"
    exec sleep infinity' hold "$prefix-$host" "$folder" "$prefix-$host.holder" &
  holder[$host]=$!
  disown
  local i
  for ((i = 0; i < 100; i++)); do
    [[ -s $folder/$prefix-$host.holder ]] && return
    sleep 0.1
  done
  echo "host $host does not begin" >&2
  return 1
}

# on_host HOST COMMAND...: runs the command on the host.
on_host() { "$folder/agent" "$prefix-$1" "$(printf '%q ' "${@:2}")"; }

# Arguments of mpirun for a rank on each host. Only TCP joins them.
host_options() {
  echo --host "$prefix-a:1,$prefix-b:1" --mca plm_rsh_agent "$folder/agent" --mca plm rsh --mca btl tcp,self --mca pml ob1 \
    --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24" --oversubscribe --bind-to none -np 2
}

# cut_towards_a: what host b sends to host a is lost, and b still hears a.
cut_towards_a() { ip -n "$prefix-b" route add blackhole "$net.1"; }
cut_link() { ip -n "$prefix-a" link set "w$$a" down; }

end_hosts() {
  local host
  end_jobs
  for host in a b; do
    [[ -z ${holder[$host]:-} ]] || kill -KILL "${holder[$host]}" 2>/dev/null || true
    # The processes that are still in the host's network: ranks, mpirun and its daemon.
    ip netns pids "$prefix-$host" 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
    ip netns delete "$prefix-$host" 2>/dev/null || true
  done
}
