#!/usr/bin/env bash
# Runs a program in an unpacked image as a container runtime would: in new namespaces, with a
# read-only root, without privileges, as the user of the image. try.sh calls it through unshare,
# which creates the namespaces.
#
#   enter.sh ROOT VOLUME SECRETS HOSTS CONFIG USER WORKDIR PROGRAM ARG...
set -euo pipefail
root=$1 volume=$2 secrets=$3 hosts=$4 config=$5 user=$6 workdir=$7
shift 7

mount --bind "$root" "$root"
mount -o remount,bind,ro,nosuid,nodev "$root"
mount --bind "$volume" "$root/warehouse"
mount -t tmpfs -o mode=1777,nosuid,nodev,size=256m tmpfs "$root/tmp"
mount -t proc -o nosuid,nodev,noexec proc "$root/proc"
mount -t tmpfs -o mode=0755,noexec,size=64k tmpfs "$root/dev"
for device in null zero random urandom; do
	touch "$root/dev/$device"
	mount --bind "/dev/$device" "$root/dev/$device"
done
mount --bind "$secrets" "$root/run/secrets"
mount -o remount,bind,ro "$root/run/secrets"
mount --bind "$hosts" "$root/etc/hosts"
mount --bind "$config" "$root/etc/placementsync/config.yaml"
exec setpriv --no-new-privs unshare --root "$root" --wd "$workdir" --setgid "${user#*:}" --setuid "${user%:*}" "$@"
