#!/usr/bin/env bash
# Validates the files for Kubernetes with kubeconform and the file for Compose with Compose, if
# they are installed. A Go test validates them with the schemas alone.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The newest release. It is run as a program, so that no module of this project depends on it.
kubeconform=github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
if command -v kubeconform > /dev/null; then
	check=(kubeconform)
elif command -v go > /dev/null && go run "$kubeconform" -v > /dev/null 2>&1; then
	check=(go run "$kubeconform")
else
	check=()
	echo "kubernetes: not validated, missing: kubeconform"
fi
if [ ${#check[@]} -gt 0 ]; then
	"${check[@]}" -strict -summary -schema-location 'schemas/{{ .ResourceKind }}.json' kubernetes/*.yaml
fi

export PLACEMENTSYNC_VERSION=1.0.1 PLACEMENTSYNC_BASE_URL=https://api.example.com
if docker compose version > /dev/null 2>&1; then
	docker compose --file compose.yaml config --quiet
	echo "compose: docker compose reads it"
elif command -v podman-compose > /dev/null; then
	podman-compose --file compose.yaml config > /dev/null
	echo "compose: podman-compose reads it"
else
	echo "compose: validated with its schema only, missing: docker compose or podman-compose"
fi
