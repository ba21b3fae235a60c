// Package config reads config.yaml. It starts from the defaults, rejects unknown keys,
// and reports all problems in one error. Secrets are hidden wherever a configuration is shown.
//
// config.example.yaml explains each key. Comments of fields add only missing facts.
//
// The package defines the file format and the bounds of the values. It must not know the
// components that use the values. It does not know the names of streams and columns either: a
// [Validation] of internal/cli checks them.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Config is the content of config.yaml. A Config returned by [Load] or [Parse] without
// error satisfies every rule of [Config.Validate] and must not be changed.
type Config struct {
	API       API       `yaml:"api"`
	Streams   Streams   `yaml:"streams"`
	Run       Run       `yaml:"run"`
	Warehouse Warehouse `yaml:"warehouse"`
	Retention Retention `yaml:"retention"`
	Schedule  Schedule  `yaml:"schedule"`
	Verify    Verify    `yaml:"verify"`
	Checks    Checks    `yaml:"checks"`
	Serve     Serve     `yaml:"serve"`
	Notify    Notify    `yaml:"notify"`
	Privacy   Privacy   `yaml:"privacy"`
	History   History   `yaml:"history"`
	Lake      Lake      `yaml:"lake"`
	Queries   Queries   `yaml:"queries"`
	Statuses  Statuses  `yaml:"statuses"`
	S3        S3        `yaml:"s3"`
	Backup    string    `yaml:"backup"` // see [ParseBucket]; empty means no backup
	// Warnings are messages about files with secrets that other users can read or change. [Load] sets
	// Warnings.
	Warnings []string `yaml:"-"`
	Watch    []Watch  `yaml:"watch"`
}

// API configures the access to the service and the limits of requests to it.
type API struct {
	// BaseURL is absolute, without query, fragment or credentials.
	BaseURL       string `yaml:"base_url"`
	AllowInsecure bool   `yaml:"allow_insecure"`
	// Exactly one of Token and TokenFile is set; see [API.ReadToken].
	Token     Secret `yaml:"token"`
	TokenFile string `yaml:"token_file"`
	TeamID    string `yaml:"team_id"`
	// Fields maps table.column to the name of the field that the service sends for this column.
	Fields            map[string]string `yaml:"fields"`
	PriceUnit         string            `yaml:"price_unit"` // "major" | [MinorUnit]
	UserAgent         string            `yaml:"user_agent"`
	RequestsPerSecond float64           `yaml:"requests_per_second"`
	Burst             int               `yaml:"burst"`
	Concurrency       int               `yaml:"concurrency"`
	PageSize          int               `yaml:"page_size"`
	Timeout           time.Duration     `yaml:"timeout"`
	MaxBody           string            `yaml:"max_body"` // see [API.MaxBodyBytes]
	Retry             Retry             `yaml:"retry"`
}

// Retry is the retry policy (spec section 8). Before retry n, counted from 0, the client waits
// min(Max, Base*2^n), plus a random share of this time, at most Jitter.
type Retry struct {
	MaxRetries int           `yaml:"max_retries"`
	Base       time.Duration `yaml:"base"`
	Max        time.Duration `yaml:"max"`
	Jitter     float64       `yaml:"jitter"`
}

// Streams selects the streams of a night and the records that are read again.
type Streams struct {
	Include   []string `yaml:"include"`
	Exclude   []string `yaml:"exclude"`
	Details   string   `yaml:"details"` // "changed" also requests live records and a rotating share of the rest
	LiveDays  int      `yaml:"live_days"`
	Recheck   int      `yaml:"recheck"`
	MaxPasses int      `yaml:"max_passes"`
	MaxPages  int      `yaml:"max_pages"`
}

// Run limits one night.
type Run struct {
	ResumeMaxAge    time.Duration `yaml:"resume_max_age"`
	MaxDuration     time.Duration `yaml:"max_duration"`
	Patience        time.Duration `yaml:"patience"`
	MassDeleteShare float64       `yaml:"mass_delete_share"`
	MassDeleteRows  int           `yaml:"mass_delete_rows"`
}

