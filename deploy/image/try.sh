#!/usr/bin/env bash
# Tests the image of make image: its format, with the tools that read images, and its program,
# run as in a container. It needs root for namespaces, and skopeo, but no container daemon. It
# listens in its own network namespace and removes its files.
#
#   deploy/image/try.sh ARCHIVE PROGRAM
#
# PROGRAM is a placementsync binary of this machine. It runs the demo service outside the image.
set -euo pipefail
SECONDS=0

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
project=$(cd "$here/../.." && pwd)
[ $# = 2 ] || { echo "usage: try.sh ARCHIVE PROGRAM" >&2; exit 2; }
archive=$(realpath "$1")
service_program=$(realpath "$2")

missing=
for tool in skopeo unshare setpriv ip curl tar; do
	command -v "$tool" > /dev/null || missing+=" $tool"
done
[ "$(id -u)" = 0 ] || missing+=" root"
[ -z "$missing" ] || { echo "image: not tried, missing:$missing"; exit 0; }
if [ "${PLACEMENTSYNC_NETWORK:-}" != own ]; then
	PLACEMENTSYNC_NETWORK=own exec unshare --net "${BASH_SOURCE[0]}" "$archive" "$service_program"
fi
ip link set lo up

work=$(mktemp -d /tmp/placementsync-image.XXXXXX)
started=()
finish() {
	status=$?
	for pid in "${started[@]}"; do
		kill -KILL "$pid" 2> /dev/null || true
	done
	wait 2> /dev/null || true
	if [ "$status" != 0 ]; then
		for log in "$work"/*.log; do
			[ ! -s "$log" ] || { echo "== ${log##*/}"; tail -n 6 "$log"; }
		done >&2
	fi
	rm -rf "$work"
	exit "$status"
}
trap finish EXIT

say() { printf 'image: %s\n' "$*"; }
fail() {
	say "FAILED: $*" >&2
	exit 1
}

# expect TEXT WHAT: WHAT must contain TEXT.
expect() {
	case $2 in
	*"$1"*) ;;
	*) fail "expected $1, found: $2" ;;
	esac
}

# wait_for SECONDS COMMAND...: waits until the command succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@" > /dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || fail "no success within the time limit: $*"
		sleep 0.2
	done
}

# The format of the archive.
config=$(skopeo inspect --config "oci-archive:$archive")
expect '"linux"' "$config"
skopeo inspect "docker-archive:$archive" > "$work/docker.json"
skopeo copy --quiet "oci-archive:$archive" "dir:$work/layers"
user=$(skopeo inspect --config --format '{{.Config.User}}' "oci-archive:$archive")
workdir=$(skopeo inspect --config --format '{{.Config.WorkingDir}}' "oci-archive:$archive")
mapfile -t environment < <(skopeo inspect --config --format '{{range .Config.Env}}{{println .}}{{end}}' "oci-archive:$archive" | grep .)
mapfile -t entrypoint < <(skopeo inspect --config --format '{{range .Config.Entrypoint}}{{println .}}{{end}}' "oci-archive:$archive" | grep .)
mapfile -t command < <(skopeo inspect --config --format '{{range .Config.Cmd}}{{println .}}{{end}}' "oci-archive:$archive" | grep .)
# The health probe that is tested below.
expect "\"Test\":[\"CMD\",\"${entrypoint[0]}\",\"serve\",\"--probe\",\"health\",\"--config\",\"${command[2]}\"]" \
	"$(skopeo inspect --config --raw "oci-archive:$archive")"
say "skopeo reads the archive as OCI and as Docker: user $user, ${entrypoint[*]} ${command[*]}"
if command -v podman > /dev/null; then
	podman=(podman --root "$work/storage" --runroot "$work/runroot" --storage-driver vfs)
	"${podman[@]}" load --quiet --input "$archive" > "$work/podman.log" 2>&1 || fail "podman load"
	loaded=$("${podman[@]}" image inspect --format '{{.User}} {{.Config.Entrypoint}} {{.Config.Cmd}} {{.NamesHistory}}' "$(sed -n 's/^Loaded image: //p' "$work/podman.log")")
	expect "$user" "$loaded"
	expect "${entrypoint[0]}" "$loaded"
	say "podman loads the archive: $loaded"
	"${podman[@]}" rmi --all --force > "$work/podman.log" 2>&1
