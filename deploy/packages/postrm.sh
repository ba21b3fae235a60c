#!/bin/sh
# Runs after files are removed. A purge also removes config.yaml, the token, secrets.env and
# the links of enabled units. The warehouse and its user are kept, so that the files never belong
# to another user.
# dpkg calls this script with remove or purge, rpm with 0.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload || true
	fi
	;;
purge)
	rm -f /etc/placementsync/config.yaml /etc/placementsync/config.yaml.new \
		/etc/placementsync/token /etc/placementsync/secrets.env \
		/etc/systemd/system/multi-user.target.wants/placementsync.service \
		/etc/systemd/system/timers.target.wants/placementsync-run.timer
	if [ -d /etc/placementsync ]; then
		rmdir --ignore-fail-on-non-empty /etc/placementsync
	fi
	if [ -e /var/lib/placementsync/warehouse ]; then
		echo "the warehouse stays in /var/lib/placementsync; remove it by hand"
	fi
	;;
esac
