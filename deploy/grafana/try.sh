#!/bin/sh
# Reads the dashboard by Grafana's own schema, which refuses fields that it does not know.
# deploy/prometheus/try.sh asks each query of it.
set -eu

cd "$(dirname "$0")"
if ! command -v go >/dev/null; then
	echo "deploy/grafana: not tried, there is no go"
	exit 0
fi
cd testdata/schema
go run . ../../placementsync.json
