#!/bin/sh
# After files are unpacked: where there is no configuration, the example becomes it; one
# that is there is the operator's and never touched. A daemon that runs goes on with the new program. A night of
# placementsync-run.service that is at work ends with the old one. Nothing is started or
# enabled: the operator chooses between the daemon and the timer. A night that publishes is
# not waited for: the service manager does that.
# dpkg calls it with configure, rpm with 1 or 2.
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