// Warehouse configures the output folder and the limits of memory and threads.
type Warehouse struct {
	Dir           string `yaml:"dir"`
	KeepVersions  int    `yaml:"keep_versions"`
	MemoryLimit   string `yaml:"memory_limit"` // see [Warehouse.MemoryBytes]
	Threads       int    `yaml:"threads"`
	PublishedMode string `yaml:"published_mode"` // octal; see [Warehouse.Mode]
}

// Mode returns PublishedMode as a number. 0 means 0644 without the bits of the umask.
func (w Warehouse) Mode() fs.FileMode {
	mode, err := strconv.ParseUint(w.PublishedMode, 8, 9)
	if err != nil {
		return 0
	}
	return fs.FileMode(mode)
}

// Retention limits the files that pruning keeps. The newest snapshot is always kept.
type Retention struct {
	RawDays int `yaml:"raw_days"`
	Daily   int `yaml:"daily"`
	Weekly  int `yaml:"weekly"`
	Monthly int `yaml:"monthly"`
}

// Schedule is the time at which the daemon starts a night, and the pauses before it starts a failed night again.
type Schedule struct {
	Cron     string          `yaml:"cron"`
	Timezone string          `yaml:"timezone"`
	CatchUp  bool            `yaml:"catch_up"`
	Retries  []time.Duration `yaml:"retries"`
}

// Verify is the time at which the daemon reads every byte of the warehouse to find damage.
type Verify struct {
	Cron string `yaml:"cron"`
}

// Serve configures the HTTP server of the daemon.
type Serve struct {
	Listen          string        `yaml:"listen"`
	Hosts           []string      `yaml:"hosts"`
	AuthToken       Secret        `yaml:"auth_token"`
	WebhookSecrets  []Secret      `yaml:"webhook_secrets"`  // spec section 6
	WebhookPrefixes []string      `yaml:"webhook_prefixes"` // of the names of headers; spec 6.6
	WebhookMaxAge   time.Duration `yaml:"webhook_max_age"`
	InboxMax        string        `yaml:"inbox_max"` // see [Serve.InboxMaxBytes]
	RefreshOnEvent  bool          `yaml:"refresh_on_event"`
	SQL             bool          `yaml:"sql"`
}

// Notify has the addresses to call when a night ends, and the receivers of the messages of watches.
// The addresses are secrets, because chats and monitoring services put a credential into the path. An
// empty address is not called.
type Notify struct {
	FailureURL   Secret    `yaml:"failure_url"`
	HeartbeatURL Secret    `yaml:"heartbeat_url"`
	Channels     []Channel `yaml:"channels"`
}

// Privacy keeps private values out of all staged and published files. Columns are written as table.column.
type Privacy struct {
	Hash []string `yaml:"hash"`
	Drop []string `yaml:"drop"`
	Raw  string   `yaml:"raw"` // "keep" or [RawDiscard]
	// HashKey is read from the environment variable [HashKeyVar], or from the file
	// named by the variable [HashKeyVar]_FILE, never from config.yaml. It must be set
	// if Hash is not empty.
	HashKey Secret `yaml:"-"`
}

// History says which changes of a row add a version to its history.
type History struct {
	// Ignore contains columns, as table.column, and members of JSON columns, as table.column.member.
	Ignore []string `yaml:"ignore"`
}

// Checks contains the settings of the checks that audit a night before it is published.
type Checks struct {
	Dir     string               `yaml:"dir"` // empty means no own checks
	Timeout time.Duration        `yaml:"timeout"`
	Rules   map[string]CheckRule `yaml:"rules"`
}

// CheckRule changes the severity and the parameters of a check.
type CheckRule struct {
	Severity string            `yaml:"severity"` // empty means the severity of the check
	Params   map[string]string `yaml:"params"`
}

// Queries are the user's own named queries.
type Queries struct {
	Dir string `yaml:"dir"` // empty means no own queries
}

