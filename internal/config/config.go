// Package config reads config.yaml: defaults, strict decode, and validation of
// everything at once. Secrets are hidden wherever a configuration is shown.
//
// It knows the file format and the bounds of the values. It must not know the
// components that use them (cmd/sync passes each its part), nor the names of streams and
// columns (a [Rule] of internal/command compares them).
package config

import (
	"io/fs"
	"strconv"
	"time"
)

// Config is the whole of config.yaml. A value that [Load] or [Parse] returns
// without error satisfies every rule of [Config.Validate]; do not change it. The
// defaults are those of [Default]; config.example.yaml explains them to operators.
type Config struct {
	API       API       `yaml:"api"`
	Streams   Streams   `yaml:"streams"`
	Run       Run       `yaml:"run"`
	Warehouse Warehouse `yaml:"warehouse"`
	Retention Retention `yaml:"retention"`
	Schedule  Schedule  `yaml:"schedule"`
	Verify    Verify    `yaml:"verify"`
	Serve     Serve     `yaml:"serve"`
	Notify    Notify    `yaml:"notify"`
	Privacy   Privacy   `yaml:"privacy"`
	Lake      Lake      `yaml:"lake"`
	Queries   Queries   `yaml:"queries"`
	S3        S3        `yaml:"s3"`
	// Backup is the bucket and prefix that mirror parquet/ and state/ after each
	// night, see [ParseBucket]; empty: none.
	Backup string `yaml:"backup"`
	// Warnings say which files that hold secrets are open to others; [Load] fills them.
	Warnings []string `yaml:"-"`
	// Watch lists what is looked for after each night.
	Watch []Watch `yaml:"watch"`
}

// API is the service to read from, and how requests are sent.
type API struct {
	// BaseURL is absolute, without query, fragment or credentials. No default.
	BaseURL string `yaml:"base_url"`
	// AllowInsecure accepts plain http to hosts other than loopback.
	AllowInsecure bool `yaml:"allow_insecure"`
	// Token is the bearer token. Exactly one of Token and TokenFile is set.
	Token Secret `yaml:"token"`
	// TokenFile is the path of a file holding the token; see [API.ReadToken].
	TokenFile string `yaml:"token_file"`
	// TeamID selects the team; empty: the one that GET /auth/token names.
	TeamID string `yaml:"team_id"`
	// UserAgent is sent with every request; empty: the caller sets
	// placementsync/<version>.
	UserAgent string `yaml:"user_agent"`
	// RequestsPerSecond limits all workers together; 0: no limit.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// Burst is how many requests may start at once after a pause.
	Burst int `yaml:"burst"`
	// Concurrency is the number of requests in flight.
	Concurrency int `yaml:"concurrency"`
	// PageSize is the limit that paginated endpoints are asked for, in records; the
	// service may cap it.
	PageSize int `yaml:"page_size"`
	// Timeout limits one attempt, not all retries together (spec section 8).
	Timeout time.Duration `yaml:"timeout"`
	// MaxBody limits one answer, for example 64MB; see [API.MaxBodyBytes].
	MaxBody string `yaml:"max_body"`
	Retry   Retry  `yaml:"retry"`
}

// Retry is the retry rule (spec section 8): before attempt n+1 the client waits
// min(Max, Base*2^n) plus up to Jitter of that. Max also caps Retry-After.
type Retry struct {
	// MaxRetries is the number of repeats; 0: none.
	MaxRetries int           `yaml:"max_retries"`
	Base       time.Duration `yaml:"base"`
	Max        time.Duration `yaml:"max"`
	// Jitter is a share of the delay, 0 to 1.
	Jitter float64 `yaml:"jitter"`
}

// Streams selects what a night reads and how often it reads it again.
type Streams struct {
	// Include lists stream names or patterns (*, ?, [a-z]); empty: all.
	Include []string `yaml:"include"`
	// Exclude lists names or patterns to remove from what Include selects.
	Exclude []string `yaml:"exclude"`
	// Details says which single records are fetched.
	Details Details `yaml:"details"`
	// LiveDays is how long after its last change a parent counts as live.
	LiveDays int `yaml:"live_days"`
	// Recheck is the number of nights within which all settled details are read
	// again; 0: never.
	Recheck int `yaml:"recheck"`
	// MaxPasses limits how often a list that changes meanwhile is walked; a walk
	// that reaches the limit is graded best_effort.
	MaxPasses int `yaml:"max_passes"`
	// MaxPages limits the pages of one walk, whatever total the service states; a
	// list that reaches the limit is graded best_effort.
	MaxPages int `yaml:"max_pages"`
}

