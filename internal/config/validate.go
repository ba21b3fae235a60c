package config

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Validate reports every rule that c breaks in one *Error without lines, or nil.
// [Load] and [Parse] have done so already; this is for a Config made in code.
func (c Config) Validate() error {
	var v validator
	v.config(c)
	return newError("", v.problems)
}

// validator collects the rules that are broken. Its maps are the binder's and may
// be nil: a path that could not be bound is not judged by its default, and a value
// that came from the environment is shown as it is written in the file.
type validator struct {
	problems []Problem
	broken   map[string]bool
	written  map[string]string
}

// add reports that the value at path breaks a rule; message says rule and fix.
func (v *validator) add(path, format string, args ...any) {
	for at := path; at != ""; at = parentPath(at) {
		if v.broken[at] {
			return
		}
	}
	v.problems = append(v.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
}

func (v *validator) show(path string, value any) string {
	if text, ok := v.written[path]; ok {
		return text
	}
	return literal(value)
}

// literal writes a value as it would stand in the file: 10m, not 10m0s.
func literal(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case time.Duration:
		text := v.String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		return text
	}
	return fmt.Sprint(value)
}

func (v *validator) config(c Config) {
	v.api(c.API)
	v.streams(c.Streams)
	v.run(c.Run)
	v.warehouse(c.Warehouse)
	v.retention(c.Retention)
	v.schedule(c.Schedule)
	v.verify(c.Verify)
	v.serve(c.Serve)
	v.notify(c.Notify)
	v.privacy(c.Privacy)
}

func (v *validator) api(a API) {
	v.baseURL(a)
	v.token(a)
	v.printable("api.team_id", a.TeamID)
	v.printable("api.user_agent", a.UserAgent)
	between(v, "api.requests_per_second", a.RequestsPerSecond, 0, 1000)
	between(v, "api.burst", a.Burst, 1, 1000)
	between(v, "api.concurrency", a.Concurrency, 1, 256)
	between(v, "api.page_size", a.PageSize, 1, 1000)
	between(v, "api.timeout", a.Timeout, 100*time.Millisecond, 10*time.Minute)
	if n := a.MaxBodyBytes(); n < 1e6 || n > 2e9 {
		v.add("api.max_body", "%s is not a size from 1MB to 2GB: write one such as 64MB", v.show("api.max_body", a.MaxBody))
	}
	between(v, "api.retry.max_retries", a.Retry.MaxRetries, 0, 20)
	between(v, "api.retry.base", a.Retry.Base, time.Millisecond, time.Minute)
	between(v, "api.retry.max", a.Retry.Max, time.Millisecond, 10*time.Minute)
	between(v, "api.retry.jitter", a.Retry.Jitter, 0, 1)
	if a.Retry.Max < a.Retry.Base && !v.broken["api.retry.base"] {
		v.add("api.retry.max", "%s is below api.retry.base: use %s or more",
			v.show("api.retry.max", a.Retry.Max), v.show("api.retry.base", a.Retry.Base))
	}
}

func (v *validator) token(a API) {
	switch {
	case v.broken["api.token_file"]:
	case a.Token != "" && a.TokenFile != "":
		v.add("api.token_file", "is given beside api.token: keep one of the two")
	case a.Token == "" && a.TokenFile == "":
		v.add("api.token", "is empty: give the token as ${PLACEMENTSYNC_TOKEN}, or its file as api.token_file")
	case a.TokenFile == "":
		if fault := tokenFault(a.Token); fault != "" {
			v.add("api.token", "%s", fault)
		}
	}
}

func (v *validator) streams(s Streams) {
	v.patterns("streams.include", s.Include)
	v.patterns("streams.exclude", s.Exclude)
	oneOf(v, "streams.details", s.Details, DetailsChanged, DetailsAll, DetailsNone)
	between(v, "streams.live_days", s.LiveDays, 0, 3650)
	between(v, "streams.recheck", s.Recheck, 0, 365)
	between(v, "streams.max_passes", s.MaxPasses, 1, 20)
	between(v, "streams.max_pages", s.MaxPages, 1, 10_000_000)
}

func (v *validator) patterns(at string, patterns []string) {
	for i, pattern := range patterns {
		item := fmt.Sprintf("%s[%d]", at, i)
		if pattern == "" {
			v.add(item, "is empty: name a stream, or remove it")
		} else if _, err := path.Match(pattern, ""); err != nil {
			v.add(item, "%s is not a pattern: close the bracket or write the stream's name", v.show(item, pattern))
		}
	}
}

