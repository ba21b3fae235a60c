#!/bin/sh
# Prints what builds are stamped with:
#
#   deploy/version.sh          1.0.0, the newest release in CHANGELOG.md; after it, 1.0.0+12.gabcdef012
#                              with the number of commits and the last one, and .dirty with changes
#   deploy/version.sh commit   the commit; nothing without a repository
#   deploy/version.sh time     when the source was last changed, in seconds
#
# It needs neither tags nor a repository. All of it is valid as a version of dpkg and rpm. A
# shallow clone without the tag knows no number: 1.0.0+gabcdef012.
set -eu
cd "$(dirname "$0")/.."

heading=$(sed -n 's/^## \([0-9][0-9.]*\) - \([0-9-]*\)$/\1 \2/p' CHANGELOG.md | head -n 1)
release=${heading%% *}
[ -n "$release" ] || release=0.0.0
commit=
# A source that was unpacked within another repository is none of it.
if [ -e .git ] && command -v git > /dev/null; then
	# Such as one of another owner, which git does not read.
	if ! git rev-parse --git-dir > /dev/null; then
		echo "version: git does not read this repository: correct what it says above, or remove .git" >&2
		exit 1
	fi
	commit=$(git rev-parse --verify --quiet HEAD || true)
fi

# The commit that the tag names or, without it, the one that brought the heading. In a
# shallow clone that would be its oldest commit, whatever it brought.
released() {
	git rev-parse --verify --quiet "refs/tags/v$release^{commit}" ||
		[ "$(git rev-parse --is-shallow-repository)" = true ] ||
		git log --first-parent -S"## $release - " -n 1 --format=%H -- CHANGELOG.md
}

case ${1:-version} in
commit) echo "$commit" ;;
time)
	if [ -n "$commit" ]; then
		git log -n 1 --format=%ct
	else
		date -u -d "${heading#* }" +%s 2> /dev/null || echo 0
	fi
	;;
version)
	since=
	if [ -n "$commit" ]; then
		base=$(released)
		number=$([ -z "$base" ] || git rev-list --first-parent --count "$base..HEAD")
		dirty=$([ -z "$(git status --porcelain --untracked-files=no)" ] || echo .dirty)
		if [ "$number$dirty" != 0 ]; then
			since=+${number:+$number.}g$(git rev-parse --short=9 HEAD)$dirty
		fi
	fi
	echo "$release$since"
	;;
*)
	echo "usage: deploy/version.sh [version|commit|time]" >&2
	exit 2
	;;
esac
