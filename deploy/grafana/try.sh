#!/bin/sh
# Validates the dashboard with Grafana's schema, which rejects unknown fields.
# deploy/prometheus/try.sh runs each of its queries.
set -eu

cd "$(dirname "$0")"
if ! command -v go >/dev/null; then
	echo "deploy/grafana: not tried, there is no go"
	exit 0
fi
cd testdata/schema
go run . ../../placementsync.json
