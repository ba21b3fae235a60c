package watch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"placementsync/internal/query"
)

const (
	// maxFindings limits the findings of a watch. More findings are an error. If they were cut, a later
	// night would report the cut findings as new.
	maxFindings = 10_000
	// maxShown limits the findings in a message.
	maxShown = 20
)

// collector is a query.Writer that evaluates the condition for each row and collects the
// findings. It does not keep other rows, of which there may be millions.
type collector struct {
	watch   Watch
	current query.Snapshot
	// state is the state before this evaluation. base is the earlier evaluation with which this
	// evaluation is compared, see state.knownSince.
	state *state
	base  evaluation

	columns []query.Column
	// Indexes of the columns of Watch.When, Watch.Key and Watch.Show.
	conditionIndex int
	key, show      []int

	findings map[string]time.Time // time of the snapshot that first had the finding
	newCount int
	shown    []Finding // the findings in the message
	lines    []string  // texts of shown
	skipped  int       // number of rows without a number in the column of the condition
}

func (c *collector) Begin(columns []query.Column) error {
	c.columns = columns
	if name := c.watch.When.Column; name != "" {
		indexes, err := c.indexesOf("when", []string{name})
		if err != nil {
			return err
		}
		c.conditionIndex = indexes[0]
		if !columns[c.conditionIndex].Numeric {
			return fmt.Errorf("the column %q of the condition is not numeric: cast it to DECIMAL, or name another column", name)
		}
	}
	var errKey, errShow error
	c.key, errKey = c.indexesOf("key", c.watch.Key)
	c.show, errShow = c.indexesOf("show", c.watch.Show)
	return errors.Join(errKey, errShow)
}

// indexesOf returns the indexes of the named columns. Without names it returns all indexes. key is
// the configuration key of the names, for the error.
func (c *collector) indexesOf(key string, names []string) ([]int, error) {
	var columnNames []string
	var indexes []int
	for i, column := range c.columns {
		columnNames = append(columnNames, column.Name)
		if len(names) == 0 {
			indexes = append(indexes, i)
		}
	}
	for _, name := range names {
		i := slices.Index(columnNames, name)
		if i < 0 {
			return nil, fmt.Errorf("the query returns no column %q for %s: use one of %s", name, key, strings.Join(columnNames, ", "))
		}
		indexes = append(indexes, i)
	}
	return indexes, nil
}

func (c *collector) Row(row []query.Value) error {
	if c.watch.When.Column != "" {
		matches, isNumber := c.watch.When.matches(row[c.conditionIndex])
		if !isNumber {
			c.skipped++
		}
		if !matches {
			return nil
		}
	}
	id := hashKey(c.key, row)
	if _, isDuplicate := c.findings[id]; isDuplicate {
		return nil
	}
	if len(c.findings) == maxFindings {
		return fmt.Errorf("there are more than %d findings: narrow the query or its condition", maxFindings)
	}
	since, isKnown := c.state.knownSince(id, c.base)
	if !isKnown {
		c.newCount++
		since = c.current.At
	}
	c.findings[id] = since
	isSent := !isKnown || !c.watch.NewOnly
	if isSent && len(c.shown) < maxShown {
		c.addShown(row, since, !isKnown)
	}
	return nil
}

func (*collector) End() error { return nil }

func hashKey(key []int, row []query.Value) string {
	const size = 16
	h := sha256.New()
	for _, i := range key {
		v := row[i]
		length := int64(-1)
		if !v.Null {
			length = int64(len(v.Text))
		}
		_ = binary.Write(h, binary.BigEndian, length) // a hash returns no error
		h.Write([]byte(v.Text))
	}
	return hex.EncodeToString(h.Sum(nil)[:size])
}

func (c *collector) addShown(row []query.Value, since time.Time, isNew bool) {
	f := Finding{New: isNew, Since: since, Values: map[string]*string{}}
	var parts []string
	for _, i := range c.show {
		name, v := c.columns[i].Name, row[i]
		if v.Null {
			f.Values[name] = nil
			continue
		}
		text := cutText(v.Text, maxValue)
		f.Values[name] = &text
		parts = append(parts, cleanText(name)+": "+cleanText(cutText(text, maxValueInLine)))
	}
	line := cutText(strings.Join(parts, ", "), maxLine)
	if !isNew {
		line += " (since " + since.UTC().Format(time.DateOnly) + ")"
	}
	c.shown, c.lines = append(c.shown, f), append(c.lines, line)
}

// Condition selects the rows whose value in Column is over Bound, or under it if Over is false. The zero
// Condition selects every row. The method matches must not be called on the zero Condition.
type Condition struct {
	Column string
	Over   bool
	Bound  *big.Rat
}

// matches compares a value exactly. NULL, NaN and infinities are not numbers and never match.
func (c Condition) matches(v query.Value) (isMatch, isNumber bool) {
	if v.Null {
		return false, false
	}
	n, ok := new(big.Rat).SetString(v.Text)
	if !ok {
		return false, false
	}
	order := n.Cmp(c.Bound)
	return order > 0 && c.Over || order < 0 && !c.Over, true
}
