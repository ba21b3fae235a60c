package config

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"placementsync/internal/humanize"
)

// Validate returns an *Error with one problem for each violated rule, without line numbers, or nil.
// [Load] and [Parse] check the same rules; Validate is for a Config built in code.
func (c Config) Validate() error {
	var v validator
	v.checkConfig(c)
	return newError("", v.problems)
}

// A binder fills the maps. They are nil for a Config built in code.
type validator struct {
	problems []Problem
	lines    map[string]int    // line of each key in the file, by path
	broken   map[string]bool   // paths of values that could not be bound and are not validated
	written  map[string]string // source text of each expanded value, by path; shown instead of the value
}

// addProblem adds a problem, with the line of the key or, if the file does not contain the key, of
// its section. It does nothing if the value at path, or a section around it, could not be bound,
// because that problem is already reported.
func (v *validator) addProblem(path, format string, args ...any) {
	line := 0
	for key := path; key != ""; key = key[:max(0, strings.LastIndexAny(key, ".["))] {
		if v.broken[key] {
			return
		}
		line = cmp.Or(line, v.lines[key])
	}
	v.problems = append(v.problems, Problem{Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
}

// refuse adds a problem. It puts a value other than nil before the message. A [Validation] also calls it.
func (v *validator) refuse(path string, value any, message string) {
	if value != nil {
		message = v.showValue(path, value) + " " + message
	}
	v.addProblem(path, "%s", message)
}

func (v *validator) showValue(path string, value any) string {
	if text, ok := v.written[path]; ok {
		return text
	}
	return formatValue(value)
}

// formatValue formats a value as the file does.
func formatValue(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case time.Duration:
		return humanize.Duration(v)
	}
	return fmt.Sprint(value)
}

func (v *validator) checkConfig(c Config) {
	v.checkAPI(c.API)
	v.checkPatterns("streams.include", c.Streams.Include)
	v.checkPatterns("streams.exclude", c.Streams.Exclude)
	v.checkOneOf("streams.details", c.Streams.Details, "changed", "all", "none")
	checkBetween(v, "streams.live_days", c.Streams.LiveDays, 0, 3650)
	checkBetween(v, "streams.recheck", c.Streams.Recheck, 0, 365)
	checkBetween(v, "streams.max_passes", c.Streams.MaxPasses, 1, 20)
	checkBetween(v, "streams.max_pages", c.Streams.MaxPages, 1, 10_000_000)
	checkBetween(v, "run.resume_max_age", c.Run.ResumeMaxAge, 0, 7*24*time.Hour)
	checkBetween(v, "run.max_duration", c.Run.MaxDuration, 0, 7*24*time.Hour)
	checkBetween(v, "run.patience", c.Run.Patience, 0, 7*24*time.Hour)
	checkBetween(v, "run.mass_delete_share", c.Run.MassDeleteShare, 0, 1)
	checkAtLeast(v, "run.mass_delete_rows", c.Run.MassDeleteRows, 0)
	v.checkWarehouse(c.Warehouse)
	checkAtLeast(v, "retention.raw_days", c.Retention.RawDays, 0)
	checkAtLeast(v, "retention.daily", c.Retention.Daily, 0)
	checkAtLeast(v, "retention.weekly", c.Retention.Weekly, 0)
	checkAtLeast(v, "retention.monthly", c.Retention.Monthly, 0)
	v.checkCron("schedule.cron", c.Schedule.Cron)
	if _, err := time.LoadLocation(c.Schedule.Timezone); err != nil || c.Schedule.Timezone == "" {
		v.refuse("schedule.timezone", c.Schedule.Timezone, "is not a time zone: use an IANA name such as UTC or Europe/Berlin")
	}
	for i, pause := range c.Schedule.Retries {
		checkBetween(v, fmt.Sprintf("schedule.retries[%d]", i), pause, time.Minute, 24*time.Hour)
	}
	if c.Verify.Cron != "" {
		v.checkCron("verify.cron", c.Verify.Cron)
	}
	checkBetween(v, "checks.timeout", c.Checks.Timeout, time.Second, time.Hour)
	for name, rule := range c.Checks.Rules {
		v.checkOneOf("checks.rules."+name+".severity", rule.Severity, "", "hold", "warn", "off")
	}
	v.checkServe(c.Serve)
	v.checkNotifyURL("notify.failure_url", c.Notify.FailureURL)
	v.checkNotifyURL("notify.heartbeat_url", c.Notify.HeartbeatURL)
	v.checkWatches(c.Watch, v.checkChannels(c.Notify.Channels))
	v.checkPrivacy(c.Privacy, c.API.PriceUnit)
	v.checkEach("history.ignore", c.History.Ignore, ignoredPath,
		"is not table.column: write one such as files.file_url, or orders.extra.fetched_at for a member of a JSON column")
	v.checkLake(c.Lake)
	v.checkStatuses(c.Statuses)
	v.checkS3(c.S3)
	v.checkBucket("backup", c.Backup)
}

func (v *validator) checkAPI(a API) {
	v.checkBaseURL(a)
	switch fault := tokenFault(a.Token); {
	case a.Token != "" && a.TokenFile != "":
		v.addProblem("api.token_file", "is set, and api.token too: remove one of the two")
	case a.Token == "" && a.TokenFile == "" && !v.broken["api.token_file"]:
		v.addProblem("api.token", "is empty: give the token as ${PLACEMENTSYNC_TOKEN}, or its file as api.token_file")
	case a.Token != "" && fault != "":
		v.addProblem("api.token", "%s", fault)
	}
	v.checkPrintable("api.team_id", a.TeamID)
	v.checkPrintable("api.user_agent", a.UserAgent)
	for _, column := range slices.Sorted(maps.Keys(a.Fields)) {
		item := "api.fields." + column
		switch name := a.Fields[column]; {
		case !columnPath.MatchString(column):
			v.addProblem(item, "is not table.column: write a line such as profiles.drive_link: shared_drive")
		case !fieldPath.MatchString(name):
			v.refuse(item, name, "is not the name of a field: write one such as shared_drive, or links.drive for a field in an object")
		}
	}
	v.checkOneOf("api.price_unit", a.PriceUnit, "major", MinorUnit)
	checkBetween(v, "api.requests_per_second", a.RequestsPerSecond, 0, 1000)
	checkBetween(v, "api.burst", a.Burst, 1, 1000)
	checkBetween(v, "api.concurrency", a.Concurrency, 1, 256)
	checkBetween(v, "api.page_size", a.PageSize, 1, 1000)
	checkBetween(v, "api.timeout", a.Timeout, 100*time.Millisecond, 10*time.Minute)
	if n := a.MaxBodyBytes(); n < 1e6 || n > 2e9 {
		v.refuse("api.max_body", a.MaxBody, "is not a size from 1MB to 2GB: write one such as 64MB")
	}
	checkBetween(v, "api.retry.max_retries", a.Retry.MaxRetries, 0, 20)
	checkBetween(v, "api.retry.base", a.Retry.Base, time.Millisecond, time.Minute)
	checkBetween(v, "api.retry.max", a.Retry.Max, time.Millisecond, 10*time.Minute)
	checkBetween(v, "api.retry.jitter", a.Retry.Jitter, 0, 1)
	if a.Retry.Max < a.Retry.Base && !v.broken["api.retry.base"] {
		v.refuse("api.retry.max", a.Retry.Max, "is less than api.retry.base: use "+v.showValue("api.retry.base", a.Retry.Base)+" or more")
	}
}

func (v *validator) checkPatterns(key string, patterns []string) {
	for i, pattern := range patterns {
		item := fmt.Sprintf("%s[%d]", key, i)
		if pattern == "" {
			v.addProblem(item, "is empty: name a stream, or remove the entry")
		} else if _, err := path.Match(pattern, ""); err != nil {
			v.refuse(item, pattern, "is not a pattern: close the bracket or write the stream's name")
		}
	}
}

var sizeText = regexp.MustCompile(`(?i)^([0-9]+(?:\.[0-9]+)?) ?([KMGT])(i?)B$`)

// maxSize is an upper limit of sizes in bytes. Twice this size fits into an int64, because
// cmd/sync doubles the memory limit.
const maxSize = 1 << 60

// parseSize returns a number of bytes up to maxSize, or 0 if text is not a size. As in DuckDB,
// 1 MB is 1,000,000 bytes and 1 MiB is 1,048,576 bytes.
func parseSize(text string) int64 {
	match := sizeText.FindStringSubmatch(text)
	if match == nil {
		return 0
	}
	number, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		return 0
	}
	unit := 1000.0
	if match[3] != "" {
		unit = 1024
	}
	return int64(min(number*math.Pow(unit, float64(1+strings.Index("KMGT", strings.ToUpper(match[2])))), maxSize))
}

