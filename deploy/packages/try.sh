#!/usr/bin/env bash
# Tests the packages in a new Debian system as an operator would use them: it installs the
# previous packages, runs a first night against the demo service, upgrades, and purges. It
# writes commands and output to deploy/packages/transcript.txt. The .rpm is then tested in the
# same system without its dependencies. make ship calls it as root in a mount namespace:
#
#   unshare --mount --propagation private deploy/packages/try.sh BEFORE NEW
#
# BEFORE and NEW are folders with packages. debootstrap creates the root from the mirror of this
# machine. If PLACEMENTSYNC_ROOTS names a folder, a copy is stored there.
# shellcheck disable=SC2016 # text in single quotes is for the shell in the root
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
before=${1:?usage: try.sh BEFORE NEW}
new=${2:?usage: try.sh BEFORE NEW}
suite=bookworm

work=$(mktemp -d "${TMPDIR:-/tmp}/placementsync-packages.XXXXXX")
root=$work/root
service=
shown=http://127.0.0.1:8000 # replaces the address of the service, which has a random port
finish() {
	status=$?
	set +e
	if [ -n "$service" ]; then
		kill "$service" 2> /dev/null
		wait "$service" 2> /dev/null
	fi
	# An interrupted debootstrap leaves its mounts.
	for place in "$root/proc" "$work/fresh/proc" "$work/fresh/sys"; do
		! mountpoint -q "$place" || umount "$place"
	done
	[ "$status" = 0 ] || tail -n 40 "$work/transcript" "$work/service.log" >&2
	rm -rf --one-file-system "$work"
	exit "$status"
}
trap finish EXIT
: > "$work/transcript"
fail() {
	echo "packages: FAILED: $*" >&2
	exit 1
}

# A new Debian system with the dependencies of the .deb, because the root has no network.
kept=${PLACEMENTSYNC_ROOTS:-$work}/$suite-with-certificates.tar
if [ ! -e "$kept" ]; then
	mirror=$(apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' |
		awk -v suite="$suite" '$1 == suite && !found { print $2; found = 1 }')
	echo "packages: debootstrap of $suite, which takes a minute or two"
	debootstrap --variant=minbase --include=ca-certificates "$suite" "$work/fresh" "$mirror" > "$work/debootstrap.log" 2>&1 ||
		{ tail -n 5 "$work/debootstrap.log" >&2; fail "debootstrap"; }
	tar --create --numeric-owner --directory "$work/fresh" --file "$kept.part" .
	mv "$kept.part" "$kept"
	rm -rf "$work/fresh"
fi
mkdir "$root"
tar --extract --numeric-owner --same-permissions --directory "$root" --file "$kept"
mount -t proc proc "$root/proc"
echo placements > "$root/etc/hostname"
printf '127.0.0.1 localhost placements\n' > "$root/etc/hosts"
install -m 0644 "$before"/*.deb "$root/srv/before.deb"
install -m 0644 "$new"/*.deb "$root/srv/placementsync.deb"

# The service runs outside the root, on a loopback address that the root can reach.
bin/placementsync demo --nights 1 --keep-serving --dir "$work/service" > "$work/service.log" 2>&1 &
service=$!
for _ in $(seq 600); do
	url=$(sed -n 's/.*keeps running at \(http:[^ ]*\).*/\1/p' "$work/service.log")
	[ -z "$url" ] || break
	kill -0 "$service" || fail "the demo service"
	sleep 0.2
done
[ -n "$url" ] || fail "the demo service did not start"

# inside COMMAND: runs a command in the root as root.
inside() {
	chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		DEBIAN_FRONTEND=noninteractive URL="$url" /bin/bash -c "$1" < /dev/null 2>&1
}

# show COMMAND [HEAD TAIL]: runs a command and writes the command and its output to the
# transcript. Long output is cut to its first HEAD and last TAIL lines.
show() {
	local out status=0 lines head=${2:-12} tail=${3:-8}
	out=$(inside "$1") || status=$?
	[ "$status" = 0 ] || { printf '%s\n' "$out" >&2; fail "$1 ended with $status"; }
	lines=$(wc -l <<< "$out")
	{
		printf '# %s\n' "$1"
		if [ "$lines" -gt $((head + tail + 1)) ]; then
			head -n "$head" <<< "$out"
			echo ...
			tail -n "$tail" <<< "$out"
		elif [ -n "$out" ]; then
			printf '%s\n' "$out"
		fi
	} | sed -e "s|$url|$shown|g" -e "s|\"\$URL\"|$shown|g; s|\$URL|$shown|g" -e 's/ *$//' >> "$work/transcript"
}

# part TITLE: starts a part of the transcript.
part() {
	[ ! -s "$work/transcript" ] || echo >> "$work/transcript"
	printf '== %s\n\n' "$1" >> "$work/transcript"
}

# expect WHAT TEXT: WHAT must contain TEXT.
expect() { grep -qF -- "$2" <<< "$1" || fail "expected $2 in: $1"; }

part "Installing the release before"
show 'apt-get install --yes --no-install-recommends /srv/before.deb' 6 4
show 'placementsync version'
show 'ls -ld /etc/placementsync /etc/placementsync/* /var/lib/placementsync'
show 'id placementsync'

