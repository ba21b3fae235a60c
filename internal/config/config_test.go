package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
	"placementsync/internal/testing/harness"
)

// env looks up the variables that the files under testdata refer to.
func env(name string) (string, bool) {
	value, ok := map[string]string{
		"PLACEMENTSYNC_TOKEN": "pc_hunter2",
		"WEBHOOK_SECRET":      "whsec-hunter2",
		"CONCURRENCY":         "16",
		"EMPTY":               "",
		"NAN":                 "NaN",
		"INFINITE":            "Inf",
		"QUOTED":              "a: b\n\"c\" ${CONCURRENCY} $$",
	}[name]
	return value, ok
}

// envWithHashKey looks up the variables of env and the hash key.
func envWithHashKey(name string) (string, bool) {
	if name == config.HashKeyVar {
		return "hash-hunter2", true
	}
	return env(name)
}

// minimalFile returns the shortest valid configuration, followed by the lines in more.
func minimalFile(more string) []byte {
	return []byte("api:\n  base_url: https://api.example.com\n  token: ${PLACEMENTSYNC_TOKEN}\n" + more)
}

// TestBadFiles loads a file for each validation rule. The leading "# want:" comments of a file are its
// expected problems without the file name.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) < 60 {
		t.Fatalf("testdata/bad has %d files (%v), want at least 60", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			_, err := config.Load(file, env)
			if err == nil {
				t.Fatal("the file was accepted")
			}
			got := strings.ReplaceAll(err.Error(), file+":", "")
			if diff := cmp.Diff(wantedProblems(t, file), strings.Split(got, "\n")); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if strings.Contains(got, "hunter2") {
				t.Errorf("the error contains a secret: %s", got)
			}
		})
	}
}

func wantedProblems(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	harness.Must(t, err)
	var want []string
	for line := range strings.Lines(string(text)) {
		if message, ok := strings.CutPrefix(line, "# want: "); ok {
			want = append(want, strings.TrimSpace(message))
		}
	}
	return want
}

