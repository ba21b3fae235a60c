// Package config reads config.yaml. It starts from the defaults, rejects unknown keys,
// and reports all problems in one error. Secrets are hidden wherever a configuration is shown.
//
// The package defines the file format and the bounds of the values. It must not know the
// components that use the values. It does not know the names of streams and columns either: a
// [Validation] of internal/command checks them.
package config

import (
	"io/fs"
	"strconv"
	"time"
)

// Config is the content of config.yaml. A Config returned by [Load] or [Parse] without
// error satisfies every rule of [Config.Validate] and must not be changed. A night is one
// nightly run of the program.
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
	Lake      Lake      `yaml:"lake"`
	Queries   Queries   `yaml:"queries"`
	S3        S3        `yaml:"s3"`
	// Backup is the address s3://bucket/prefix, see [ParseBucket]. After each night
	// parquet/ and state/ are mirrored there. Empty disables the backup.
	Backup string `yaml:"backup"`
	// Warnings are messages about files with secrets that other users can read or change. [Load] sets
	// Warnings.
	Warnings []string `yaml:"-"`
	// Watch lists the queries that run after each night.
	Watch []Watch `yaml:"watch"`
}

// API is the service to read from and the limits of requests to it.
type API struct {
	// BaseURL is absolute, without query, fragment or credentials. It has no default.
	BaseURL string `yaml:"base_url"`
	// AllowInsecure permits plain http to hosts other than loopback.
	AllowInsecure bool `yaml:"allow_insecure"`
	// Token is the bearer token. Exactly one of Token and TokenFile is set.
	Token Secret `yaml:"token"`
	// TokenFile is the path of a file with the token; see [API.ReadToken].
	TokenFile string `yaml:"token_file"`
	// TeamID selects the team. Empty means the team that GET /auth/token returns.
	TeamID string `yaml:"team_id"`
	// UserAgent is sent with every request. Empty means placementsync/<version>, which
	// the caller sets.
	UserAgent string `yaml:"user_agent"`
	// RequestsPerSecond limits all workers together. 0 means no limit.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	// Burst is the number of requests that the service accepts together after a time without requests.
	Burst int `yaml:"burst"`
	// Concurrency is the maximum number of requests in flight.
	Concurrency int `yaml:"concurrency"`
	// PageSize is the number of records requested per page; the service may cap it.
	PageSize int `yaml:"page_size"`
	// Timeout limits one attempt, not all retries together (spec section 8).
	Timeout time.Duration `yaml:"timeout"`
	// MaxBody limits the body of one response, for example 64MB; see [API.MaxBodyBytes].
	MaxBody string `yaml:"max_body"`
	Retry   Retry  `yaml:"retry"`
}

// Retry is the retry policy (spec section 8). Before retry n, counted from 0, the client waits
// min(Max, Base*2^n), plus a random share of this time. Max also caps Retry-After.
type Retry struct {
	// MaxRetries is the number of attempts after the first.
	MaxRetries int           `yaml:"max_retries"`
	Base       time.Duration `yaml:"base"`
	Max        time.Duration `yaml:"max"`
	// Jitter is the upper bound of the random share, 0 to 1.
	Jitter float64 `yaml:"jitter"`
}

// Streams selects the streams of a night and the records that are read again.
type Streams struct {
	// Include lists stream names or patterns (*, ?, [a-z]). Empty means all.
	Include []string `yaml:"include"`
	// Exclude lists names or patterns of streams that are left out.
	Exclude []string `yaml:"exclude"`
	// Details selects the single records that a night requests: "changed" (new, changed and live
	// records, and a rotating share of the rest), "all", or "none".
	Details string `yaml:"details"`
	// LiveDays is the number of days after a change of a campaign, order or profile for which its
	// details count as live.
	LiveDays int `yaml:"live_days"`
	// Recheck is the number of nights within which each single record is requested again, even
	// if it is neither changed nor live. 0 means never.
	Recheck int `yaml:"recheck"`
	// MaxPasses limits the passes over a list that keeps changing. A list that reaches the limit is
	// graded best_effort.
	MaxPasses int `yaml:"max_passes"`
	// MaxPages limits the pages of one pass, regardless of the total that the service
	// reports. A list that reaches the limit is graded best_effort.
	MaxPages int `yaml:"max_pages"`
}

