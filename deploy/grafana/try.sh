#!/bin/sh
# Validates the dashboard with Grafana's schema, which rejects unknown fields.
# deploy/prometheus/try.sh runs the queries of the dashboard.
set -eu

cd "$(dirname "$0")"
if ! command -v go >/dev/null; then
	echo "deploy/grafana: not validated, missing: go"
	exit 0
fi
cd testdata/schema
go run . ../../placementsync.json
