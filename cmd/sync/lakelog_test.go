package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
)

// TestLakeError checks that the error of the lake program is found in each format of its log,
// and after a crash. All other lines must be copied.
func TestLakeError(t *testing.T) {
	const line = "time=x level=INFO msg=\"a night\"\n"
	for _, c := range []struct{ lines, message, copied string }{
		{line + "placementsync-lake: publish x: it has 3 bytes\nsee placementsync-lake --help\n", "publish x: it has 3 bytes\nsee placementsync-lake --help", line},
		{`{"level":"INFO","msg":"a night","error":""}` + "\n" + `{"level":"ERROR","msg":"command failed","exit_code":1,"error":"publish x: it has \"3\" bytes"}` + "\n",
			`publish x: it has "3" bytes`, `{"level":"INFO","msg":"a night","error":""}` + "\n"},
		{line + "panic: index out of range\n\ngoroutine 1 [running]:\n", "panic: index out of range", line + "\ngoroutine 1 [running]:\n"},
		{line + "SIGABRT: abort\nPC=0x1\n", "SIGABRT: abort", line + "PC=0x1\n"},
		{line + "fatal error: all goroutines are asleep", "fatal error: all goroutines are asleep", line},
		{line, "", line},
	} {
		var out bytes.Buffer
		l := &lakeLog{out: &out}
		for part := range strings.SplitSeq(c.lines, " ") { // in parts, as from a pipe
			fmt.Fprint(l, part+" ")
		}
		l.partial = bytes.TrimSuffix(l.partial, []byte(" ")) // the loop added a space at the end
		if got := l.errorMessage(); got != c.message {
			t.Errorf("%q: the error is %q, want %q", c.lines, got, c.message)
		}
		if out.String() != c.copied {
			t.Errorf("%q: the copied lines are %q, want %q", c.lines, out.String(), c.copied)
		}
	}
}

