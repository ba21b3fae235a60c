package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"

	"placementsync/internal/humanize"
	"placementsync/internal/query"
)

// Message is the JSON body of a message. Text is the same message for people.
type Message struct {
	// ID is the same each time that this message is sent.
	ID      string `json:"id"`
	Watch   string `json:"watch"`
	Subject string `json:"subject"` // one line, without any value of the query result
	Text    string `json:"text"`
	query.Snapshot
	// Since is the time of the earlier snapshot with which Snapshot was compared. Zero means
	// that there was none.
	Since     time.Time `json:"since,omitzero"`
	Found     int       `json:"found"` // number of all findings
	New       int       `json:"new"`
	More      int       `json:"more"` // number of findings that Findings omits
	Findings  []Finding `json:"findings"`
	Unread    []string  `json:"not_read"`             // see Result.Unread
	NotProven string    `json:"not_proven,omitempty"` // see Result.NotProven; shortened
	Program   string    `json:"program_version"`
}

// Finding is one finding of a message.
type Finding struct {
	New bool `json:"new"`
	// Since is the time of the snapshot that first had the finding.
	Since time.Time `json:"since"`
	// Values has the shown columns. Numbers are strings with all digits. Nil means NULL.
	Values map[string]*string `json:"values"`
}

// maxLines limits the findings, or the unread tables, in the text of a message.
const maxLines = 10

// Limits in characters.
const (
	maxValue       = 1000 // of a value
	maxValueInLine = 120  // of a value in the text
	maxLine        = 200  // of a finding in the text
)

func newMessage(program string, w Watch, current, base query.Snapshot, c *collector, notProven string) Message {
	m := Message{ID: messageID(w, current, "found"), Watch: w.Name, Snapshot: current, Since: base.At, Found: len(c.findings), New: c.newCount,
		More: c.newCount - len(c.shown), Findings: c.shown, Unread: []string{}, NotProven: cutText(notProven, maxLine), Program: program}
	counts := humanize.Count(m.New, "new finding")
	switch {
	case !w.NewOnly:
		m.More = m.Found - len(c.shown)
		counts = fmt.Sprintf("%s, %d new", humanize.Count(m.Found, "finding"), m.New)
	case m.Found > m.New:
		counts += fmt.Sprintf(", %d in all", m.Found)
	}
	m.Subject = fmt.Sprintf("placementsync: %s: %s", w.Name, counts)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in the snapshot of %s\n", w.Name, counts, timeText(current.At))
	switch {
	case !base.At.IsZero():
		fmt.Fprintf(&b, "New findings are those that the snapshot of %s did not have.\n", timeText(base.At))
	case m.New == m.Found:
		b.WriteString("This is the first check, so every finding is new.\n")
	default: // a rollback removed all nights that were checked
		b.WriteString("New findings are those that no earlier check found.\n")
	}
	listed := c.lines[:min(len(c.lines), maxLines)]
	for _, line := range listed {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if more := m.More + len(c.lines) - len(listed); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	if c.skipped > 0 {
		fmt.Fprintf(&b, "Skipped: %s without a number in %s.\n", humanize.Count(c.skipped, "row"), cleanText(w.When.Column))
	}
	if notProven != "" {
		fmt.Fprintf(&b, "Possibly incomplete: %s.\n", cleanText(m.NotProven))
	}
	b.WriteString(w.Advice)
	m.Text = strings.TrimRight(b.String(), "\n")
	return m
}

func newUnreadMessage(program string, w Watch, current query.Snapshot, unread []string) Message {
	m := Message{ID: messageID(w, current, "unread"), Watch: w.Name, Snapshot: current, Findings: []Finding{}, Unread: unread, Program: program,
		Subject: fmt.Sprintf("placementsync: %s: not checked", w.Name)}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: not checked, because tables are missing from the snapshot of %s\n", w.Name, timeText(current.At))
	for i, line := range unread {
		if i == maxLines {
			fmt.Fprintf(&b, "and %d more\n", len(unread)-maxLines)
			break
		}
		fmt.Fprintf(&b, "- %s\n", cleanText(cutText(line, maxLine)))
	}
	b.WriteString("The watch continues as soon as these tables are read. The command \"placementsync check\" shows which streams the token may read.")
	m.Text = b.String()
	return m
}

// Each evaluation of a watch at the same snapshot gives the same id.
func messageID(w Watch, current query.Snapshot, kind string) string {
	const size = 16
	sum := sha256.Sum256([]byte(strings.Join([]string{w.Name, w.digest(), current.Run, current.At.UTC().Format(time.RFC3339Nano), kind}, "\n")))
	return hex.EncodeToString(sum[:size])
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// cleanText replaces control characters, line ends, invisible characters and characters that change
// the direction of writing with spaces.
func cleanText(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, text)
}

func cutText(text string, maxChars int) string {
	chars := 0
	for i := range text {
		if chars == maxChars {
			return text[:i] + "..."
		}
		chars++
	}
	return text
}
