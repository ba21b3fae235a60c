#!/bin/sh
# Before files are removed, and not for an upgrade: stops what runs. rpm has no later
# moment to disable units; dpkg keeps them for an installation after, until the purge.
# dpkg calls it with remove, rpm with 0.
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