else
	say "podman is missing, so the archive was not loaded"
fi

# The files of the image, and those that every runtime adds.
root=$work/root
mkdir "$root"
for layer in $(skopeo inspect --format '{{range .Layers}}{{.}} {{end}}' "dir:$work/layers"); do
	tar -xzpf "$work/layers/${layer#sha256:}" --numeric-owner -C "$root"
done
program=$root${entrypoint[0]}
[ "$(stat -c '%u:%g %a' "$root/warehouse")" = "$user 750" ] || fail "/warehouse does not belong to the user"
[ "$(stat -c '%a' "$root/tmp")" = 1777 ] || fail "/tmp is not open to all"
[ -z "$(find "$root" -perm /6000)" ] || fail "a file has the right to change the user"
[ "$(find "$root" -path "$root/warehouse" -prune -o -path "$root/tmp" -prune -o \( -not -user 0 -o -perm /022 \) -print)" = "" ] ||
	fail "a file outside /warehouse and /tmp can be changed"
if command -v ldd > /dev/null && ldd "$program" > /dev/null 2>&1; then
	fail "the program is linked dynamically"
fi
mkdir -p "$root/proc" "$root/dev" "$root/run/secrets"
touch "$root/etc/hosts"

# The program runs without /proc, /dev and /etc.
empty_root=$work/empty
mkdir -p "$empty_root/tmp"
cp "$program" "$empty_root/placementsync"
timeout 300 chroot "$empty_root" /placementsync demo --nights 1 --dir /demo > "$work/empty.log" 2>&1 || fail "the demo in a root with no other file"
rm -r "$empty_root"
say "the program needs no other file: a night of the demo ran in an empty root"

volume=$work/volume secrets=$work/secrets
install -d -o "${user%:*}" -g "${user#*:}" -m 0750 "$volume"
install -d -m 0755 "$secrets"
install -o "${user%:*}" -m 0400 /dev/stdin "$secrets/placementsync_token" <<< pc_demo
install -o "${user%:*}" -m 0400 /dev/stdin "$secrets/placementsync_auth_token" <<< opensesame-opensesame
printf '127.0.0.1 localhost service.example.test\n' > "$work/hosts"
# The configuration of the image. The demo service has no rate limit, so the night is short.
sed -e 's/^api:/&\n  requests_per_second: 0/' "$root/etc/placementsync/config.yaml" > "$work/config.yaml"
printf 'schedule:\n  cron: "0 2 * * *"\n  timezone: Europe/Berlin\n' >> "$work/config.yaml"

# set_container NAME=VALUE...: sets the command that runs the program in its container, with
# the environment of the image and the given variables.
set_container() {
	container=(env -i "${environment[@]}" "$@" PATH="$PATH"
		unshare --mount --pid --ipc --uts --fork --kill-child=KILL
		"$here/enter.sh" "$root" "$volume" "$secrets" "$work/hosts" "$work/config.yaml" "$user" "$workdir" "${entrypoint[0]}")
}
contain() { timeout 300 "${container[@]}" "$@"; }
set_container

say "$(contain version | head -n 1)"
contain demo --nights 2 > "$work/demo.log" 2>&1 || fail "the demo"
[ "$(stat -c '%u:%g' "$volume/demo/warehouse/latest/catalog.duckdb")" = "$user" ] || fail "the files of the demo do not belong to the user"
rm -r "$volume/demo"
say "the demo ran as $user and could write only to /warehouse and /tmp"

# A service outside the image.
"$service_program" demo --nights 1 --keep-serving --dir "$work/service" > "$work/service.log" 2>&1 &
started+=($!)
wait_for 120 grep -q 'keeps running at' "$work/service.log"
url=$(sed -n 's/.*keeps running at \(http:[^ ]*\).*/\1/p' "$work/service.log")
set_container "PLACEMENTSYNC_BASE_URL=$url"
code=0
contain run --config "${command[2]}" > "$work/run.log" 2>&1 || code=$?
[ "$code" = 2 ] || fail "run on an empty volume ended with $code"
expect '--new' "$(< "$work/run.log")"
contain run --new --config "${command[2]}" > "$work/run.log" 2>&1 || fail "run with the service outside the image ended with $?"
[ "$(stat -c '%u:%g' "$volume/latest/catalog.duckdb")" = "$user" ] || fail "the files of the night do not belong to the user"
say "run: a complete night from a service outside the image"

