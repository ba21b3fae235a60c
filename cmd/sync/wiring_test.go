package main

import (
	"bytes"
	"io"
	"math/big"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/load"
	"placementsync/internal/notify"
	"placementsync/internal/pipeline"
	"placementsync/internal/repair"
	"placementsync/internal/testing/harness"
	"placementsync/internal/transform"
	"placementsync/internal/watch"
)

// TestFetchConfig checks the settings that follow from several keys. A wrong one would show private values in errors, or
// end a night whose token was rotated.
func TestFetchConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tokenFile                   string
		privacy                     config.Privacy
		canChange, hasPrivateValues bool
	}{
		"neither":         {},
		"a token file":    {tokenFile: "token", canChange: true},
		"dropped columns": {privacy: config.Privacy{Drop: []string{"orders.guest_email"}}, hasPrivateValues: true},
		"hashed columns":  {privacy: config.Privacy{Hash: []string{"orders.guest_email"}}, hasPrivateValues: true},
	} {
		got := fetchConfig(config.Config{API: config.API{TokenFile: c.tokenFile}, Privacy: c.privacy})
		private, err := privateColumns(config.Config{Privacy: c.privacy})
		if err != nil || slices.Contains(private, "orders.guest_email") != c.hasPrivateValues {
			t.Errorf("%s: an audit treats the columns %q as private (%v); want orders.guest_email: %t", name, private, err, c.hasPrivateValues)
		}
		if want := "placementsync/" + version; got.UserAgent != want {
			t.Errorf("%s: the requests name the program %q, want %q", name, got.UserAgent, want)
		}
		if got.TokenCanChange != c.canChange || got.HasPrivateValues != c.hasPrivateValues {
			t.Errorf("%s: the token can change: %t, and there are private values: %t; want %t and %t", name, got.TokenCanChange, got.HasPrivateValues, c.canChange, c.hasPrivateValues)
		}
	}
}

// TestNightOptionsComeFromTheConfiguration compares the options of a night with a configuration that differs from the
// defaults in each setting.
func TestNightOptionsComeFromTheConfiguration(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.API = config.API{BaseURL: "https://api.example.com", Token: "secret", TeamID: "team", Fields: map[string]string{"orders.status": "state"},
		PriceUnit: config.MinorUnit, UserAgent: "me", RequestsPerSecond: 1.5, Burst: 2, Concurrency: 3, PageSize: 4, Timeout: 5, MaxBody: "6MB",
		Retry: config.Retry{MaxRetries: 7, Base: 8, Max: 9, Jitter: 0.1}}
	c.Streams = config.Streams{Include: []string{"o*"}, Exclude: []string{"outlet*"}, Details: "none", LiveDays: 10, Recheck: 11, MaxPasses: 12, MaxPages: 13}
	c.Run = config.Run{ResumeMaxAge: 14, MaxDuration: 15, Patience: 16, MassDeleteShare: 0.17, MassDeleteRows: 18}
	c.Privacy = config.Privacy{Drop: []string{"orders.guest_email"}, Hash: []string{"orders.guest_name"}, HashKey: "key"}
	c.History.Ignore = []string{"outlets.name"}
	c.Checks.Timeout = 19
	c.Schedule.Timezone = "Europe/Berlin"
	g := &globals{}
	got, err := g.nightConfig(c)
	harness.Must(t, err)
	want := pipeline.Config{
		Fetch: fetch.Config{BaseURL: "https://api.example.com", UserAgent: "me", RequestsPerSecond: 1.5, Burst: 2, Concurrency: 3, PageSize: 4,
			MaxPasses: 12, MaxPages: 13, Timeout: 5, MaxBody: 6_000_000, Retry: fetch.Retry{MaxRetries: 7, Base: 8, Max: 9, Jitter: 0.1},
			Patience: 16, HasPrivateValues: true},
		TeamID: "team", OtherNames: c.API.Fields, MinorUnits: true, Ignored: c.History.Ignore, CheckTimeout: 19, Settings: c.QuerySettings(),
		Privacy:      transform.Privacy{Drop: c.Privacy.Drop, Hash: c.Privacy.Hash, Key: []byte("key")},
		ResumeMaxAge: 14, MaxDuration: 15, Details: pipeline.NoDetails, LiveDays: 10, Recheck: 11, Limits: load.Limits{Share: 0.17, Rows: 18},
		Chosen: []string{"order_details", "order_items", "orders"},
	}
	slices.Sort(got.Chosen)
	elsewhere := cmpopts.IgnoreFields(pipeline.Config{}, "Warehouse", "Streams", "Checks", "Now", "Log")
	if diff := cmp.Diff(want, got, elsewhere, cmpopts.IgnoreFields(fetch.Config{}, "Token", "Proxy")); diff != "" {
		t.Errorf("options of a night (-want +got):\n%s", diff)
	}
	if token, err := got.Fetch.Token(t.Context()); token != "secret" || err != nil {
		t.Errorf("got the token %q (%v), want the token of the configuration", token, err)
	}
	if got.Fetch.Proxy == nil || len(got.Streams) == 0 {
		t.Errorf("got a proxy: %t, and %d streams; want a proxy and all streams", got.Fetch.Proxy != nil, len(got.Streams))
	}
}

