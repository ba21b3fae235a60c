package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"

	"placementsync/internal/plural"
	"placementsync/internal/query"
)

// Message is what a channel gets: an object for programs, with a text for people.
type Message struct {
	// ID is the same each time that this message is sent.
	ID    string `json:"id"`
	Watch string `json:"watch"`
	// Subject is one line, without any value of the answer.
	Subject string `json:"subject"`
	Text    string `json:"text"`
	query.Snapshot
	// Since is the snapshot that was looked at before; zero: this is the first.
	Since time.Time `json:"since,omitzero"`
	// Found counts the findings, New those that are new, and More those that are not in
	// Findings although they belong to the message.
	Found    int       `json:"found"`
	New      int       `json:"new"`
	More     int       `json:"more"`
	Findings []Finding `json:"findings"`
	// Unread says which tables were not read. Then nothing was looked for.
	Unread []string `json:"not_read"`
	// Doubt says which others are not proven.
	Doubt   string `json:"not_proven,omitempty"`
	Program string `json:"program_version"`
}

// Finding is one finding of a message.
type Finding struct {
	New bool `json:"new"`
	// Since is the snapshot that first had it.
	Since time.Time `json:"since"`
	// Values has texts with all digits, and null.
	Values map[string]*string `json:"values"`
}

// mostLines is how many findings the text lists.
const mostLines = 10

// Bounds of a message, in characters.
const (
	mostValue     = 1000 // of a value
	mostValueLine = 120  // of a value in the text
	mostLine      = 200  // of a finding in the text
)

// newMessage writes the message about what a collector has found.
func newMessage(program string, w Watch, now, base query.Snapshot, c *collector, doubt string) Message {
	m := Message{ID: messageID(w, now, "found"), Watch: w.Name, Snapshot: now, Since: base.At, Found: len(c.found), New: c.fresh,
		More: c.fresh - len(c.shown), Findings: c.shown, Unread: []string{}, Doubt: cutText(doubt, mostLine), Program: program}
	what := plural.Count(m.New, "new finding")
	switch {
	case !w.NewOnly:
		m.More = m.Found - len(c.shown)
		what = fmt.Sprintf("%s, %d new", plural.Count(m.Found, "finding"), m.New)
	case m.Found > m.New:
		what += fmt.Sprintf(", %d in all", m.Found)
	}
	m.Subject = fmt.Sprintf("placementsync: %s: %s", w.Name, what)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in the snapshot of %s\n", w.Name, what, timeText(now.At))
	if base.At.IsZero() {
		b.WriteString("There is no earlier look to compare it with.\n")
	} else {
		fmt.Fprintf(&b, "New is what the snapshot of %s did not have.\n", timeText(base.At))
	}
	listed := c.lines[:min(len(c.lines), mostLines)]
	for _, line := range listed {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	if more := m.More + len(c.lines) - len(listed); more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	if c.noNumber > 0 {
		fmt.Fprintf(&b, "Not judged: %s without a number in %s.\n", plural.Count(c.noNumber, "row"), cleanText(w.When.Column))
	}
	if doubt != "" {
		fmt.Fprintf(&b, "Behind this: %s.\n", cleanText(m.Doubt))
	}
	m.Text = endText(&b, w)
	return m
}

// newUnreadMessage says that nothing was looked for.
func newUnreadMessage(program string, w Watch, now query.Snapshot, unread []string) Message {
	m := Message{ID: messageID(w, now, "unread"), Watch: w.Name, Snapshot: now, Findings: []Finding{}, Unread: unread, Program: program,
		Subject: fmt.Sprintf("placementsync: %s: not read", w.Name)}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: not read in the snapshot of %s, so nothing can be said\n", w.Name, timeText(now.At))
	for i, line := range unread {
		if i == mostLines {
			fmt.Fprintf(&b, "and %d more\n", len(unread)-mostLines)
			break
		}
		fmt.Fprintf(&b, "- %s\n", cleanText(cutText(line, mostLine)))
	}
	b.WriteString("It is looked for again as soon as they are read. placementsync check says what the token may read.\n")
	m.Text = endText(&b, Watch{})
	return m
}

func endText(b *strings.Builder, w Watch) string {
	if w.Advice != "" {
		b.WriteString(w.Advice)
	}
	return strings.TrimRight(b.String(), "\n")
}

// messageID is the same whenever the same watch looks at the same snapshot.
func messageID(w Watch, now query.Snapshot, kind string) string {
	const size = 16
	sum := sha256.Sum256([]byte(strings.Join([]string{w.Name, w.digest(), now.Run, now.At.UTC().Format(time.RFC3339Nano), kind}, "\n")))
	return hex.EncodeToString(sum[:size])
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

func dateText(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// cleanText makes one line of a text in which nothing acts: no control character, and
// none that turns the direction or hides.
func cleanText(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, text)
}

// cutText cuts a text to a number of characters.
func cutText(text string, most int) string {
	for i := range text {
		if most--; most < 0 {
			return text[:i] + "..."
		}
	}
	return text
}
