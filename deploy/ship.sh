#!/usr/bin/env bash
# Builds and tests everything that is shipped: packages, image, and deployment files. If a tool
# is missing, the script reports the skipped test and continues. A failed test ends it. make
# ship calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/placementsync-ship.XXXXXX")
trap 'rm -rf "$work"' EXIT
tried=() missing=()
# Computed now, because the tests write to this folder, which changes the version.
stamp=("COMMIT=$(deploy/version.sh commit)" "SOURCE_DATE_EPOCH=$(deploy/version.sh time)")
version=${VERSION:-$(deploy/version.sh)}
step() { printf '\n== %s\n' "$*"; }

# tools NAME TOOL...: reports whether all tools of a test are installed.
tools() {
	local name=$1 tool absent=
	shift
	for tool; do
		[ "$tool" != root ] || { [ "$(id -u)" = 0 ] || absent+=" root"; continue; }
		command -v "$tool" > /dev/null || absent+=" $tool"
	done
	[ -z "$absent" ] && return
	missing+=("$name, which needs:$absent")
	return 1
}

if tools "the scripts" shellcheck; then
	step shellcheck
	find deploy -name '*.sh' -exec shellcheck {} +
	tried+=("the scripts, by shellcheck")
fi

step packages of an earlier release, 0.9.0, with another example configuration
sed '1s/^# Configuration of placementsync/# Configuration of placementsync 0.9.0/' config.example.yaml > "$work/example.yaml"
EXAMPLE=$work/example.yaml make packages VERSION=0.9.0 DIST="$work/before" "${stamp[@]}"
step packages
make packages VERSION="$version" "${stamp[@]}"

step packages of a copy of this source, in another folder
mkdir "$work/copy"
git ls-files -z | tar --create --null --files-from=- | tar --extract --directory "$work/copy"
make -C "$work/copy" packages VERSION="$version" "${stamp[@]}"
diff dist/SHA256SUMS "$work/copy/dist/SHA256SUMS"
rm -r "$work/copy"
tried+=("two builds in two folders: the same bytes")

if tools "the .deb by lintian" lintian; then
	step lintian
	lintian --fail-on error --suppress-tags-from-file deploy/packages/lintian.txt dist/*.deb
	tried+=("the .deb, by lintian")
fi

if tools "installation, upgrade and removal" root debootstrap apt-get dpkg unshare mountpoint chroot; then
	step packages in a fresh Debian
	unshare --mount --propagation private deploy/packages/try.sh "$work/before" dist
	tried+=("installation, first night, upgrade and removal of the .deb in a fresh Debian")
	if command -v rpm > /dev/null; then
		tried+=("installation, upgrade and removal of the .rpm in this Debian, without its dependencies")
	else
		missing+=("the .rpm, which needs: rpm")
	fi
fi

if [ -x deploy/image/try.sh ]; then
	step image
	make image VERSION="$version" "${stamp[@]}"
	deploy/image/try.sh "dist/placementsync-$version-oci.tar" bin/placementsync
	tried+=("the image, by the tests that are listed above")
fi
for trial in deploy/kubernetes/try.sh deploy/grafana/try.sh deploy/prometheus/try.sh; do
	[ -x "$trial" ] || continue
	step "$trial"
	PLACEMENTSYNC=$PWD/bin/placementsync "$trial"
	tried+=("$trial, by the tests that are listed above")
done

echo
printf 'tried: %s\n' "${tried[@]}"
[ ${#missing[@]} = 0 ] || printf 'not tried: %s\n' "${missing[@]}"