func TestMinimalFileGivesTheDefaults(t *testing.T) {
	for _, file := range []string{"minimal.yaml", "empty_sections.yaml"} {
		got, err := config.Load(filepath.Join("testdata/good", file), env)
		harness.Must(t, err)
		want := config.Default()
		want.API.BaseURL, want.API.Token = got.API.BaseURL, got.API.Token
		got.Warnings = nil // depends on the file mode that git checked out
		want.Warehouse.Dir = "testdata/good/warehouse"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func TestExampleEqualsTheDefaults(t *testing.T) {
	got, err := config.Load("../../config.example.yaml", env)
	harness.Must(t, err)
	want := config.Default()
	want.API.BaseURL, want.API.Token = "https://api.example.com", "pc_hunter2"
	want.Warehouse.Dir = "../../warehouse"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("config.example.yaml differs from Default (-default +example):\n%s", diff)
	}
}

func TestExampleShowsEveryKey(t *testing.T) {
	example, err := os.ReadFile("../../config.example.yaml")
	harness.Must(t, err)
	defaults, err := yaml.Marshal(config.Default())
	harness.Must(t, err)
	for line := range strings.Lines(string(defaults)) {
		key, _, ok := strings.Cut(line, ":")
		if key = strings.TrimSpace(key); ok && !strings.Contains(string(example), key+":") {
			t.Errorf("config.example.yaml does not show %s", key)
		}
	}
}

func TestFullFileIsDecoded(t *testing.T) {
	got, err := config.Load("testdata/good/full.yaml", envWithHashKey)
	harness.Must(t, err)
	got.Warnings = nil // depends on the file mode that git checked out
	want := config.Config{
		API: config.API{
			BaseURL: "http://api.example.com:8443/v1", AllowInsecure: true,
			TokenFile: "testdata/good/secrets/token", TeamID: "0123", Fields: map[string]string{"profiles.drive_link": "links.shared"},
			PriceUnit:         "minor",
			UserAgent:         "nightly/1.0 (+https://example.com)",
			RequestsPerSecond: 2.5, Burst: 4, Concurrency: 16, PageSize: 50, Timeout: 90 * time.Second, MaxBody: "8 MiB",
			Retry: config.Retry{Base: time.Second, Max: 8 * time.Second},
		},
		Streams: config.Streams{
			Include: []string{"outlet*", "orders"}, Exclude: []string{"outlet_products"},
			Details: "all", MaxPasses: 1, MaxPages: 500,
		},
		Run:       config.Run{MassDeleteShare: 1},
		Warehouse: config.Warehouse{Dir: "testdata/data", KeepVersions: 1, MemoryLimit: "0.5 GiB", Threads: 2, PublishedMode: "0640"},
		Retention: config.Retention{Daily: 1, Weekly: 2, Monthly: 3},
		Schedule:  config.Schedule{Cron: "@hourly", Timezone: "Europe/Berlin", Retries: []time.Duration{90 * time.Second}},
		Verify:    config.Verify{Cron: "@weekly"},
		Checks: config.Checks{Dir: "testdata/good/own-checks", Timeout: 2 * time.Minute, Rules: map[string]config.CheckRule{
			"prices_scaled": {Severity: "warn", Params: map[string]string{"share": "0.5"}}, "host_listed_twice": {Severity: "off"}}},
		Serve: config.Serve{
			Listen: "[::]:9090", Hosts: []string{"status.example.com", "Warehouse_1.", "10.0.0.5"}, AuthToken: "5$-a:b#c-d:e#f-g",
			WebhookSecrets: []config.Secret{"whsec-hunter2", "plain$text"}, WebhookPrefixes: []string{"X-Events-", "x-hook-"},
			WebhookMaxAge: time.Hour, InboxMax: "16 MB", RefreshOnEvent: true,
		},
		Notify: config.Notify{FailureURL: "https://hooks.example.com/whsec-hunter2", HeartbeatURL: "http://127.0.0.1/beat", Channels: []config.Channel{
			{Name: "chat", Type: "slack", URL: "https://chat.example.com/whsec-hunter2", To: []string{}, SMTP: config.SMTP{TLS: "starttls"}},
			{Name: "mail", Type: "email", From: "Robot <a@example.com>", To: []string{"b@example.com"}, SMTP: config.SMTP{
				Host: "mail.example.com", Port: 2525, TLS: "tls", User: "robot", PasswordFile: "testdata/good/secrets/mail"}},
			{Name: "local", Type: "email", From: "a@example.com", To: []string{"b@example.com", "c@example.com"}, SMTP: config.SMTP{
				Host: "localhost", TLS: "none"}},
		}},
		Watch: []config.Watch{
			{Name: "drops_1", Query: "SELECT 1 AS \"a b\"\n", When: "a b under -10.5", Key: []string{"a"}, Show: []string{"a", "b"}, Advice: "Look.", Send: []string{"chat", "mail"},
				Params: map[string]string{"nights": "3", "since": "2026-11-01", "tier": "16", "below": "-1.50", "new": "true"}},
			{Name: "all", Query: "headline", When: "rows", NewOnly: true, Params: map[string]string{}, Key: []string{}, Show: []string{}, Send: []string{"chat"}},
		},
		History: config.History{Ignore: []string{"files.file_url", "orders.extra.fetched_at"}},
		Privacy: config.Privacy{
			Hash: []string{"orders.guest_email"}, Drop: []string{}, Raw: config.RawDiscard, HashKey: "hash-hunter2",
		},
		Lake: config.Lake{Catalog: "sqlite:testdata/good/tables.db", Warehouse: "s3://bucket/lake", Namespace: "nights", Name: "prod", KeepNights: 7,
			PostgresPasswordFile: "testdata/good/secrets/postgres", REST: config.LakeREST{URI: "https://catalog.example.com", Warehouse: "main",
				TokenFile: "testdata/good/secrets/rest", OAuthURI: "https://login.example.com", Scope: "catalog", SigningName: "glue", SigningRegion: "eu-central-1"}},
		Statuses: config.Statuses{
			Published: []string{"published", "live"}, Ended: []string{"rejected", "Done"}, Revision: []string{},
			WaitsForPartner:  []string{"action-required", "needs-info", "request-revision", "brief-update-requested", "draft-update-requested"},
			WaitsForApproval: []string{"brief-ready-for-review", "draft-ready-for-review"}, WaitsForWriter: []string{},
			WaitsForPublisher: []string{"pending-publishing"},
			OrdersFulfilled:   []string{"fulfilled", "completed", "complete", "delivered"}, OrdersEnded: []string{"Lost", "closed"},
			CampaignsEnded: []string{"completed", "cancelled", "canceled", "archived"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("full.yaml (-want +got):\n%s", diff)
	}
}

// TestConditionsOfWatches checks the column, the direction and the bound of conditions. Without a
// column, the bound is empty too.
func TestConditionsOfWatches(t *testing.T) {
	for when, want := range map[string]string{"rows": " false ", "amount over 1000": "amount true 1000", "a over b under -0.50": "a over b false -0.50", "over 5": " false "} {
		column, over, bound := config.Watch{When: when}.Condition()
		if got := fmt.Sprintf("%s %t %s", column, over, bound); got != want {
			t.Errorf("condition %q is parsed as %q, want %q", when, got, want)
		}
	}
}

func TestAllProblemsAreReportedTogether(t *testing.T) {
	_, err := config.Parse("config.yaml", []byte(`
api:
  base_url: http://api.example.com
  page_size: 0
  pagesize: 10
schedule:
  cron: tonight
  timezone: Moon
streams:
  live_days: soon
`), env)
	want := []config.Problem{
		{Line: 2, Path: "api.token"},
		{Line: 3, Path: "api.base_url"},
		{Line: 4, Path: "api.page_size"},
		{Line: 5, Path: "api.pagesize"},
		{Line: 7, Path: "schedule.cron"},
		{Line: 8, Path: "schedule.timezone"},
		{Line: 10, Path: "streams.live_days"},
	}
	if diff := cmp.Diff(want, problemPlaces(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	const line = "config.yaml:4: api.page_size: 0 is below 1: use 1 to 1000\n"
	if !strings.Contains(err.Error(), line) {
		t.Errorf("got:\n%v\nwant a line:\n%s", err, line)
	}
}

// problemPlaces returns lines and paths of the problems of err.
func problemPlaces(t *testing.T, err error) []config.Problem {
	t.Helper()
	configErr, ok := errors.AsType[*config.Error](err)
	if !ok {
		t.Fatalf("got %v, want a *config.Error", err)
	}
	var problems []config.Problem
	for _, p := range configErr.Problems {
		problems = append(problems, config.Problem{Line: p.Line, Path: p.Path})
	}
	return problems
}

func TestEmptyFileLacksAddressAndToken(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing yet\n", "---\n"} {
		_, err := config.Parse("config.yaml", []byte(text), env)
		want := []config.Problem{{Path: "api.base_url"}, {Path: "api.token"}}
		if diff := cmp.Diff(want, problemPlaces(t, err)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// TestErrorOfMissingFileSuggestsInit also shows the problem of the missing file for one section.
func TestErrorOfMissingFileSuggestsInit(t *testing.T) {
	_, err := config.Load("testdata/none.yaml", env)
	const hint = "placementsync init --config testdata/none.yaml"
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), hint) {
		t.Fatalf("got %v, want fs.ErrNotExist with %q", err, hint)
	}
	configErr, _ := errors.AsType[*config.Error](err)
	if within := configErr.Within("warehouse"); !errors.Is(within, fs.ErrNotExist) || fmt.Sprint(within) != err.Error() {
		t.Errorf("for one section: got %v, want %v", within, err)
	}
}

func TestBinaryHugeAndUnreadableFilesAreRejected(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"binary":  {"api:\n  team_id: \x00", "f:2: is not UTF-8 text: give the path of a configuration file"},
		"latin-1": {"api:\n\n  team_id: b\xfcro", "f:3: is not UTF-8 text: give the path of a configuration file"},
		"huge":    {strings.Repeat("# text\n", 1<<16), "f: is larger than 64 KiB: give the path of a configuration file"},
	} {
		_, err := config.Parse("f", []byte(test.text), env)
		if err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
	if _, err := config.Load("testdata", env); err == nil || !strings.Contains(err.Error(), "testdata: cannot be read: is a directory") {
		t.Errorf("load a folder: got %v, want \"is a directory\"", err)
	}
}

func TestVariablesCannotInjectYAML(t *testing.T) {
	cfg, err := config.Parse("f", minimalFile("serve: {auth_token: \"\"}\nwarehouse:\n  dir: /data/${QUOTED}\n"), env)
	harness.Must(t, err)
	want, _ := env("QUOTED")
	if got := cfg.Warehouse.Dir; got != "/data/"+want {
		t.Errorf("warehouse.dir is %q, want the value of QUOTED unchanged: %q", got, want)
	}
}

// TestProblemsOfSimilarValues parses values of which testdata/bad contains at most one.
func TestProblemsOfSimilarValues(t *testing.T) {
	const isReachable = " is reachable from other machines: set serve.auth_token"
	const namesZone = "names a time zone: move it to schedule.timezone" // the parser would panic on a zone without fields
	for text, want := range map[string]string{
		"${EMPTY}: 1":                               `f:4: "${EMPTY}": unknown key`,
		"schedule: {cron: 'TZ=UTC'}":                namesZone,
		"schedule: {cron: 'CRON_TZ=UTC'}":           namesZone,
		"schedule: {cron: 'CRON_TZ=UTC 0 2 * * *'}": namesZone,
		"serve: {listen: '0.0.0.0:8080'}":           `serve.listen: "0.0.0.0:8080"` + isReachable,
		"serve: {listen: '[::]:8080'}":              `serve.listen: "[::]:8080"` + isReachable,
		"serve: {listen: '192.0.2.1:8080'}":         `serve.listen: "192.0.2.1:8080"` + isReachable,
		"serve: {listen: 'nas.example:8080'}":       `serve.listen: "nas.example:8080"` + isReachable,
	} {
		if _, err := config.Parse("f", minimalFile(text+"\n"), env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestNilLookupMeansNoVariables(t *testing.T) {
	_, err := config.Parse("f", minimalFile(""), nil)
	if err == nil || !strings.Contains(err.Error(), "PLACEMENTSYNC_TOKEN is not set") {
		t.Errorf("got %v, want an error that PLACEMENTSYNC_TOKEN is not set", err)
	}
}

func TestValidateChecksAConfigBuiltInCode(t *testing.T) {
	cfg := config.Default()
	cfg.API.BaseURL, cfg.API.Token = "http://127.0.0.1:8080", "pc_demo"
	if err := cfg.Validate(); err != nil {
		t.Errorf("validate a valid configuration: %v", err)
	}
	cfg.API.PageSize = 0
	err := cfg.Validate()
	const want = "api.page_size: 0 is below 1: use 1 to 1000"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLoopbackHostsNeedNoEncryption(t *testing.T) {
	for _, host := range []string{"localhost", "LOCALHOST:80", "127.0.0.1", "127.8.9.1:8080", "[::1]:8080", "[::ffff:127.0.0.1]"} {
		cfg := config.Default()
		cfg.API.BaseURL, cfg.API.Token = "http://"+host, "pc_demo"
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: got %v, want no error", host, err)
		}
	}
}

func TestWithinKeepsProblemsOfTheNamedSections(t *testing.T) {
	_, err := config.Parse("f", []byte("api: {page_size: 0}\nwarehouse: {threads: -1}\n"), env)
	configErr, _ := errors.AsType[*config.Error](err)
	for name, test := range map[string]struct {
		sections []string
		want     []config.Problem
	}{
		"one section":  {[]string{"warehouse"}, []config.Problem{{Line: 2, Path: "warehouse.threads"}}},
		"no section":   {nil, nil},
		"a setting":    {[]string{"api.page_size"}, []config.Problem{{Line: 1, Path: "api.page_size"}}},
		"a prefix":     {[]string{"api.page"}, nil},
		"two sections": {[]string{"api", "warehouse"}, problemPlaces(t, err)},
	} {
		remaining := configErr.Within(test.sections...)
		if remaining == nil && test.want == nil {
			continue
		}
		if diff := cmp.Diff(test.want, problemPlaces(t, remaining)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	_, err = config.Parse("f", minimalFile("warehose: {}\n"), env)
	configErr, _ = errors.AsType[*config.Error](err)
	if configErr.Within("warehouse") == nil {
		t.Error("Within(warehouse) omits the unknown section warehose, which may be a misspelt warehouse")
	}
	_, err = config.Parse("f", minimalFile("watch: [{name: A}]\n"), env)
	configErr, _ = errors.AsType[*config.Error](err)
	if err := configErr.Within("warehouse"); err != nil {
		t.Errorf("a command that needs only the warehouse is refused because of a watch: %v", err)
	}
}

// TestValuesAtTheirLimitsAreAccepted tries the last value that is allowed, and forms that look like bad ones.
func TestValuesAtTheirLimitsAreAccepted(t *testing.T) {
	for _, text := range []string{
		"verify: {cron: \"\"}", "schedule: {cron: \"0 2 29 2 *\"}",
		"serve: {inbox_max: 1TB}", "serve: {inbox_max: 16MB}", "serve: {inbox_max: \"\"}",
		"warehouse: {memory_limit: 200MB}",
		"s3: {endpoint: \"http://store.example.com/\", allow_insecure: true}", "s3: {access_key_file: a, secret_key_file: b}",
		"notify: {failure_url: \"https://user:password@hooks.example.com\"}",
		"privacy: {drop: [orders.guest_email, outlet_listing_prices.currency]}",
		"lake: {catalog: \"postgresql://user@host/db\", warehouse: ./lake}", "lake: {catalog: \"postgres://host/db\", warehouse: \"s3://bucket/lake\"}",
		"lake: {catalog: sqlite, warehouse: ./lake}",
		"lake: {catalog: rest, rest: {uri: \"https://catalog.example.com\", credential_file: f}}",
		"notify: {channels: [{name: a, type: slack, url: \"https://h.example.com\"}]}\nwatch: [{name: w, query: headline, send: [a], advice: " +
			strings.Repeat("ü", 500) + "}]",
	} {
		if _, err := config.Parse("f", minimalFile(text+"\n"), env); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"max_body: 1MB", "max_body: 2GB", "retry: {base: 1m, max: 1m}", "user_agent: \"a~b\"",
		"price_unit: minor}\nprivacy: {drop: [orders.guest_email]", "price_unit: minor}\nprivacy: {drop: [orders.currency]",
	} {
		if _, err := config.Parse("f", []byte("api: {base_url: https://api.example.com, token: pc_a, "+text+"}\n"), env); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRelativePathsAreInTheFolderOfTheFile checks each key with a path. Absolute paths, and keys without a value, stay.
func TestRelativePathsAreInTheFolderOfTheFile(t *testing.T) {
	const relative = "api: {base_url: https://api.example.com, token_file: P}\ns3: {access_key_file: P, secret_key_file: P}\nwarehouse: {dir: P}\nqueries: {dir: P}\nchecks: {dir: P}\n" +
		"lake: {catalog: 'sqlite:P', warehouse: P, postgres_password_file: P, rest: {token_file: P}}\n"
	for given, want := range map[string]string{"x/y": "etc/x/y", "/x/y": "/x/y"} {
		c, err := config.Parse("etc/config.yaml", []byte(strings.ReplaceAll(relative, "P", given)), env)
		harness.Must(t, err)
		for key, got := range map[string]string{
			"api.token_file": c.API.TokenFile, "s3.access_key_file": c.S3.AccessKeyFile, "s3.secret_key_file": c.S3.SecretKeyFile, "warehouse.dir": c.Warehouse.Dir,
			"queries.dir": c.Queries.Dir, "checks.dir": c.Checks.Dir, "lake.catalog": strings.TrimPrefix(c.Lake.Catalog, "sqlite:"), "lake.warehouse": c.Lake.Warehouse,
			"lake.postgres_password_file": c.Lake.PostgresPasswordFile, "lake.rest.token_file": c.Lake.REST.TokenFile,
		} {
			if got != want {
				t.Errorf("%s: %s is read as %s, want %s", key, given, got, want)
			}
		}
	}
	c, err := config.Parse("etc/config.yaml",
		minimalFile("lake: {catalog: rest, rest: {uri: \"https://catalog.example.com\", credential_file: f},\n"+
			"  warehouse: \"s3://bucket/lake\"}\n"), env)
	if err != nil || c.Lake.REST.CredentialFile != "etc/f" ||
		c.Lake.Catalog != "rest" || c.Lake.Warehouse != "s3://bucket/lake" ||
		c.Lake.REST.TokenFile != "" || c.Queries.Dir != "" {
		t.Errorf("got %+v and queries.dir %q (%v), want the values of the file", c.Lake, c.Queries.Dir, err)
	}
}

func TestCheckBaseURL(t *testing.T) {
	if err := (config.API{BaseURL: "https://api.example.com"}).CheckBaseURL(); err != nil {
		t.Error(err)
	}
	const want = "api.base_url: is empty: give the address of the service, such as https://api.example.com"
	if err := (config.API{}).CheckBaseURL(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestSettingsOfQueries checks the settings that queries read, and other computed values.
func TestSettingsOfQueries(t *testing.T) {
	c := config.Default()
	c.Schedule.Timezone, c.Warehouse.MemoryLimit, c.Warehouse.PublishedMode = "Europe/Berlin", "2GB", "0640"
	c.Statuses.OrdersFulfilled, c.Statuses.OrdersEnded, c.Statuses.CampaignsEnded = []string{"paid", "sent"}, []string{"void"}, nil
	want := map[string]string{"schedule.timezone": "Europe/Berlin", "statuses.orders_fulfilled": "paid,sent",
		"statuses.orders_ended": "void", "statuses.campaigns_ended": ""}
	if diff := cmp.Diff(want, c.QuerySettings()); diff != "" {
		t.Errorf("the settings of queries (-want +got):\n%s", diff)
	}
	if c.Warehouse.MemoryBytes() != 2_000_000_000 || c.Warehouse.Mode() != 0o640 || (config.Warehouse{}).Mode() != 0 {
		t.Errorf("got %d bytes and the mode %o, want 2000000000, 640, and 0 for no mode", c.Warehouse.MemoryBytes(), c.Warehouse.Mode())
	}
}

// TestMeaningsOfStatuses checks the state of each prefix. Revision may repeat prefixes of other lists.
func TestMeaningsOfStatuses(t *testing.T) {
	got := config.Statuses{
		Published: []string{"live"}, Ended: []string{"rejected"}, WaitsForPartner: []string{"info", "redo"}, WaitsForApproval: []string{"draft"},
		WaitsForWriter: []string{"write"}, WaitsForPublisher: []string{"pending"}, Revision: []string{"redo", "again"},
	}.List()
	want := []config.Status{
		{Prefix: "live", State: "published"}, {Prefix: "rejected", State: "ended"}, {Prefix: "info", State: "open", WaitsFor: "partner"},
		{Prefix: "redo", State: "open", WaitsFor: "partner", IsRevision: true}, {Prefix: "draft", State: "open", WaitsFor: "approval"},
		{Prefix: "write", State: "open", WaitsFor: "writer"}, {Prefix: "pending", State: "open", WaitsFor: "publisher"},
		{Prefix: "again", State: "open", IsRevision: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("meanings (-want +got):\n%s", diff)
	}
}

// TestSecretsInFiles reads secrets from files. The passwords of Postgres and of a mail server need no file.
func TestSecretsInFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	harness.Must(t, os.WriteFile(file, []byte("hunter3\n"), 0o600))
	for name, read := range map[string]func() (config.Secret, error){
		"the password of Postgres":           config.Lake{PostgresPasswordFile: file, Catalog: "sqlite"}.ReadPassword,
		"the token of the REST catalog":      config.LakeREST{TokenFile: file}.ReadToken,
		"the credential of the REST catalog": config.LakeREST{CredentialFile: file}.ReadCredential,
		"the password of a mail server":      config.SMTP{PasswordFile: file}.ReadPassword,
	} {
		if got, err := read(); err != nil || got.Reveal() != "hunter3" {
			t.Errorf("%s has %d bytes (%v), want hunter3", name, len(got), err)
		}
	}
	for want, read := range map[config.Secret]func() (config.Secret, error){
		"": config.Lake{}.ReadPassword, "hunter2": config.SMTP{Password: "hunter2"}.ReadPassword,
	} {
		if got, err := read(); err != nil || got != want {
			t.Errorf("without a file, a password has %d bytes (%v), want %q", len(got), err, want.Reveal())
		}
	}
}

// FuzzParse checks that any input gives an *Error or a valid configuration. The marshalled
// configuration must not depend on its secrets.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.yaml", "testdata/good/*.yaml", "../../config.example.yaml"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := config.Parse("config.yaml", data, envWithHashKey)
		if err != nil {
			problemPlaces(t, err)
			return
		}
		if err := cfg.Validate(); err != nil {
			t.Errorf("Parse accepted a configuration that Validate rejects: %v", err)
		}
		text, err := yaml.Marshal(cfg)
		if err != nil {
			t.Errorf("marshal the configuration: %v", err)
		}
		other, err := yaml.Marshal(withOtherSecrets(cfg))
		if diff := cmp.Diff(string(text), string(other)); err != nil || diff != "" {
			t.Errorf("the marshalled configuration depends on its secrets: %v\n%s", err, diff)
		}
	})
}

func TestSizesAreReadAsDuckDBReadsThem(t *testing.T) {
	for text, want := range map[string]int64{"64MB": 64_000_000, "64 MiB": 64 << 20, "1.5gb": 1_500_000_000,
		"1kb": 1000, "2TiB": 2 << 40, "99999999TB": 1 << 60, "1e9": 0, "": 0} {
		if got := (config.API{MaxBody: text}).MaxBodyBytes(); got != want {
			t.Errorf("size %q is %d bytes, want %d", text, got, want)
		}
	}
}

// withOtherSecrets replaces each secret of a configuration.
func withOtherSecrets(cfg config.Config) config.Config {
	cfg.Serve.WebhookSecrets = slices.Clone(cfg.Serve.WebhookSecrets)
	cfg.Notify.Channels = slices.Clone(cfg.Notify.Channels)
	secrets := []*config.Secret{&cfg.API.Token, &cfg.Serve.AuthToken, &cfg.Notify.FailureURL, &cfg.Notify.HeartbeatURL, &cfg.Privacy.HashKey}
	for i := range cfg.Serve.WebhookSecrets {
		secrets = append(secrets, &cfg.Serve.WebhookSecrets[i])
	}
	for i := range cfg.Notify.Channels {
		c := &cfg.Notify.Channels[i]
		secrets = append(secrets, &c.URL, &c.SMTP.User, &c.SMTP.Password)
	}
	for _, s := range secrets {
		if *s != "" {
			*s = "another"
		}
	}
	return cfg
}

func TestParseBucket(t *testing.T) {
	for _, c := range []struct{ address, bucket, prefix, problem string }{
		{"s3://store", "store", "", ""},
		{"s3://store/", "store", "", ""},
		{"s3://my.store-1/a/b_c=2026/", "my.store-1", "a/b_c=2026", ""},
		{"", "", "", "is not an address"},
		{"s3:/store", "", "", "is not an address"},
		{"https://store/a", "", "", "is not an address"},
		{"s3://", "", "", "does not name a bucket"},
		{"s3://St", "", "", "does not name a bucket"},
		{"s3://key:hunter2@store/a", "", "", "contains credentials"},
		{"s3://store//a", "", "", "has a prefix"},
		{"s3://store/a//b", "", "", "has a prefix"},
		{"s3://store/../b", "", "", "has a prefix"},
		{"s3://store/a?x=1", "", "", "has a prefix"},
	} {
		bucket, prefix, err := config.ParseBucket(c.address)
		if bucket != c.bucket || prefix != c.prefix || (err == nil) != (c.problem == "") || err != nil && !strings.Contains(err.Error(), c.problem) {
			t.Errorf("ParseBucket(%q) = %q, %q, %v, want %q, %q, error %q", c.address, bucket, prefix, err, c.bucket, c.prefix, c.problem)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error of %q shows a secret: %v", c.address, err)
		}
	}
}

func TestReadKeys(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		harness.Must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	s := config.S3{AccessKeyFile: write("access", "AKIA\n"), SecretKeyFile: write("secret", "hunter2 \n")}
	access, secret, err := s.ReadKeys()
	if err != nil || access.Reveal() != "AKIA" || secret.Reveal() != "hunter2" {
		t.Errorf("ReadKeys returned keys of %d and %d bytes (%v), want AKIA and hunter2", len(access), len(secret), err)
	}
	for _, text := range []string{"", "  \n", "aws_secret_access_key = hunter2", "hunter2\nhunter2", "hunter2\x7f", "hunter2é", strings.Repeat("hunter2", 2000)} {
		for _, bad := range []config.S3{{AccessKeyFile: s.AccessKeyFile, SecretKeyFile: write("bad", text)}, {AccessKeyFile: write("bad", text), SecretKeyFile: write("secret", "hunter2")}} {
			if _, _, err := bad.ReadKeys(); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("key file %.40q: got %v, want an error without the secret", text, err)
			}
		}
	}
	s.SecretKeyFile = filepath.Join(dir, "none")
	if _, _, err := s.ReadKeys(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing key file: got %v, want os.ErrNotExist", err)
	}
	if access, secret, err := (config.S3{}).ReadKeys(); access != "" || secret != "" || err != nil {
		t.Errorf("no key files: got keys of %d and %d bytes (%v), want none", len(access), len(secret), err)
	}
}