// Details says which records of the N+1 endpoints a night fetches.
type Details string

// The values of streams.details.
const (
	DetailsChanged Details = "changed" // new, changed, live, and a rotating share of the rest
	DetailsAll     Details = "all"     // every one, every night
	DetailsNone    Details = "none"    // none: lists only
)

// Run limits one night.
type Run struct {
	// ResumeMaxAge is the age up to which an interrupted night is resumed; an older
	// one is dropped and a new night begins. 0: never resume.
	ResumeMaxAge time.Duration `yaml:"resume_max_age"`
	// MaxDuration is how long a night reads. Then it starts no more requests and
	// publishes what was read; the following nights read the rest. 0: no limit.
	MaxDuration time.Duration `yaml:"max_duration"`
	// MassDeleteShare and MassDeleteRows guard against a service that answers with
	// half of its records: a night is not published if a table would lose more than
	// this share (0 to 1) and also more than this many rows.
	MassDeleteShare float64 `yaml:"mass_delete_share"`
	MassDeleteRows  int     `yaml:"mass_delete_rows"`
}

// Warehouse is the folder that is written, and the limits of memory and threads.
type Warehouse struct {
	// Dir is relative to the folder of the config file.
	Dir string `yaml:"dir"`
	// KeepVersions is the number of published versions kept for rollback.
	KeepVersions int `yaml:"keep_versions"`
	// MemoryLimit is that of DuckDB, for example 512MB; the process needs up to
	// 480 MiB more.
	MemoryLimit string `yaml:"memory_limit"`
	// Threads is the number of threads of DuckDB; 0: all cores.
	Threads int `yaml:"threads"`
	// PublishedMode is the file mode of published files, in octal; see
	// [Warehouse.Mode].
	PublishedMode string `yaml:"published_mode"`
}

// Mode is PublishedMode as a number; 0: 0644 without the bits of the umask.
func (w Warehouse) Mode() fs.FileMode {
	mode, err := strconv.ParseUint(w.PublishedMode, 8, 9)
	if err != nil {
		return 0
	}
	return fs.FileMode(mode)
}

// Retention is what prune keeps. The newest snapshot is always kept.
type Retention struct {
	// RawDays is how long landed bodies are kept, in days.
	RawDays int `yaml:"raw_days"`
	// Daily, Weekly and Monthly count the snapshots kept at each grain; 0: none.
	Daily   int `yaml:"daily"`
	Weekly  int `yaml:"weekly"`
	Monthly int `yaml:"monthly"`
}

// Schedule is when the daemon starts a night.
type Schedule struct {
	// Cron has five fields or a descriptor such as @daily.
	Cron string `yaml:"cron"`
	// Timezone is an IANA name.
	Timezone string `yaml:"timezone"`
	// CatchUp runs one missed night after downtime.
	CatchUp bool `yaml:"catch_up"`
}

// Verify is when the daemon reads every byte of the warehouse to find damage.
type Verify struct {
	// Cron is like Schedule.Cron, in the same time zone; empty: never.
	Cron string `yaml:"cron"`
}

// Serve is the HTTP server of the daemon.
type Serve struct {
	// Listen is host:port; a host that is not loopback needs AuthToken.
	Listen string `yaml:"listen"`
	// Hosts are names that requests may have in their Host header, besides IP
	// addresses, localhost and the host of Listen.
	Hosts []string `yaml:"hosts"`
	// AuthToken is the bearer token that all endpoints but /hooks and /healthz
	// require; empty: none.
	AuthToken Secret `yaml:"auth_token"`
	// WebhookSecrets are the signing secrets, several during a rotation (spec
	// section 6); empty: the webhook endpoint does not exist.
	WebhookSecrets []Secret `yaml:"webhook_secrets"`
	// WebhookMaxAge is how far the timestamp of a delivery may be from now, in
	// either direction; 0: any. The signature does not cover the timestamp.
	WebhookMaxAge time.Duration `yaml:"webhook_max_age"`
	// InboxMax is how much may wait in the inbox of webhooks for a night, such as
	// 500MB; empty: 1GB or a tenth of what is free on its disk, whichever is less.
	InboxMax string `yaml:"inbox_max"`
	// RefreshOnEvent publishes a small version after a status change.
	RefreshOnEvent bool `yaml:"refresh_on_event"`
}

