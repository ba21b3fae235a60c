#!/bin/sh
# After files are unpacked: a daemon that runs goes on with the new program. A night of
# placementsync-run.service that is at work ends with the old one. Nothing is started or
# enabled: the operator chooses between the daemon and the timer.
# dpkg calls it with configure, rpm with 1 or 2.
set -e
case "$1" in
configure | 1 | 2)
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload || true
		systemctl try-restart placementsync.service || true
	fi
	;;
esac