part "The first night"
show 'echo pc_demo | install -m 0640 -g placementsync /dev/stdin /etc/placementsync/token'
show 'placementsync init --base-url "$URL" --config /etc/placementsync/config.yaml' 8 12
show 'sed -i "s|requests_per_second: 10 |requests_per_second: 0 |" /etc/placementsync/config.yaml'
show 'runuser -u placementsync -- placementsync check --config /etc/placementsync/config.yaml' 10 6
show 'runuser -u placementsync -- placementsync run --quiet --config /etc/placementsync/config.yaml' 6 6
show 'runuser -u placementsync -- placementsync query --config /etc/placementsync/config.yaml headline'

part "Upgrading"
inside 'sha256sum /etc/placementsync/*' > "$work/configuration"
inside 'stat -c "%n %a %U:%G" /etc/placementsync/*' >> "$work/configuration"
cp "$root/usr/share/placementsync/config.yaml" "$work/example"
inside 'readlink /var/lib/placementsync/warehouse/latest' > "$work/latest"
show 'apt-get install --yes --no-install-recommends /srv/placementsync.deb' 6 4
diff "$work/configuration" <(inside 'sha256sum /etc/placementsync/*; stat -c "%n %a %U:%G" /etc/placementsync/*') || fail "the upgrade changed the configuration"
! cmp -s "$work/example" "$root/usr/share/placementsync/config.yaml" || fail "both releases have the same example configuration, so the upgrade does not test a changed one"
diff "$work/latest" <(inside 'readlink /var/lib/placementsync/warehouse/latest') || fail "the upgrade changed the warehouse"
show 'placementsync version'
show 'runuser -u placementsync -- placementsync run --quiet --config /etc/placementsync/config.yaml' 6 6
show 'runuser -u placementsync -- placementsync verify --read-data --config /etc/placementsync/config.yaml'
show 'RUN=$(ls /var/lib/placementsync/warehouse/raw | tail -n 1); runuser -u placementsync -- placementsync replay "$RUN" --quiet --config /etc/placementsync/config.yaml' 4 4
show 'runuser -u placementsync -- placementsync runs --config /etc/placementsync/config.yaml'
foreign=$(inside 'find /var/lib/placementsync /etc/placementsync ! -user placementsync ! -user root -o -perm -o+w ! -type l')
[ -z "$foreign" ] || fail "files of another user, or writable by all users: $foreign"

part "Removing"
show 'apt-get remove --yes placementsync' 2 2
inside 'test -f /etc/placementsync/config.yaml -a -f /var/lib/placementsync/warehouse/latest/catalog.duckdb' || fail "apt-get remove deleted the configuration or the warehouse"
[ -z "$(inside 'find /usr -name "*placementsync*"')" ] || fail "apt-get remove left files in /usr"
show 'ls /etc/placementsync /var/lib/placementsync'
show 'dpkg --purge placementsync'
show 'ls /var/lib/placementsync /etc/placementsync || true'
inside 'test -f /var/lib/placementsync/warehouse/latest/catalog.duckdb' || fail "the purge deleted the warehouse"
[ ! -e "$root/etc/placementsync" ] || fail "the purge left the configuration"

# The .rpm, with the rpm of this machine. The root has the libraries from Debian packages.
if command -v rpm > /dev/null; then
	force=() # Debian's rpm needs --force-debian
	! rpm --force-debian --version > /dev/null 2>&1 || force=(--force-debian)
	rpm_in() { rpm "${force[@]}" --root "$root" --dbpath /var/lib/rpm --nodeps --noverify "$@"; }
	rpm_in --initdb 2> /dev/null || true
	rpm --checksig --nosignature "$new"/*.rpm > /dev/null
	rpm_in --install "$before"/*.rpm
	[ "$(inside 'stat -c "%a %U:%G" /etc/placementsync/config.yaml')" = "640 root:placementsync" ] || fail ".rpm: owner or mode of the configuration"
	[ "$(inside 'stat -c %G:%U /var/lib/placementsync')" = placementsync:placementsync ] || fail ".rpm: the owner of /var/lib/placementsync"
	echo '# changed' >> "$root/etc/placementsync/config.yaml"
	rpm_in --upgrade "$new"/*.rpm
	expect "$(cat "$root/etc/placementsync/config.yaml")" '# changed'
	expect "$(inside 'placementsync version')" "$(bin/placementsync version | head -n 1)"
	rpm_in --erase placementsync
	expect "$(cat "$root/etc/placementsync/config.yaml")" '# changed'
	inside 'test -f /var/lib/placementsync/warehouse/latest/catalog.duckdb' || fail "erasing the .rpm deleted the warehouse"
	[ -z "$(inside 'find /usr -name "*placementsync*"')" ] || fail "erasing the .rpm left files in /usr"
	echo "packages: the .rpm was installed, upgraded and erased; configuration and warehouse were kept"
fi

cat "$work/transcript" > deploy/packages/transcript.txt
echo "packages: the transcript is in deploy/packages/transcript.txt"
