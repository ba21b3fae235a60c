#!/bin/sh
# Prints the version data of a build:
#
#   deploy/version.sh          1.0.0, the newest release in CHANGELOG.md. Later sources have the
#                              number of commits since then and the last commit, as in
#                              1.0.0+12.gabcdef012, and .dirty if files were changed.
#   deploy/version.sh commit   the commit; empty without a repository
#   deploy/version.sh time     when the source was last changed, in seconds since 1970
#
# It needs neither tags nor a repository. The versions are valid for dpkg and rpm. A shallow
# clone without the tag has no number of commits: 1.0.0+gabcdef012.
set -eu
cd "$(dirname "$0")/.."

heading=$(sed -n 's/^## \([0-9][0-9.]*\) - \([0-9-]*\)$/\1 \2/p' CHANGELOG.md | head -n 1)
release=${heading%% *}
[ -n "$release" ] || release=0.0.0
commit=
# A source that was unpacked inside another repository is not part of it.
if [ -e .git ] && command -v git > /dev/null; then
	# For example, git does not read a repository of another owner.
	if ! git rev-parse --git-dir > /dev/null; then
		echo "version: git does not read this repository: correct the error above, or remove .git" >&2
		exit 1
	fi
	commit=$(git rev-parse --verify --quiet HEAD || true)
fi

# The commit of the tag or, without a tag, the one that added the heading. In a shallow clone
# that search would return the oldest commit.
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