func (v *validator) run(r Run) {
	between(v, "run.resume_max_age", r.ResumeMaxAge, 0, 7*24*time.Hour)
	between(v, "run.max_duration", r.MaxDuration, 0, 7*24*time.Hour)
	between(v, "run.mass_delete_share", r.MassDeleteShare, 0, 1)
	atLeast(v, "run.mass_delete_rows", r.MassDeleteRows, 0)
}

var size = regexp.MustCompile(`(?i)^([0-9]+(?:\.[0-9]+)?) ?([KMGT])(i?)B$`)

// isSize accepts what DuckDB takes for memory_limit, without its percentages: those
// are of the machine, and in a container the machine is not what the process may use.
func isSize(text string) bool { return bytesOf(text) > 0 }

// bytesOf reads a size as DuckDB does: MB are millions, MiB are not; 0 if it is none.
func bytesOf(text string) float64 {
	match := size.FindStringSubmatch(text)
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
	return number * math.Pow(unit, float64(1+strings.Index("KMGT", strings.ToUpper(match[2]))))
}

// MaxBodyBytes is MaxBody as a number; 0 if it is no size.
func (a API) MaxBodyBytes() int64 { return int64(min(bytesOf(a.MaxBody), math.MaxInt64/2)) }

func (v *validator) warehouse(w Warehouse) {
	if w.Dir == "" {
		v.add("warehouse.dir", "is empty: give a folder, such as ./warehouse")
	}
	atLeast(v, "warehouse.keep_versions", w.KeepVersions, 1)
	if !isSize(w.MemoryLimit) {
		v.add("warehouse.memory_limit", "%s is not a size: write one such as 512MB or 2GB",
			v.show("warehouse.memory_limit", w.MemoryLimit))
	}
	between(v, "warehouse.threads", w.Threads, 0, 1024)
	oneOf(v, "warehouse.published_mode", w.PublishedMode, "", "0600", "0640", "0644")
}

func (v *validator) retention(r Retention) {
	atLeast(v, "retention.raw_days", r.RawDays, 0)
	atLeast(v, "retention.daily", r.Daily, 0)
	atLeast(v, "retention.weekly", r.Weekly, 0)
	atLeast(v, "retention.monthly", r.Monthly, 0)
}

var column = regexp.MustCompile(`^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$`)

func (v *validator) privacy(p Privacy) {
	v.columns("privacy.hash", p.Hash)
	v.columns("privacy.drop", p.Drop)
	for i, name := range p.Hash {
		if slices.Contains(p.Drop, name) {
			item := fmt.Sprintf("privacy.hash[%d]", i)
			v.add(item, "%s is also in privacy.drop: keep it in one of the two", v.show(item, name))
		}
	}
	if len(p.Hash) > 0 && p.HashKey == "" {
		v.add("privacy.hash", "needs a key: set the environment variable %s, and keep it: another key gives other hashes", HashKeyVar)
	}
	oneOf(v, "privacy.raw", p.Raw, RawKeep, RawDiscard)
}

func (v *validator) columns(at string, names []string) {
	for i, name := range names {
		if item := fmt.Sprintf("%s[%d]", at, i); !column.MatchString(name) {
			v.add(item, "%s is not table.column: write one such as orders.guest_email", v.show(item, name))
		}
	}
}

// between demands low <= value <= high.
func between[T int | float64 | time.Duration](v *validator, path string, value, low, high T) {
	lowest, highest := literal(low), literal(high)
	switch {
	case value < low:
		v.add(path, "%s is below %s: use %s to %s", v.show(path, value), lowest, lowest, highest)
	case !(value <= high): // so that NaN is refused as well
		v.add(path, "%s is above %s: use %s to %s", v.show(path, value), highest, lowest, highest)
	}
}

func atLeast(v *validator, path string, value, low int) {
	if value < low {
		v.add(path, "%s is below %d: use %d or more", v.show(path, value), low, low)
	}
}

func oneOf[T ~string](v *validator, path string, value T, known ...T) {
	if slices.Contains(known, value) {
		return
	}
	names := make([]string, len(known))
	for i, k := range known {
		if names[i] = string(k); k == "" {
			names[i] = `""`
		}
	}
	v.add(path, "%s is unknown: use %s", v.show(path, string(value)), strings.Join(names, ", "))
}
