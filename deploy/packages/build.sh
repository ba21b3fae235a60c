#!/usr/bin/env bash
# Builds the packages from the built programs: .deb, .rpm, .tar.gz, an SBOM, and SHA-256 sums.
# The same programs give the same bytes. make packages calls this script.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
: "${VERSION:?}" "${SOURCE_DATE_EPOCH:?}" "${NFPM:?}" "${DIST:?}" "${BINARY:?}" "${LAKE:?}" "${LICENSES:?}"
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022

PACKAGE_ARCH=$(go env GOARCH)
PACKAGE_VERSION=$VERSION
STAGE=$(mktemp -d)
trap 'rm -rf "$STAGE"' EXIT
export PACKAGE_ARCH PACKAGE_VERSION STAGE
mkdir -p "$DIST"
rm -f "$DIST"/placementsync[-_]*.{deb,rpm,tar.gz,cdx.json} "$DIST/SHA256SUMS"

# The oldest library versions that both programs run with, and the Debian release of
# libstdc++6 that has them.
symbols=$(objdump -T "$BINARY" "$LAKE")
# newest PREFIX: prints the newest version of the symbols with this prefix.
newest() {
	grep -o "$1_[0-9.]*" <<< "$symbols" | sed "s/$1_//" | sort -Vu | tail -n 1 ||
		{ echo "packages: $BINARY and $LAKE use no symbol of $1: are they linked dynamically?" >&2; return 1; }
}
GLIBC=$(newest GLIBC)
GLIBCXX=$(newest GLIBCXX)
case $GLIBCXX in
3.4.2[0-9]) LIBSTDCXX=11 ;;
3.4.30) LIBSTDCXX=12 ;;
3.4.3[12]) LIBSTDCXX=13 ;;
3.4.33) LIBSTDCXX=14 ;;
*) echo "packages: look up which libstdc++6 has GLIBCXX_$GLIBCXX, and add it to $0" >&2; exit 1 ;;
esac
export GLIBC GLIBCXX LIBSTDCXX

# make_install PREFIX DESTDIR: runs make install-files.
make_install() {
	"${MAKE:-make}" --silent --no-print-directory install-files PREFIX="$1" DESTDIR="$2" \
		BINARY="$BINARY" LAKE="$LAKE" LICENSES="$LICENSES" VERSION="$VERSION"
}

# The archive, for /usr/local or any other prefix.
name=placementsync-$VERSION-linux-$PACKAGE_ARCH
make_install /usr/local "$STAGE/archive"
mv "$STAGE/archive/usr/local" "$STAGE/$name"
tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go-w \
	--directory "$STAGE" "$name" | gzip -n > "$DIST/$name.tar.gz"
rm -r "${STAGE:?}/archive" "${STAGE:?}/$name"

# Additional files of the packages.
make_install /usr "$STAGE"
documents=$STAGE/usr/share/doc/placementsync
gzip -9n "$STAGE"/usr/share/man/man1/*.1 "$documents/THIRD-PARTY-LICENSES"
mv "$documents/CHANGELOG.md" "$documents/changelog"
gzip -9n "$documents/changelog"
{
	printf 'placementsync (%s-1) unstable; urgency=medium\n\n' "$VERSION"
	printf '  * See changelog.gz.\n\n'
	printf ' -- placementsync maintainers <placementsync@example.com>  %s\n' "$(date -R -d "@$SOURCE_DATE_EPOCH")"
} | gzip -9n > "$documents/changelog.Debian.gz"
{
	cat NOTICE
	printf '\nThe Apache License, Version 2.0, is in LICENSE beside this file; on Debian it is in\n/usr/share/common-licenses/Apache-2.0 too.\n'
} > "$documents/copyright"

# The configuration: the example with the paths of a package. postinst copies it to /etc. It is
# not a configuration file of the package, because init changes it and dpkg would then ask at
# each upgrade that changes the example.
example=${EXAMPLE:-config.example.yaml}
packaged=$STAGE/usr/share/placementsync/config.yaml
mkdir -p "${packaged%/*}"
# shellcheck disable=SC2016
sed -e 's|^  token: \${PLACEMENTSYNC_TOKEN}|  token: ""                    |' \
	-e 's|^  token_file: ""                    # file with|  token_file: /etc/placementsync/token # file with|' \
	-e 's|^  dir: ./warehouse$|  dir: /var/lib/placementsync/warehouse|' \
	"$example" > "$packaged"
if [ "$(diff "$example" "$packaged" | grep -c '^>')" != 3 ]; then
	echo "packages: the keys that $0 sets were not found in $example: correct the sed commands" >&2
	exit 1
fi
find "$STAGE" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
for packager in deb rpm; do
	go run "$NFPM" package --config deploy/packages/nfpm.yaml --packager "$packager" --target "$DIST" > /dev/null
done

go run -C deploy/tools ./sbom "$PWD/docs/licenses.md" "$VERSION" "$(realpath "$BINARY")" "$(realpath "$LAKE")" > "$DIST/placementsync-$VERSION.cdx.json"
cd "$DIST"
sha256sum placementsync[-_]*.{deb,rpm,tar.gz,cdx.json} > SHA256SUMS
cat SHA256SUMS