// useLakeProgram replaces the lake program by a shell script until the end of a test.
func useLakeProgram(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	harness.Must(t, os.WriteFile(filepath.Join(dir, lakeProgram), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// TestNightsArePublishedToTheLake compares the ledger line of a publishing with the output of the lake program.
func TestNightsArePublishedToTheLake(t *testing.T) {
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	var log bytes.Buffer
	g := &globals{process: process{stderr: &log, Host: cli.Host{Now: func() time.Time { return at }}}}
	g.Config = "my.yaml"
	for name, c := range map[string]struct {
		script, log, wantErr string
		want                 ledger.Run
	}{
		"two nights": {script: `expected="--config my.yaml --log-format text publish --all --unrecorded --format json"
test "$*" = "$expected" && test "$PLACEMENTSYNC_VERSION" = ` + version + ` || exit 9
echo '{"published": [{"run_id": "r1", "rows_written": 3, "bytes_written": 20, "tags_dropped": true},'
echo '{"run_id": "r2", "rows_written": 4, "bytes_written": 30}]}'`,
			want: ledger.Run{Version: "r2", Rows: 7, Bytes: 50, Outcome: ledger.Complete},
			log:  `msg="the catalog of the lake does not keep tags: readers cannot select earlier nights" run=r1`},
		"the second night fails": {script: `echo '{"published": [{"run_id": "r1", "rows_written": 3, "bytes_written": 20}]}'
echo "placementsync-lake: no catalog" >&2; exit 1`,
			want:    ledger.Run{Version: "r1", Rows: 3, Bytes: 20, Outcome: ledger.Failed, ExitCode: 1},
			wantErr: "publish to the lake: no catalog"},
		"a wrong configuration": {script: `echo "placementsync-lake: lake.catalog is empty" >&2; exit 2`,
			want: ledger.Run{Outcome: ledger.Failed, ExitCode: 1}, wantErr: "publish to the lake: lake.catalog is empty"},
		"no message": {script: "exit 5", want: ledger.Run{Outcome: ledger.Failed, ExitCode: 1},
			wantErr: "publish failed without an error message: exit status 5"},
		"no night": {script: "echo '{}'", want: ledger.Run{Outcome: ledger.Failed, ExitCode: 1},
			wantErr: `placementsync-lake reported no night: check with "placementsync lake status"`},
		"another output": {script: "echo done", want: ledger.Run{Outcome: ledger.Failed, ExitCode: 1},
			wantErr: "publish to the lake: read the output of placementsync-lake: "},
	} {
		t.Run(name, func(t *testing.T) {
			useLakeProgram(t, c.script)
			log.Reset()
			got, err := g.publishToLake(t.Context())
			if (err == nil) != (c.wantErr == "") || err != nil && !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("got the error %v, want %q", err, c.wantErr)
			}
			if !strings.Contains(log.String(), c.log) || c.log == "" && log.Len() > 0 {
				t.Errorf("the log is %q, want %q", &log, c.log)
			}
			if err != nil && got.Error != err.Error() {
				t.Errorf("the ledger has the error %q, want that of the publishing", got.Error)
			}
			got.ID, got.Error = "", ""
			c.want.Kind, c.want.StartedAt, c.want.EndedAt, c.want.Program = ledger.Lake, at, at, got.Program
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("ledger line (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLakeIsChecked checks a lake whose program has a wrong configuration, and then does not end.
func TestLakeIsChecked(t *testing.T) {
	var out, log bytes.Buffer
	g := &globals{process: process{stdout: &out, stderr: &log}}
	g.Config, g.LogFormat, g.Quiet, g.Verbose = "my.yaml", "json", true, true
	cfg := config.Config{}
	if err := g.checkLake(t.Context(), cfg); err != nil || out.Len() > 0 {
		t.Errorf("without a lake, the check printed %q and ended with %v, want neither", &out, err)
	}
	cfg.Lake.Catalog = "sqlite"
	useLakeProgram(t, `test "$*" = "--config my.yaml --log-format json --quiet --verbose check --format json" || exit 9
echo a line of the log >&2`)
	harness.Must(t, g.checkLake(t.Context(), cfg))
	if out.String() != "lake           can be written\n" || log.String() != "a line of the log\n" {
		t.Errorf("the check printed %q and logged %q, want that the lake can be written, and the log", &out, &log)
	}
	useLakeProgram(t, `echo '{"msg": "command failed", "error": "lake.catalog is empty"}' >&2; exit 2`)
	err := g.checkLake(t.Context(), cfg)
	if cli.OutcomeOf(t.Context(), err) != ledger.Misused || err.Error() != "lake.catalog is empty" {
		t.Errorf("with a wrong configuration the check ended with %v, want its error of usage", err)
	}
	useLakeProgram(t, "exec sleep 60")
	g.lakeTimeout = 50 * time.Millisecond
	err = g.checkLake(t.Context(), cfg)
	const want = "check: it did not end within 50ms and was stopped: check that the catalog and the bucket respond, " +
		`or run "placementsync lake check", which has no time limit`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the check of a lake that does not respond ended with %v, want %q", err, want)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := g.checkLake(ctx, cfg); err == nil || strings.Contains(err.Error(), "did not end within") {
		t.Errorf("an interrupted check ended with %v, want no time limit", err)
	}
}

// TestLakeIsExpiredAfterANight runs the follow-ups of a night of "serve". Old nights are removed only after a
// publishing.
func TestLakeIsExpiredAfterANight(t *testing.T) {
	dir := t.TempDir()
	createWarehouse(t, dir)
	var log bytes.Buffer
	g := &globals{process: process{stderr: &log, Host: cli.Host{Now: time.Now}}}
	cfg := config.Config{Warehouse: config.Warehouse{Dir: dir}, Lake: config.Lake{Catalog: "sqlite"}}
	calls := filepath.Join(t.TempDir(), "calls")
	for published, want := range map[string]string{`[{"run_id": "r1"}]`: "publish expire ", "[]": "publish "} {
		harness.Must(t, os.WriteFile(calls, nil, 0o600))
		useLakeProgram(t, `printf '%s ' "$5" >> `+calls+"\necho '"+`{"published": `+published+"}'\n"+`test "$5" = publish`)
		log.Reset()
		(&jobs{s: &serveProgram{g: g, log: g.newLogger()}, cfg: cfg}).FollowUp(t.Context())
		if got := read(t, calls); got != want {
			t.Errorf("after the output %s of a publishing, the lake program was called for %q, want %q", published, got, want)
		}
		isWarned := strings.Contains(log.String(), "old nights of the lake not removed; the next night tries again")
		if isWarned != strings.Contains(want, "expire") {
			t.Errorf("after the output %s of a publishing, the log is\n%s", published, &log)
		}
	}
}