// Run limits one night.
type Run struct {
	// ResumeMaxAge is the age up to which an interrupted night is resumed. An older
	// night is dropped and a new night begins. 0 means never resume.
	ResumeMaxAge time.Duration `yaml:"resume_max_age"`
	// MaxDuration limits the time in which a night sends requests. After that the night publishes
	// the records read so far. The following nights read the rest. 0 means no limit.
	MaxDuration time.Duration `yaml:"max_duration"`
	// MassDeleteShare and MassDeleteRows guard against a service that returns only some of its
	// records. A table loses too much if it would lose more than MassDeleteShare (0 to 1) of its
	// rows and also more than MassDeleteRows rows, or all of its rows if there are ten or more. The
	// night reads the lists of this table a second time, and is not published if they confirm the loss.
	MassDeleteShare float64 `yaml:"mass_delete_share"`
	MassDeleteRows  int     `yaml:"mass_delete_rows"`
}

// Warehouse is the output folder and the limits of memory and threads.
type Warehouse struct {
	// Dir is relative to the folder of the config file.
	Dir string `yaml:"dir"`
	// KeepVersions is the number of published versions kept for rollback.
	KeepVersions int `yaml:"keep_versions"`
	// MemoryLimit is the memory limit of DuckDB, for example 512MB. The process needs
	// up to 480 MiB more.
	MemoryLimit string `yaml:"memory_limit"`
	// Threads is the number of DuckDB threads. 0 means all cores.
	Threads int `yaml:"threads"`
	// PublishedMode is the file mode of published files, in octal; see
	// [Warehouse.Mode].
	PublishedMode string `yaml:"published_mode"`
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
	// RawDays is the number of days for which raw response bodies are kept.
	RawDays int `yaml:"raw_days"`
	// Daily, Weekly and Monthly are the numbers of snapshots kept, one per day, week
	// and month.
	Daily   int `yaml:"daily"`
	Weekly  int `yaml:"weekly"`
	Monthly int `yaml:"monthly"`
}

// Schedule is the time at which the daemon starts a night.
type Schedule struct {
	// Cron has five fields or a descriptor such as @daily.
	Cron string `yaml:"cron"`
	// Timezone is an IANA name.
	Timezone string `yaml:"timezone"`
	// CatchUp runs one missed night after downtime.
	CatchUp bool `yaml:"catch_up"`
}

// Verify is the time at which the daemon reads every byte of the warehouse to find damage.
type Verify struct {
	// Cron is like Schedule.Cron, in the same time zone. Empty means never.
	Cron string `yaml:"cron"`
}

// Serve is the HTTP server of the daemon.
type Serve struct {
	// Listen is host:port. A host other than loopback needs AuthToken.
	Listen string `yaml:"listen"`
	// Hosts are the allowed values of the Host header, besides IP addresses, localhost
	// and the host of Listen.
	Hosts []string `yaml:"hosts"`
	// AuthToken is the bearer token that all endpoints but /hooks and /healthz
	// require. Empty means that no token is required.
	AuthToken Secret `yaml:"auth_token"`
	// WebhookSecrets are the signing secrets, several during a rotation (spec
	// section 6). If the list is empty, there is no webhook endpoint.
	WebhookSecrets []Secret `yaml:"webhook_secrets"`
	// WebhookMaxAge is the largest accepted difference between the timestamp of a
	// delivery and now, in either direction. 0 accepts every timestamp.
	WebhookMaxAge time.Duration `yaml:"webhook_max_age"`
	// InboxMax limits the size of the webhook inbox, such as 500MB. Empty means 1GB or
	// a tenth of the free space on its disk, whichever is less.
	InboxMax string `yaml:"inbox_max"`
	// RefreshOnEvent starts a refresh after a webhook event about a status change. The refresh
	// reads the changed records and publishes a version with them.
	RefreshOnEvent bool `yaml:"refresh_on_event"`
	// SQL allows users to write SQL in the browser pages of serve and explore.
	SQL bool `yaml:"sql"`
}

// Notify has the addresses to call when a night ends, and the receivers of the messages of watches.
// The addresses are secrets, because chats and monitoring services put a credential into the path. An
// empty address is not called.
type Notify struct {
	// FailureURL receives a JSON POST for each alert: about a night that failed, is partial or held,
	// or has new warnings, and about verifications, follow-ups and the webhook inbox.
	FailureURL Secret `yaml:"failure_url"`
	// HeartbeatURL is called after every complete night.
	HeartbeatURL Secret `yaml:"heartbeat_url"`
	// Channels are the receivers that watches refer to by name.
	Channels []Channel `yaml:"channels"`
}