// Notify has the addresses to call when a night ends, and the receivers of what watches
// find. The addresses are secrets, since such services put the credential into the path.
// Empty: no call.
type Notify struct {
	// FailureURL gets a JSON POST when a night failed or is partial.
	FailureURL Secret `yaml:"failure_url"`
	// HeartbeatURL is called after every success.
	HeartbeatURL Secret `yaml:"heartbeat_url"`
	// Channels are the receivers that watches name.
	Channels []Channel `yaml:"channels"`
}

// Privacy keeps values out of everything that is staged or published.
type Privacy struct {
	// Hash lists columns (table.column) replaced by a keyed hash.
	Hash []string `yaml:"hash"`
	// Drop lists columns (table.column) left NULL.
	Drop []string `yaml:"drop"`
	// Raw says what happens to the landed bodies after publishing.
	Raw Raw `yaml:"raw"`
	// HashKey comes from the environment variable [HashKeyVar], or from the file
	// that the variable [HashKeyVar]_FILE names, never from config.yaml. It is set
	// if Hash is not empty.
	HashKey Secret `yaml:"-"`
}

// Queries are named queries of the user's own.
type Queries struct {
	// Dir is a folder of files in the form of those under queries, relative to the folder
	// of the config file; empty: none.
	Dir string `yaml:"dir"`
}

// S3 is how object storage is reached, for whatever is stored there.
type S3 struct {
	// Endpoint is the address of the server; empty: that of AWS for the region.
	Endpoint string `yaml:"endpoint"`
	// AllowInsecure accepts plain http to hosts other than loopback.
	AllowInsecure bool `yaml:"allow_insecure"`
	// Region is signed with each request; empty: as the environment says.
	Region string `yaml:"region"`
	// PathStyle puts the bucket into the path, not into the name of the host.
	PathStyle bool `yaml:"path_style"`
	// AccessKeyFile and SecretKeyFile hold one key each; see [S3.ReadKeys]. Empty:
	// the environment, profile or instance role, as other programs of AWS find them.
	AccessKeyFile string `yaml:"access_key_file"`
	SecretKeyFile string `yaml:"secret_key_file"`
}

// HashKeyVar names the environment variable that keys the hashes of privacy.hash.
const HashKeyVar = "PLACEMENTSYNC_HASH_KEY"

// Raw says what happens to the landed bodies once a night is published.
type Raw string

// The values of privacy.raw.
const (
	RawKeep    Raw = "keep"    // until retention.raw_days
	RawDiscard Raw = "discard" // deleted as soon as the night is published
)

// Default returns the configuration of an empty file. It is not valid: the two keys
// without a default, api.base_url and the token, are missing.
func Default() Config {
	return Config{
		API: API{
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
			Details: DetailsChanged, LiveDays: 45, Recheck: 7, MaxPasses: 4, MaxPages: 100_000,
		},
		Run:       Run{ResumeMaxAge: 6 * time.Hour, MaxDuration: 6 * time.Hour, MassDeleteShare: 0.2, MassDeleteRows: 50},
		Warehouse: Warehouse{Dir: "./warehouse", KeepVersions: 3, MemoryLimit: "512MB"},
		Retention: Retention{RawDays: 7, Daily: 30, Weekly: 12, Monthly: 24},
		Schedule:  Schedule{Cron: "0 2 * * *", Timezone: "UTC", CatchUp: true},
		Verify:    Verify{Cron: "0 5 * * 0"},
		Serve:     Serve{Listen: "127.0.0.1:8080", Hosts: []string{}, WebhookSecrets: []Secret{}, WebhookMaxAge: 5 * time.Minute},
		Notify:    Notify{Channels: []Channel{}},
		Privacy:   Privacy{Hash: []string{}, Drop: []string{"orders.client_secret"}, Raw: RawKeep},
		Lake:      Lake{Namespace: "placements", Name: "placementsync", KeepNights: 30},
		Watch:     []Watch{},
	}
}