// TestServeSettingsComeFromTheConfiguration compares the settings that a reload can change with the configuration.
func TestServeSettingsComeFromTheConfiguration(t *testing.T) {
	t.Parallel()
	g := newLoggingGlobals(t, io.Discard, io.Discard, `schedule: {cron: "1 2 * * *", timezone: Europe/Berlin, catch_up: false, retries: [5m]}
verify: {cron: "3 4 * * 0"}
serve: {hosts: [sync.example.com], auth_token: a-long-token-of-the-page, webhook_secrets: [old-signing-secret], webhook_max_age: 7m}
lake: {catalog: sqlite, warehouse: ./lake}
backup: s3://bucket/prefix
watch: [{name: w, query: headline, send: [chat]}]
notify: {channels: [{name: chat, type: slack, url: https://chat.example.com/secret}]}
`)
	s, got := newTestSettings(t, g)
	if schedule := got.Schedule.String(); schedule != "1 2 * * * Europe/Berlin" {
		t.Errorf("the schedule is %q, want that of the configuration", schedule)
	}
	if schedule := got.VerifySchedule.String(); schedule != "3 4 * * 0 Europe/Berlin" {
		t.Errorf("the schedule of the verification is %q, want that of the configuration", schedule)
	}
	if got.CatchUp || !slices.Equal(got.Retries, []time.Duration{5 * time.Minute}) {
		t.Errorf("catch_up is %t and the retries are %v, want those of the configuration", got.CatchUp, got.Retries)
	}
	if got.AuthToken != "a-long-token-of-the-page" {
		t.Errorf("the token of the page is %q, want that of the configuration", got.AuthToken)
	}
	if !got.Hosts.Allows("sync.example.com") || got.Hosts.Allows("example.org") || !got.HooksEnabled {
		t.Error("the host of the configuration is refused, or another is allowed, or the page says that webhooks are off")
	}
	if want := []string{ledger.Watch, ledger.Lake, ledger.Backup, ledger.Rehearsal}; !slices.Equal(got.FollowUpKinds, want) {
		t.Errorf("the status page shows the follow-ups %v, want %v", got.FollowUpKinds, want)
	}
	names, _ := watchCommand(g).ValidArgsFunction(nil, nil, "")
	if len(names) != 1 || names[0] != "w" {
		t.Errorf("the completion of watches proposes %q, want the watch of the configuration", names)
	}
	j := got.Jobs.(*jobs)
	wantInspector := &daemon.Inspector{Warehouse: j.Warehouse, WatchNames: []string{"w"},
		LakeDir: filepath.Join(filepath.Dir(g.Config), "lake"), Receiver: s.hooks.receiver}
	if j.Now == nil || j.night.Fetch.Allowance == nil || j.night.Progress != &s.tracker {
		t.Error("the jobs have no clock, no allowance of requests, or another progress")
	}
	j.Now = nil
	if !reflect.DeepEqual(j.Inspector, wantInspector) {
		t.Errorf("an inspection reads %+v, want %+v", j.Inspector, wantInspector)
	}
}

