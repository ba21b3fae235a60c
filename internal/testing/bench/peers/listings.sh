#!/bin/bash
# curl and DuckDB: every page becomes a file. The files become one nested table, and the table one
# Parquet file.
# usage: TOKEN=... [ANY_ORDER=1] listings.sh ADDRESS FOLDER
set -euo pipefail
address=$1 folder=$2
sql=$(cd "$(dirname "$0")" && pwd)/listings.sql

get() { curl --fail --no-progress-meter --header "Authorization: Bearer $TOKEN" "$@"; }

mkdir -p "$folder/pages"
cd "$folder"
pages=$(get "$address/products/listings?limit=100&page=1" | grep -o '"total_pages":[0-9]*' | cut -d: -f2)
# Eight requests at a time, as in placementsync.
get --parallel --parallel-max 8 --output 'pages/#1.json' "$address/products/listings?limit=100&page=[1-$pages]"
# If rows may be in any order, all threads read and write at once. By default DuckDB keeps the
# order of the pages.
{ [ -z "${ANY_ORDER:-}" ] || echo 'SET preserve_insertion_order = false;'; cat "$sql"; } | duckdb peer.duckdb
