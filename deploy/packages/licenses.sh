#!/usr/bin/env bash
# Prints the licenses of all modules in both programs, from the sources of the build. A license
# text that several modules share is printed once.
#
#   deploy/packages/licenses.sh TAGS
set -euo pipefail
shopt -s nullglob nocaseglob
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export LC_ALL=C

tags=${1:?usage: licenses.sh TAGS}
declare -A printed

# print_terms NAME FILE...
print_terms() {
	local name=$1 file sum
	shift
	[ $# -gt 0 ] || { echo "licenses: no license file was found in $name: add its name to this script" >&2; exit 1; }
	printf '\n%s\n%s\n' "$(printf '=%.0s' {1..80})" "$name"
	for file; do
		sum=$(sha256sum < "$file")
		if [ -n "${printed[$sum]:-}" ]; then
			printf '\n%s: the same text as for %s, above\n' "${file##*/}" "${printed[$sum]}"
			continue
		fi
		printed[$sum]=$name
		printf '\n%s:\n\n' "${file##*/}"
		cat "$file"
	done
}

cat <<'EOF'
This file lists the third-party code in placementsync and placementsync-lake, with its
licenses. DuckDB is part of github.com/duckdb/duckdb-go-bindings; the folder third_party of
the source of DuckDB contains the libraries in DuckDB and their licenses.
EOF
print_terms "Go, runtime and standard library" "$(go env GOROOT)"/LICENSE
print_terms "Apache ECharts, htmx and CodeMirror, within the pages" internal/html/assets/NOTICE
# list_modules FOLDER PACKAGE: lists the modules of a program, without those of this project.
list_modules() {
	go list -C "$1" -deps -tags "$tags" \
		-f '{{with .Module}}{{if not (or .Main .Replace)}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' "$2"
}
modules=$({ list_modules . ./cmd/sync; list_modules lake ./cmd/lake; } | sort -u)
# The classes [u], [c] and [n] make patterns of these names: nullglob then leaves out those without a file.
while read -r path version dir; do
	print_terms "$path $version" "$dir"/{licen[cs]e,[u]nlicense,[c]opying,[n]otice}{,[-_]*,.txt,.md}
done <<< "$modules"
