package watch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"placementsync/internal/query"
)

const (
	// mostFindings bounds what is remembered of a watch. An answer that is cut would make
	// the rest of it new another time.
	mostFindings = 10_000
	// mostShown bounds the findings in a message.
	mostShown = 20
)

// collector is a query.Writer that judges each row, and keeps the findings for the message.
// It holds no rows, since a condition may judge millions.
type collector struct {
	watch Watch
	now   query.Snapshot
	// before is the state of earlier nights, base the look that this one is compared with.
	before *state
	base   look

	columns   []query.Column
	condition int // index of the column of the condition
	key, show []int

	// found has each finding, and since when it has been there.
	found    map[string]time.Time
	fresh    int
	shown    []Finding
	lines    []string // of shown, for people
	noNumber int
}

var _ query.Streaming = (*collector)(nil)

// IsStreaming implements query.Streaming.
func (*collector) IsStreaming() {}

// Begin implements query.Writer.
func (c *collector) Begin(columns []query.Column) error {
	c.columns = columns
	if name := c.watch.When.Column; name != "" {
		at, err := c.indexesOf("when", []string{name})
		if err != nil {
			return err
		}
		if c.condition = at[0]; !columns[c.condition].Numeric {
			return fmt.Errorf("the column %q of its condition has no numbers: cast it to DECIMAL, or name another one", name)
		}
	}
	var errKey, errShow error
	c.key, errKey = c.indexesOf("key", c.watch.Key)
	c.show, errShow = c.indexesOf("show", c.watch.Show)
	return errors.Join(errKey, errShow)
}

// indexesOf finds columns by name; without names it is all of them.
func (c *collector) indexesOf(what string, names []string) ([]int, error) {
	var all []int
	if len(names) == 0 {
		for i := range c.columns {
			all = append(all, i)
		}
		return all, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(c.columns, func(col query.Column) bool { return col.Name == name })
		if i < 0 {
			var known []string
			for _, col := range c.columns {
				known = append(known, col.Name)
			}
			return nil, fmt.Errorf("the answer has no column %q, which %s names: it has %s", name, what, strings.Join(known, ", "))
		}
		all = append(all, i)
	}
	return all, nil
}

// Row implements query.Writer.
func (c *collector) Row(row query.Row) error {
	if c.watch.When.Column != "" {
		holds, isNumber := c.watch.When.holds(row.Value(c.condition))
		if !isNumber {
			c.noNumber++
		}
		if !holds {
			return nil
		}
	}
	id := identify(c.key, row)
	if _, again := c.found[id]; again {
		return nil
	}
	if len(c.found) == mostFindings {
		return fmt.Errorf("there are more than %d findings: narrow the query or its condition", mostFindings)
	}
	since, known := c.before.knownSince(id, c.base)
	if !known {
		c.fresh, since = c.fresh+1, c.now.At
	}
	c.found[id] = since
	if (!known || !c.watch.NewOnly) && len(c.shown) < mostShown {
		c.addShown(row, since, !known)
	}
	return nil
}

// End implements query.Writer.
func (*collector) End() error { return nil }

// identify is a hash of the values by which a finding is known again.
func identify(key []int, row query.Row) string {
	const size = 16
	h := sha256.New()
	for _, i := range key {
		v := row.Value(i)
		length := int64(-1)
		if !v.Null {
			length = int64(len(v.Text))
		}
		_ = binary.Write(h, binary.BigEndian, length) // a hash takes all
		h.Write([]byte(v.Text))
	}
	return hex.EncodeToString(h.Sum(nil)[:size])
}

func (c *collector) addShown(row query.Row, since time.Time, isNew bool) {
	f := Finding{New: isNew, Since: since, Values: map[string]*string{}}
	var parts []string
	for _, i := range c.show {
		name, v := c.columns[i].Name, row.Value(i)
		if v.Null {
			f.Values[name] = nil
			continue
		}
		text := cutText(v.Text, mostValue)
		f.Values[name] = &text
		parts = append(parts, cleanText(name)+": "+cleanText(cutText(text, mostValueLine)))
	}
	line := cutText(strings.Join(parts, ", "), mostLine)
	if !isNew {
		line += " (since " + dateText(since) + ")"
	}
	c.shown, c.lines = append(c.shown, f), append(c.lines, line)
}