// TestWatchesComeFromTheConfiguration compares watches with their configuration, and sends a message by e-mail.
func TestWatchesComeFromTheConfiguration(t *testing.T) {
	t.Parallel()
	params, when := map[string]string{"p": "1"}, watch.Condition{Column: "n", Bound: big.NewRat(3, 2)}
	watches := newWatches([]config.Watch{{Name: "a", Query: "q", Params: params, When: "n under 1.5", Key: []string{"k"},
		Show: []string{"s"}, NewOnly: true, Advice: "Act.", Send: []string{"mail"}}, {Name: "b", When: "rows"}})
	want := []watch.Watch{{Name: "a", Query: "q", Params: params, When: when, Key: []string{"k"},
		Show: []string{"s"}, NewOnly: true, Advice: "Act.", Channels: []string{"mail"}}, {Name: "b"}}
	if !reflect.DeepEqual(watches, want) {
		t.Errorf("got the watches %+v, want %+v", watches, want)
	}
	mail := &mailServer{}
	cfg := config.Config{Notify: config.Notify{Channels: []config.Channel{{Name: "chat", Type: notify.Slack}, {Name: "mail", Type: notify.Email,
		From: "from@example.com", To: []string{"to@example.com"}, SMTP: config.SMTP{Host: "127.0.0.1", Port: mail.serve(t), TLS: notify.NoTLS}}}}}
	g := newLoggingGlobals(t, io.Discard, io.Discard, "")
	harness.Must(t, g.newSender(cfg)(t.Context(), "mail", watch.Message{ID: "m1", Subject: "a subject", Text: "a text"}))
	if len(mail.messages) != 1 {
		t.Fatalf("the mail server got %q, want one e-mail", mail.messages)
	}
	for _, want := range []string{"From: <from@example.com>", "To: <to@example.com>", "Subject: a subject", "Message-ID: <m1@", "a text"} {
		if !strings.Contains(mail.messages[0], want) {
			t.Errorf("the e-mail lacks %q:\n%s", want, mail.messages[0])
		}
	}
}

// TestAlertOfDamage compares the alerts of two verifications.
func TestAlertOfDamage(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.November, 20, 2, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		record repair.VerifyRecord
		code   int
		text   string
	}{
		{repair.VerifyRecord{Result: repair.Rebuildable, DamagedFiles: []string{"a", "b"}}, 3, "2 files: a, b"},
		{repair.VerifyRecord{Result: repair.DataLost, DamagedFiles: []string{"a"}, Error: "no disk"}, 1, "no disk; 1 file: a"},
	} {
		c.record.At, c.record.Seconds = at, 90
		want := notify.Alert{Event: notify.Damaged, ExitCode: c.code, Error: c.text, StartedAt: at, EndedAt: at.Add(90 * time.Second), Program: version}
		if diff := cmp.Diff(want, damageAlert(c.record)); diff != "" {
			t.Errorf("alert (-want +got):\n%s", diff)
		}
	}
}

// TestRefusedArguments checks arguments that no command accepts. None reads the configuration, which is missing.
func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "nosuch.yaml")
	for args, want := range map[string]string{
		"mcp --timeout -1s":               "--timeout is -1s: use 0 or more",
		"raw --page -1":                   "--page is -1: use 1 or more",
		"raw --pass 0":                    "--pass is 0: use 1 or more",
		"raw --print --format csv":        "--print and --format exclude each other",
		"raw a b":                         "accepts at most 1 arg",
		"rebuild --older":                 "--older needs --from",
		"rebuild --series --skip-damaged": "--series cannot be combined",
		"rebuild a":                       "takes no arguments",
		"replay":                          `replay needs a RUN: the command "runs" lists the runs`,
		"replay a b":                      "replay takes one RUN and got 2",
		"rollback a b":                    "rollback takes one RUN and got 2",
		"report --profile a --held":       "--profile and --held exclude each other",
		"rebuild --series --accept-loss":  "--series cannot be combined",
		"rebuild --series --from s3://a":  "--series cannot be combined",
		"schema --all orders":             "--all prints all tables",
		"query --list --sql a":            "--list and --sql exclude each other",
		"query a b":                       "query takes one argument and got 2: put SQL in quotes",
		"run a":                           `run takes no arguments and got "a"`,
		"verify a":                        "takes no arguments",
		"prune a":                         "takes no arguments",
		"runs a":                          "takes no arguments",
	} {
		var stdout, stderr bytes.Buffer
		code := executeArgs(t.Context(), append(strings.Fields(args), "--config", file), processWithoutEnvironment(&stdout, &stderr))
		if code != ledger.Misused.ExitCode() || !strings.Contains(stderr.String(), want) || stdout.Len() > 0 {
			t.Errorf("%s: ended with %d and %q, want %d and %q", args, code, &stderr, ledger.Misused.ExitCode(), want)
		}
	}
}
