#!/bin/sh
# Runs before files are removed, except for an upgrade. It stops the units. With rpm it also
# disables them, because rpm calls no later script; with dpkg they stay enabled until the purge.
# dpkg calls this script with remove, rpm with 0.
set -e
units="placementsync-run.timer placementsync-run.service placementsync.service"
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		# shellcheck disable=SC2086
		systemctl stop $units || true
	fi
	;;
esac
case "$1" in
0)
	if command -v systemctl > /dev/null; then
		# shellcheck disable=SC2086
		systemctl --no-reload disable $units > /dev/null 2>&1 || true
	fi
	;;
esac
