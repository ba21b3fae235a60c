#!/bin/sh
# Runs after files are unpacked. It installs the example if there is no configuration, and
# never changes an existing one. It restarts a running daemon with the new program; the service
# manager waits for a night that is publishing. A running night of placementsync-run.service
# ends with the old program. Units are not started or enabled, because the operator chooses
# between the daemon and the timer.
# dpkg calls this script with configure, rpm with 1 or 2.
set -e
case "$1" in
configure | 1 | 2)
	config=/etc/placementsync/config.yaml
	if [ ! -e "$config" ] && [ ! -L "$config" ]; then
		install -m 0640 -o root -g placementsync /usr/share/placementsync/config.yaml "$config.new"
		mv "$config.new" "$config"
	fi
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload || true
		systemctl --no-block try-restart placementsync.service || true
	fi
	;;
esac