# The default command, its health check, and its end.
if contain serve --probe health --config "${command[2]}" > "$work/probe.log" 2>&1; then
	fail "the health probe succeeded without a daemon"
fi
"${container[@]}" "${command[@]}" > "$work/serve.log" 2>&1 &
outside=$!
started+=("$outside")
wait_for 60 grep -q 'msg=serving' "$work/serve.log"
grep -q 'Europe/Berlin' "$work/serve.log" || fail "the time zone is not in the schedule"
expect ok "$(contain serve --probe health --config "${command[2]}")"
expect ready "$(contain serve --probe ready --config "${command[2]}")"
[ "$(curl --noproxy '*' -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/)" = 401 ] || fail "the status page does not require the token"
[ "$(curl --noproxy '*' -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer opensesame-opensesame' http://127.0.0.1:8080/)" = 200 ] || fail "the status page rejects the token"
[ "$(curl --noproxy '*' -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example.com' http://127.0.0.1:8080/healthz)" = 421 ] || fail "a request with an unknown host was not rejected"
inside=$(< "/proc/$outside/task/$outside/children") # process 1 of its namespace
before=$(date +%s%N)
kill -TERM "${inside%% *}"
code=0
wait "$outside" || code=$?
took=$((($(date +%s%N) - before) / 1000000))
[ "$code" = 0 ] || fail "after SIGTERM, serve ended with $code"
[ "$took" -lt 5000 ] || fail "after SIGTERM, serve took $took ms"
say "serve: healthy, ready, in the time zone Europe/Berlin, and ended with 0, $took ms after SIGTERM"

# Names and certificates.
if command -v openssl > /dev/null && command -v python3 > /dev/null; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=service.example.test \
		-addext subjectAltName=DNS:service.example.test -keyout "$work/key.pem" -out "$secrets/ca.pem" 2> /dev/null
	python3 "$here/tls.py" "$secrets/ca.pem" "$work/key.pem" 8443 "${url##*:}" > "$work/tls.log" 2>&1 &
	started+=($!)
	wait_for 20 grep -q listening "$work/tls.log"
	set_container PLACEMENTSYNC_BASE_URL=https://service.example.test:8443
	if contain check --config "${command[2]}" > "$work/check.log" 2>&1; then
		fail "an unknown certificate is trusted"
	fi
	grep -q 'certificate signed by unknown authority' "$work/check.log" || fail "check does not report the unknown certificate"
	set_container PLACEMENTSYNC_BASE_URL=https://service.example.test:8443 SSL_CERT_FILE=/run/secrets/ca.pem
	contain check --config "${command[2]}" > "$work/check.log" 2>&1 || fail "a certificate of SSL_CERT_FILE is not trusted"
	say "https: the name of /etc/hosts was resolved; the certificate was rejected, and accepted with SSL_CERT_FILE"
else
	say "openssl or python3 is missing, so certificates were not tried"
fi
contain query --config "${command[2]}" 'select count(*) > 0 from product_listings' > "$work/query.log" 2>&1 || fail "a query"

# A second build gives the same bytes.
if [ "${PLACEMENTSYNC_REBUILD:-yes}" = yes ] && command -v go > /dev/null; then
	cp "$archive" "$work/first.tar"
	label() { skopeo inspect --config --format "{{index .Config.Labels \"org.opencontainers.image.$1\"}}" "oci-archive:$archive"; }
	make --silent -C "$project" image IMAGE="$work/second.tar" STATIC="$work/second" VERSION="$(label version)" \
		COMMIT="$(label revision)" SOURCE_DATE_EPOCH="$(date -d "$(label created)" +%s)" > "$work/make.log" 2>&1 || fail "make image"
	cmp "$work/first.tar" "$work/second.tar" || fail "two builds differ"
	say "two builds have the same bytes: $(sha256sum < "$archive" | cut -c 1-16)..."
fi
say "passed after $SECONDS s"
