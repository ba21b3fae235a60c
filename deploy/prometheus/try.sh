#!/usr/bin/env bash
# Tests the rules, the dashboard and the metrics with a real Prometheus. promtool checks the
# rules and runs their tests, Prometheus scrapes a daemon on a warehouse of the demo, and each
# query of the dashboard must return data. The servers listen on loopback, and all files are in a
# temporary folder. PLACEMENTSYNC is the path of the program; if it is not set, the program is built.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
for tool in promtool prometheus jq curl; do
	if ! command -v "$tool" >/dev/null; then
		echo "deploy/prometheus: not tested, missing: $tool. To install it: apt-get install prometheus jq curl"
		exit 0
	fi
done

cd "$here"
promtool check rules --lint=all --lint-fatal rules.yaml
promtool check config prometheus.yml
promtool test rules rules_test.yaml rules_days_test.yaml

program=${PLACEMENTSYNC:-$root/bin/placementsync}
if [ ! -x "$program" ]; then
	make -s -C "$root" build
fi

work=$(mktemp -d)
started=()
finish() {
	for pid in "${started[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap finish EXIT

die() {
	echo "deploy/prometheus: $*" >&2
	for log in "$work"/*.log; do
		[ ! -e "$log" ] || tail -n 20 "$log" >&2
	done
	exit 1
}

# A verified warehouse of three nights, with a watch whose receiver fails.
"$program" demo --nights 3 --dir "$work/demo" --quiet >/dev/null 2>&1 || die "the demo failed"
cat >>"$work/demo/config.yaml" <<'END'
schedule: {cron: '0 0 1 1 *', catch_up: false}
serve: {listen: '127.0.0.1:0', webhook_secrets: [tried]}
notify: {channels: [{name: unreachable, type: webhook, url: 'http://127.0.0.1:9/'}]}
watch: [{name: orders, query: 'SELECT id FROM orders LIMIT 3', send: [unreachable]}]
END
run() { "$program" "$@" --config "$work/demo/config.yaml" --quiet; }
run verify >/dev/null
run verify --read-data >/dev/null
status=0
run watch >"$work/watch.log" 2>&1 || status=$?
[ "$status" = 3 ] || die "watch ended with $status, want 3: its receiver is unreachable"

: >"$work/serve.log"
"$program" serve --config "$work/demo/config.yaml" 2>"$work/serve.log" &
started+=($!)
address=
for _ in $(seq 100); do
	address=$(sed -n 's/.*msg=serving address=\([0-9.:]*\).*/\1/p' "$work/serve.log")
	[ -z "$address" ] || break
	sleep 0.1
done
[ -n "$address" ] || die "serve did not start"

curl -fsS "http://$address/metrics" >"$work/metrics"
promtool check metrics <"$work/metrics" >"$work/lint" 2>&1 || true
if grep placementsync_ "$work/lint"; then
	die "promtool check metrics reported the problems above"
fi

port=$((20000 + RANDOM % 20000))
sed -e "s/127.0.0.1:8080/$address/" -e 's/: 1m$/: 1s/' prometheus.yml >"$work/prometheus.yml"
cp rules.yaml "$work"
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/data" --web.listen-address="127.0.0.1:$port" \
	>"$work/prometheus.log" 2>&1 &
started+=($!)
ask() { promtool query instant "http://127.0.0.1:$port" "$1"; }
scraped=
for _ in $(seq 60); do
	scraped=$(ask 'count_over_time(up{job="placementsync"}[1m]) >= 10' 2>/dev/null || true)
	[ -z "$scraped" ] || break
	sleep 1
done
[ -n "$scraped" ] || die "Prometheus did not scrape the daemon"

# Queries that return no data here: there are no refreshes and no inbox limit, no follow-up has
# succeeded, and the daemon has not run a night.
may_be_empty='last_refresh_duration|inbox_limit_bytes|follow_last_success|watch_sent|stream_requests_total'
asked=0 empty=0
while IFS=$'\t' read -r title expression; do
	question=${expression//\$instance/.*}
	question=${question//\$__rate_interval/15s}
	answer=$(ask "$question") || die "a query of the panel $title failed: $question"
	asked=$((asked + 1))
	if [ -z "$answer" ]; then
		[[ $question =~ $may_be_empty ]] || die "the panel $title has no data: $question"
		empty=$((empty + 1))
	fi
done < <(jq -r '.panels[] | select(.targets) | .title as $title | .targets[] | [$title, .expr] | @tsv' "$root/deploy/grafana/placementsync.json")
[ "$asked" -gt 50 ] || die "the dashboard has $asked queries, want more than 50"

bad=$(curl -fsS "http://127.0.0.1:$port/api/v1/rules" | jq -r '.data.groups[].rules[] | select(.health != "ok") | .name + ": " + .lastError')
[ -z "$bad" ] || die "rules that cannot be evaluated: $bad"
pending=$(ask 'ALERTS{alertname!="WatchFailing"}')
[ -z "$pending" ] || die "unexpected alerts: $pending"
[ -n "$(ask 'ALERTS{alertname="WatchFailing"}')" ] || die "no alert WatchFailing of the unreachable receiver is pending"
echo "deploy/prometheus: $(grep -c -- '- alert:' rules.yaml) rules, $asked queries of the dashboard, $empty of them without data, as expected"