// MaxBodyBytes returns MaxBody in bytes, or 0 if MaxBody is not a size.
func (a API) MaxBodyBytes() int64 { return parseSize(a.MaxBody) }

// MemoryBytes returns MemoryLimit in bytes.
func (w Warehouse) MemoryBytes() int64 { return parseSize(w.MemoryLimit) }

// minMemory is the least memory with which DuckDB can run a night of all streams, even if they have few records.
const minMemory = "200MB"

func (v *validator) checkWarehouse(w Warehouse) {
	if w.Dir == "" {
		v.addProblem("warehouse.dir", "is empty: give a folder, such as ./warehouse")
	}
	checkAtLeast(v, "warehouse.keep_versions", w.KeepVersions, 1)
	// DuckDB also accepts a percentage of the machine's memory, but a container may have less
	// memory.
	switch limit := parseSize(w.MemoryLimit); {
	case limit == 0:
		v.refuse("warehouse.memory_limit", w.MemoryLimit, "is not a size: write one such as 512MB or 2GB")
	case limit < parseSize(minMemory):
		v.refuse("warehouse.memory_limit", w.MemoryLimit, "is too little for a night, even with few records: write "+minMemory+" or more")
	}
	checkBetween(v, "warehouse.threads", w.Threads, 0, 1024)
	v.checkOneOf("warehouse.published_mode", w.PublishedMode, "", "0600", "0640", "0644")
}

