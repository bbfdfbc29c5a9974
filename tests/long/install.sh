#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the packages that cpack makes on a bare Debian 12, and follows the README as an ordinary user: install.sh SCRATCH
set -euo pipefail
scratch=$1
source launch/common.sh
((EUID == 0)) || { echo "only root can make a bare system"; exit 77; }
command -v debootstrap >/dev/null || { echo "debootstrap is not installed"; exit 77; }
command -v dpkg-shlibdeps >/dev/null || { echo "dpkg-shlibdeps is not installed (package dpkg-dev)"; exit 77; }

build package weft
rm -f build/package/weft*.deb build/package/weft*.tar.gz
(cd build/package && cpack)

bare=$scratch/bare
mounted=()
end() {
  local folder
  for folder in "${mounted[@]}"; do umount "$folder" || true; done
}
trap end EXIT
say "A bare Debian 12 in $bare"
debootstrap --variant=minbase bookworm "$bare" >"$scratch/debootstrap.log" ||
  { tail -n 5 "$scratch/debootstrap.log"; echo "debootstrap cannot make a system here"; exit 77; }
for folder in proc sys dev dev/shm; do
  mount --bind "/$folder" "$bare/$folder" || { echo "/$folder cannot be mounted in a bare system here"; exit 77; }
  mounted=("$bare/$folder" "${mounted[@]}")
done
cp /etc/resolv.conf "$bare/etc/"
cp build/package/weft*.deb "$bare/weft.deb"
cp build/package/weft*.tar.gz "$bare/weft.tar.gz"

# The environment of a fresh system; only a proxy is passed on.
in_bare() {
  chroot "$bare" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} "$@"
}
by_user() { in_bare su - reader -c "$1"; }

steps=''
[[ -z $WEFT_LONG_SHORT ]] || steps='--set train.max_steps=20 --set schedule.warmup_steps=5'

# page NAME PATH: the page of the README in an empty folder, with the weft on this PATH; prints the seconds and the BLEU.
page() {
  local name=$1 began=$SECONDS score
  say "The README's page with the weft of the $name"
  by_user "set -e; export PATH=$2:\$PATH; mkdir $name; cd $name
    weft doctor
    weft jobs sample-translation > job.yaml
    weft prepare job.yaml
    weft validate job.yaml --ranks 2
    mpirun -np 2 --bind-to none --oversubscribe weft train job.yaml $steps
    weft evaluate job.yaml --split test | tee scores
    echo 'She buys a red book.' | weft translate --checkpoint runs/sample-translation --beam 5"
  score=$(sed -nE 's/^BLEU[^=]* = ([0-9.]+) .*/\1/p' "$bare/home/reader/$name/scores")
  echo "seconds-of-the-$name $((SECONDS - began))" >&3
  echo "BLEU-of-the-$name $score" >&3
  [[ -n $WEFT_LONG_SHORT ]] || awk -v score="$score" 'BEGIN {exit !(score >= 95 && score <= 100)}' || fail "the $name: BLEU $score, less than 95"
}

began=$SECONDS
in_bare apt-get update -q
in_bare apt-get install -q -y --no-install-recommends /weft.deb
echo "seconds-of-apt $((SECONDS - began))" >&3
in_bare useradd --create-home --shell /bin/bash reader
by_user 'weft --version'
! by_user 'touch /usr/share/weft/x' 2>/dev/null || fail "the user can write to /usr/share/weft"
page deb /usr/bin

# The libraries that the package brought stay; the program is then that of the archive alone.
in_bare dpkg --remove weft
! by_user 'command -v weft' || fail "the package leaves a program behind"
by_user 'tar -xzf /weft.tar.gz'
# shellcheck disable=SC2016 # the user's shell expands it
page archive '$(echo $HOME/weft-*/bin)'
echo "the packages work on a bare Debian 12"
