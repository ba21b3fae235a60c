#!/bin/bash
# curl and DuckDB: every page as a file, one nested table of them, one Parquet file of it.
# usage: TOKEN=... [ANY_ORDER=1] listings.sh ADDRESS FOLDER
set -euo pipefail
address=$1 folder=$2
sql=$(cd "$(dirname "$0")" && pwd)/listings.sql

get() { curl --fail --no-progress-meter --header "Authorization: Bearer $TOKEN" "$@"; }

mkdir -p "$folder/pages"
cd "$folder"
pages=$(get "$address/products/listings?limit=100&page=1" | grep -o '"total_pages":[0-9]*' | cut -d: -f2)
# Eight at a time, as many as placementsync has in flight.
get --parallel --parallel-max 8 --output 'pages/#1.json' "$address/products/listings?limit=100&page=[1-$pages]"
# With rows in any order all threads read and write at once; DuckDB's default keeps the
# order of the pages.
{ [ -z "${ANY_ORDER:-}" ] || echo 'SET preserve_insertion_order = false;'; cat "$sql"; } | duckdb peer.duckdb