// Privacy keeps private values out of all staged and published files.
type Privacy struct {
	// Hash lists columns (table.column) replaced by a keyed hash.
	Hash []string `yaml:"hash"`
	// Drop lists columns (table.column) set to NULL.
	Drop []string `yaml:"drop"`
	// Raw decides whether raw response bodies are kept after publishing: "keep" (for
	// retention.raw_days days) or [RawDiscard].
	Raw string `yaml:"raw"`
	// HashKey is read from the environment variable [HashKeyVar], or from the file
	// named by the variable [HashKeyVar]_FILE, never from config.yaml. It must be set
	// if Hash is not empty.
	HashKey Secret `yaml:"-"`
}

// Checks contains the settings of the checks that audit a night before it is published.
type Checks struct {
	// Dir is a folder of the user's own checks, in the format of queries/checks. It is relative to
	// the folder of the config file. Empty means no own checks.
	Dir string `yaml:"dir"`
	// Timeout limits the time of one check.
	Timeout time.Duration `yaml:"timeout"`
	// Rules contains changes to checks, by the name of the check.
	Rules map[string]CheckRule `yaml:"rules"`
}

// CheckRule is a change to a check.
type CheckRule struct {
	// Severity is the effect of a failed check: "hold" (the night is not published), "warn", or "off"
	// (the check is not run). Empty means the severity of the check.
	Severity string `yaml:"severity"`
	// Params are the values of the check's parameters by name, as text.
	Params map[string]string `yaml:"params"`
}

// Queries are the user's own named queries.
type Queries struct {
	// Dir is a folder of query files in the format of queries/. It is relative to the folder of the
	// config file. Empty means no own queries.
	Dir string `yaml:"dir"`
}

// S3 is the access to object storage, for lake, backup and export.
type S3 struct {
	// Endpoint is the address of the server. Empty means AWS in the region.
	Endpoint string `yaml:"endpoint"`
	// AllowInsecure permits plain http to hosts other than loopback.
	AllowInsecure bool `yaml:"allow_insecure"`
	// Region is the signing region. Empty means the region of the AWS environment or profile, or
	// else us-east-1.
	Region string `yaml:"region"`
	// PathStyle puts the bucket into the path instead of the host name.
	PathStyle bool `yaml:"path_style"`
	// AccessKeyFile and SecretKeyFile are the paths of files with one key each; see
	// [S3.ReadKeys]. Empty means the AWS environment, profile or instance role.
	AccessKeyFile string `yaml:"access_key_file"`
	SecretKeyFile string `yaml:"secret_key_file"`
}

// HashKeyVar is the environment variable with the key of the hashes of privacy.hash.
const HashKeyVar = "PLACEMENTSYNC_HASH_KEY"

// RawDiscard is the value of privacy.raw for which raw response bodies are deleted as soon as a night
// is published.
const RawDiscard = "discard"

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
			Details: "changed", LiveDays: 45, Recheck: 7, MaxPasses: 4, MaxPages: 100_000,
		},
		Run:       Run{ResumeMaxAge: 6 * time.Hour, MaxDuration: 6 * time.Hour, MassDeleteShare: 0.2, MassDeleteRows: 50},
		Warehouse: Warehouse{Dir: "./warehouse", KeepVersions: 3, MemoryLimit: "512MB"},
		Retention: Retention{RawDays: 7, Daily: 30, Weekly: 12, Monthly: 24},
		Schedule:  Schedule{Cron: "0 2 * * *", Timezone: "UTC", CatchUp: true},
		Verify:    Verify{Cron: "0 5 * * 0"},
		Checks:    Checks{Timeout: 30 * time.Second, Rules: map[string]CheckRule{}},
		Serve:     Serve{Listen: "127.0.0.1:8080", Hosts: []string{}, WebhookSecrets: []Secret{}, WebhookMaxAge: 5 * time.Minute, SQL: true},
		Notify:    Notify{Channels: []Channel{}},
		Privacy:   Privacy{Hash: []string{}, Drop: []string{"orders.client_secret"}, Raw: "keep"},
		Lake:      Lake{Namespace: "placements", Name: "placementsync", KeepNights: 30},
		Watch:     []Watch{},
	}
}