// S3 configures the access to object storage, for lake, backup and export.
type S3 struct {
	Endpoint      string `yaml:"endpoint"`
	AllowInsecure bool   `yaml:"allow_insecure"`
	Region        string `yaml:"region"`
	PathStyle     bool   `yaml:"path_style"`
	// AccessKeyFile and SecretKeyFile are set together, or neither is set; see [S3.ReadKeys].
	AccessKeyFile string `yaml:"access_key_file"`
	SecretKeyFile string `yaml:"secret_key_file"`
}

// HashKeyVar is the environment variable with the key of the hashes of privacy.hash.
const HashKeyVar = "PLACEMENTSYNC_HASH_KEY"

// RawDiscard is the value of privacy.raw for which stored responses are deleted as soon as a night
// is published.
const RawDiscard = "discard"

// MinorUnit is the value of api.price_unit for prices in the smallest unit of their currency.
const MinorUnit = "minor"

// Default returns the configuration of an empty file. It is not valid: the two keys
// without a default, api.base_url and the token, are missing.
func Default() Config {
	return Config{
		API: API{
			Fields:            map[string]string{},
			PriceUnit:         "major",
			RequestsPerSecond: 10,
			Burst:             10,
			Concurrency:       8,
			PageSize:          100,
			Timeout:           30 * time.Second,
			MaxBody:           "64MB",
			Retry:             Retry{MaxRetries: 5, Base: 250 * time.Millisecond, Max: 4 * time.Second, Jitter: 0.1},
		},
		Streams: Streams{
			Include: []string{}, Exclude: []string{},
			Details: "changed", LiveDays: 45, Recheck: 7, MaxPasses: 4, MaxPages: 100_000,
		},
		Run:       Run{ResumeMaxAge: 6 * time.Hour, MaxDuration: 6 * time.Hour, Patience: time.Hour, MassDeleteShare: 0.2, MassDeleteRows: 50},
		Warehouse: Warehouse{Dir: "./warehouse", KeepVersions: 3, MemoryLimit: "512MB"},
		Retention: Retention{RawDays: 7, Daily: 30, Weekly: 12, Monthly: 24},
		Schedule:  Schedule{Cron: "0 2 * * *", Timezone: "UTC", CatchUp: true, Retries: []time.Duration{5 * time.Minute, 20 * time.Minute, time.Hour}},
		Verify:    Verify{Cron: "0 5 * * 0"},
		Checks:    Checks{Timeout: 30 * time.Second, Rules: map[string]CheckRule{}},
		Serve: Serve{
			Listen: "127.0.0.1:8080", Hosts: []string{},
			WebhookSecrets: []Secret{}, WebhookPrefixes: []string{"x-hook-", "x-outpost-"}, WebhookMaxAge: 5 * time.Minute,
			SQL: true,
		},
		Notify:  Notify{Channels: []Channel{}},
		Privacy: Privacy{Hash: []string{}, Drop: []string{"orders.client_secret"}, Raw: "keep"},
		History: History{Ignore: []string{}},
		Lake:    Lake{Namespace: "placements", Name: "placementsync", KeepNights: 30},
		Watch:   []Watch{},
		Statuses: Statuses{
			Published: []string{"published", "live"},
			Ended:     []string{"cancelled", "canceled", "archived"},
			Revision:  []string{"request-revision", "brief-update-requested", "draft-update-requested", "revision_requested"},
			WaitsForPartner: []string{"action-required", "needs-info", "request-revision", "brief-update-requested", "draft-update-requested",
				"rejected"},
			WaitsForApproval:  []string{"brief-ready-for-review", "draft-ready-for-review"},
			WaitsForWriter:    []string{"pending-content-brief"},
			WaitsForPublisher: []string{"pending-publishing"},
			OrdersFulfilled:   []string{"fulfilled", "completed", "complete", "delivered", "closed"},
			OrdersEnded:       []string{"cancelled", "canceled", "rejected", "refunded", "expired"},
			CampaignsEnded:    []string{"completed", "cancelled", "canceled", "archived"},
		},
	}
}

