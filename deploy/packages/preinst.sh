#!/bin/sh
# Before files are unpacked, so that they get their owners: makes the user and the group.
# dpkg calls it with install or upgrade, rpm with 1 or 2.
set -e
case "$1" in
install | upgrade | 1 | 2)
	getent group placementsync > /dev/null || groupadd --system placementsync
	getent passwd placementsync > /dev/null ||
		useradd --system --gid placementsync --home-dir /var/lib/placementsync --no-create-home \
			--shell /usr/sbin/nologin --comment placementsync placementsync
	;;
esac
