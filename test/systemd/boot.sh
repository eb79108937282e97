#!/bin/bash
# Boots systemd as process 1 of new namespaces: process ids, mounts, network, IPC, host name and control groups. Its root is
# an overlay on this machine's root, so that none of its changes remain. Needs root, but no container engine.
#   boot.sh DIRECTORY CHECKOUT NODE
# DIRECTORY must be empty. CHECKOUT is mounted read-only at /opt/energy-rental/releases/one, NODE at /usr/bin/node.
set -euo pipefail
directory=$1 checkout=$2 node=$3

if [ "${BOOT_STAGE:-}" != inside ]; then
  groups=/sys/fs/cgroup
  [ -e "$groups/cgroup.controllers" ] || groups=$groups/systemd
  group=$groups/$(basename "$directory")
  mkdir "$group"
  echo $$ >"$group/cgroup.procs"
  BOOT_STAGE=inside exec unshare --mount --pid --net --ipc --uts --cgroup --fork --kill-child -- "$0" "$@"
fi

mount --make-rprivate /
mount -t tmpfs tmpfs "$directory"
mkdir "$directory"/{upper,work,root}
root=$directory/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$directory/upper,workdir=$directory/work" "$root"
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
else
  mount -t tmpfs -o mode=755 tmpfs "$root/sys/fs/cgroup"
  mkdir "$root/sys/fs/cgroup/systemd"
  mount -t cgroup -o none,name=systemd,xattr cgroup "$root/sys/fs/cgroup/systemd"
fi
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs tmpfs "$root/tmp"
# Disables the services and the database clusters of this machine.
rm -f "$root"/etc/systemd/system/*.wants/*
mount -t tmpfs -o mode=755 tmpfs "$root/var/lib/postgresql"
rm -rf "$root"/etc/postgresql/*
mkdir -p "$root/opt/energy-rental/releases/one"
mount --bind -o ro "$checkout" "$root/opt/energy-rental/releases/one"
[ -e "$root/usr/bin/node" ] || touch "$root/usr/bin/node"
mount --bind "$node" "$root/usr/bin/node"
printf '[Unit]\nDescription=Nothing but the machine itself\n' >"$root/etc/systemd/system/machine.target"
cd "$root"
mkdir -p before
pivot_root . before
umount --lazy /before
# systemd passes credentials to a service by mounts, which need shared propagation.
mount --make-rshared /
unset BOOT_STAGE
export container=unshare
exec /lib/systemd/systemd --system --unit=machine.target --show-status=no