const maxFileSize = 64 << 10 // bytes; the path of a larger file is probably wrong

const byteOrderMark = "\ufeff" // some editors write it at the beginning of a file

// A Validation checks values that this package cannot check, such as names of streams. It calls
// refuse for each invalid value, with the YAML path of the value and a message that contains
// the fault and the fix. A value other than nil is printed before the message.
type Validation func(c Config, refuse func(path string, value any, message string))

// Load reads, expands, decodes and validates the file at path, and runs the validations of
// the caller. It returns an *Error with all problems; errors.Is(err, fs.ErrNotExist) means
// that the file is missing. After an error, only sections for which [Error.Within] returns
// nil may be used.
func Load(path string, lookupEnv func(string) (string, bool), validations ...Validation) (Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		message := fmt.Sprintf("cannot be read: %v: give the path of a readable file", errors.Unwrap(err))
		if errors.Is(err, fs.ErrNotExist) {
			message = "does not exist: write it with placementsync init --config " + QuoteWord(path)
		}
		return Default(), &Error{File: path, Problems: []Problem{{Message: message}}, cause: err}
	}
	b := newBinder(lookupEnv)
	cfg, isBound := b.bindConfig(path, data)
	if isBound {
		for _, validate := range validations {
			validate(cfg, b.refuse)
		}
		b.checkFile(path, &cfg)
		b.checkSecretFiles(&cfg)
	}
	return cfg, newError(path, b.problems)
}

// Parse is like [Load] for data in memory. Problems show name as the path of the file,
// and relative paths are resolved against the folder of name. ${VAR} in a scalar value is
// replaced through lookupEnv after the YAML was parsed, so that no variable can add keys. A VAR that
// is not set is a problem even for an optional key, because it may be misspelt.
func Parse(name string, data []byte, lookupEnv func(string) (string, bool)) (Config, error) {
	b := newBinder(lookupEnv)
	cfg, _ := b.bindConfig(name, data)
	return cfg, newError(name, b.problems)
}

func newBinder(lookupEnv func(string) (string, bool)) *binder {
	if lookupEnv == nil {
		lookupEnv = func(string) (string, bool) { return "", false }
	}
	return &binder{lookupEnv: lookupEnv, validator: validator{lines: map[string]int{}, broken: map[string]bool{}, written: map[string]string{}}}
}

// bindConfig decodes and checks a configuration. After a problem of the whole file it returns the defaults, and
// isBound is false.
func (b *binder) bindConfig(name string, data []byte) (cfg Config, isBound bool) {
	cfg = Default()
	if !b.bindDocument(bytes.TrimPrefix(data, []byte(byteOrderMark)), &cfg) {
		return Default(), false
	}
	hashKey, _, err := b.readVariable(HashKeyVar, "privacy.hash", true)
	if err != nil {
		b.addBroken(b.lines["privacy.hash"], "privacy.hash", "%v", err)
	}
	cfg.Privacy.HashKey = Secret(hashKey)
	for _, group := range cfg.Statuses.groups() {
		b.removeFromDefaults(group)
	}
	b.checkConfig(cfg)
	// Under cron or systemd the working directory is not the folder of the file.
	paths := []*string{&cfg.Warehouse.Dir, &cfg.Queries.Dir, &cfg.Checks.Dir, &cfg.Lake.Warehouse}
	for _, f := range cfg.secretFiles() {
		paths = append(paths, f.path)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) && !strings.Contains(*path, "://") {
			*path = filepath.Join(filepath.Dir(name), *path)
		}
	}
	if file, ok := strings.CutPrefix(cfg.Lake.Catalog, LakeSQLite+":"); ok && file != "" && !filepath.IsAbs(file) {
		cfg.Lake.Catalog = LakeSQLite + ":" + filepath.Join(filepath.Dir(name), file)
	}
	return cfg, true
}
