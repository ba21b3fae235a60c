#!/bin/sh
# Runs before files are unpacked. It creates the user and the group that will own them.
# dpkg calls this script with install or upgrade, rpm with 1 or 2.
set -e
case "$1" in
install | upgrade | 1 | 2)
	getent group placementsync > /dev/null || groupadd --system placementsync
	getent passwd placementsync > /dev/null ||
		useradd --system --gid placementsync --home-dir /var/lib/placementsync --no-create-home \
			--shell /usr/sbin/nologin --comment placementsync placementsync
	;;
esac
