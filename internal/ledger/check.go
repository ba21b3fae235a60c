package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"placementsync/internal/humanize"
)

// CheckOutcome says whether a check of a snapshot passed.
type CheckOutcome string

// Outcomes of checks. A check is skipped if it has no data to compare, for example if its tables were
// not read, too few of their rows changed, or there is no earlier snapshot. CheckNotRun means that an
// error prevented the check.
const (
	CheckPassed  CheckOutcome = "passed"
	CheckFailed  CheckOutcome = "failed"
	CheckSkipped CheckOutcome = "skipped"
	CheckNotRun  CheckOutcome = "not run"
)

// CheckResult is the result of one check of a snapshot.
type CheckResult struct {
	Name     string       `json:"check"`
	Title    string       `json:"title"`
	Severity string       `json:"severity"` // hold or warn
	Outcome  CheckOutcome `json:"outcome"`
	// Reason explains why the check was skipped, or why it did not run. A failed check has a reason if
	// some of its queries did not run.
	Reason string `json:"reason,omitempty"`
	// Rows counts the violating rows.
	Rows int64 `json:"rows"`
	// Sample contains the first violating rows as a JSON array of objects.
	Sample  json.RawMessage `json:"sample,omitempty"`
	Seconds float64         `json:"seconds"`
}

// HoldsNight reports whether the check keeps a night from being published.
func (c CheckResult) HoldsNight() bool { return c.Severity == "hold" && c.Outcome == CheckFailed }

// NeedsAttention reports whether the check failed or did not run.
func (c CheckResult) NeedsAttention() bool {
	return c.Outcome == CheckFailed || c.Outcome == CheckNotRun
}

// SampleLines returns one line of text for each row of the sample: "column value, column value".
// NULL values are omitted.
func (c CheckResult) SampleLines() (lines []string) {
	decoder := jsontext.NewDecoder(bytes.NewReader(c.Sample), jsontext.AllowDuplicateNames(true))
	var cells []string
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return lines
		}
		switch token.Kind() {
		case '{':
			cells = nil
		case '}':
			lines = append(lines, strings.Join(cells, ", "))
		case '"':
			name := token.String()
			value, err := decoder.ReadValue()
			if err != nil {
				return lines
			}
			text := string(value)
			if unquoted, err := jsontext.AppendUnquote(nil, value); err == nil {
				text = string(unquoted)
			}
			if value.Kind() != 'n' {
				cells = append(cells, name+" "+text)
			}
		}
	}
}

// DescribeChecks names the checks that failed or did not run, in one line.
func DescribeChecks(results []CheckResult) string {
	var parts []string
	for _, c := range results {
		switch c.Outcome {
		case CheckFailed:
			parts = append(parts, fmt.Sprintf("check %s failed in %s", c.Name, humanize.Count(c.Rows, "row")))
		case CheckNotRun:
			parts = append(parts, fmt.Sprintf("check %s did not run", c.Name))
		}
	}
	return strings.Join(parts, ", ")
}