var (
	// fieldPath matches the names of a field and of the objects around it, joined by dots.
	fieldPath   = regexp.MustCompile(`^[^\s.]+(\.[^\s.]+)*$`)
	ignoredPath = regexp.MustCompile(`^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*(\.[^.\pC]+)*$`)
	columnPath  = regexp.MustCompile(`^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$`)
)

func (v *validator) checkPrivacy(p Privacy, priceUnit string) {
	const notAColumn = "is not table.column: write one such as orders.guest_email"
	v.checkEach("privacy.hash", p.Hash, columnPath, notAColumn)
	v.checkEach("privacy.drop", p.Drop, columnPath, notAColumn)
	for i, name := range p.Drop {
		if priceUnit == MinorUnit && strings.HasSuffix(name, "_prices.currency") {
			v.refuse(fmt.Sprintf("privacy.drop[%d]", i), name, "is needed to divide prices with api.price_unit: minor: remove it, or write it into privacy.hash")
		}
	}
	for i, name := range p.Hash {
		if slices.Contains(p.Drop, name) {
			item := fmt.Sprintf("privacy.hash[%d]", i)
			v.refuse(item, name, "is also in privacy.drop: remove it from one of the two")
		}
	}
	if len(p.Hash) > 0 && p.HashKey == "" {
		v.addProblem("privacy.hash", "needs a key: set the environment variable %s and never change it, because another key gives other hashes", HashKeyVar)
	}
	v.checkOneOf("privacy.raw", p.Raw, "keep", RawDiscard)
}

// checkEach refuses the items of a list that do not match a pattern.
func (v *validator) checkEach(list string, items []string, pattern *regexp.Regexp, message string) {
	for i, item := range items {
		if !pattern.MatchString(item) {
			v.refuse(fmt.Sprintf("%s[%d]", list, i), item, message)
		}
	}
}

// checkBetween requires low <= value <= high.
func checkBetween[T int | float64 | time.Duration](v *validator, path string, value, low, high T) {
	lowText, highText := formatValue(low), formatValue(high)
	switch {
	case value < low:
		v.refuse(path, value, fmt.Sprintf("is below %s: use %s to %s", lowText, lowText, highText))
	case value > high:
		v.refuse(path, value, fmt.Sprintf("is above %s: use %s to %s", highText, lowText, highText))
	}
}

func checkAtLeast(v *validator, path string, value, low int) {
	if value < low {
		v.refuse(path, value, fmt.Sprintf("is below %d: use %d or more", low, low))
	}
}

func (v *validator) checkOneOf(path, value string, known ...string) {
	if slices.Contains(known, value) {
		return
	}
	for i, k := range known {
		known[i] = cmp.Or(k, `""`)
	}
	v.refuse(path, value, "is not allowed: use one of "+strings.Join(known, ", "))
}
