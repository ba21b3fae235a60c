package transform

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/stream"
)

// Privacy names the columns, as table.column, whose values must not be staged.
type Privacy struct {
	// Drop leaves them NULL.
	Drop []string
	// Hash replaces them by a keyed hash: HMAC-SHA256 with Key, in hex. Equal
	// values stay equal, in every table and every night.
	Hash []string
	Key  []byte
}

// hashedText is the length of a hash in hex.
const hashedText = 2 * sha256.Size

// withheld stands for raw text that may hold a private value.
const withheld = `"(withheld: the record holds private columns)"`

// Protect applies the rules that name tables of this binding. It is called
// before NewDecoder. Only columns that neither rows nor details are found by
// can be dropped, and only texts can be hashed. Where a record has such a
// column, its rejects show no raw text, and its drift samples of unknown fields
// only; an object or list in the place of a private value is not kept either.
func (b *Binding) Protect(p Privacy) error {
	if len(p.Hash) > 0 && len(p.Key) == 0 {
		return errors.New("keep columns private: hashes without a key can be guessed: set one")
	}
	for _, l := range b.tables {
		for i := range l.cols {
			name := l.name + "." + l.cols[i].name
			var err error
			switch {
			case slices.Contains(p.Drop, name):
				err = l.drop(i)
			case slices.Contains(p.Hash, name):
				err = l.hash(i, p.Key)
			}
			if err != nil {
				return fmt.Errorf("keep %s private: %w", name, err)
			}
		}
	}
	b.seclude()
	return nil
}

func (l *layoutOf) drop(col int) error {
	if l.finds(col) {
		return errors.New("records are found by it: keep it")
	}
	l.cols[col].dropped = true
	return nil
}

func (l *layoutOf) hash(col int, key []byte) error {
	if l.cols[col].kind != text || l.cols[col].canonical {
		return errors.New("only texts can be hashed: drop it or keep it")
	}
	if l.finds(col) {
		return errors.New("records are found by it: keep it")
	}
	if strings.HasSuffix(l.cols[col].name, "_id") {
		return errors.New("tables are joined by it: drop it or keep it")
	}
	l.cols[col].hide = func(dst, value []byte) []byte {
		if len(value) == 0 {
			return dst
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(value)
		return hex.AppendEncode(dst, mac.Sum(nil))
	}
	return nil
}

// finds reports whether rows are found by a column, in this stream, or details
// in any other: without it, their absence would pass for a deletion.
func (l *layoutOf) finds(col int) bool {
	if slices.Contains(l.required, col) || col == l.param {
		return true
	}
	if slices.ContainsFunc(l.parents, func(p inherited) bool { return p.col == col }) {
		return true
	}
	return stream.NamesDetails(l.name, l.cols[col].name)
}

// seclude marks the tables and fields whose raw text may hold a private value:
// tables with those within, fields with those inside their objects.
func (b *Binding) seclude() {
	for _, l := range b.tables {
		l.concealed = nil
		for i := range l.cols {
			if l.cols[i].private() {
				l.concealed = append(l.concealed, i)
			}
		}
		if len(l.concealed) == 0 {
			continue
		}
		for up := l; ; up = b.tables[up.enclosing] {
			if up.private = true; up.enclosing < 0 {
				break
			}
		}
		for _, n := range l.root.all(map[string]*node{}) {
			for _, f := range n.fields {
				f.private = l.holds(f)
				f.dropped = f.col >= 0 && l.cols[f.col].dropped
			}
		}
	}
}

// holds reports whether the value of a field may have a private part. A field
// without any reading is the list of rows like the one that it stands in.
func (l *layoutOf) holds(f *field) bool {
	switch {
	case f.col >= 0:
		return l.cols[f.col].private()
	case f.group == nil:
		return f.child < 0
	}
	for _, n := range f.group.all(map[string]*node{}) {
		for _, inner := range n.fields {
			if inner.col >= 0 && l.cols[inner.col].private() {
				return true
			}
		}
	}
	return false
}

// conceal takes the last value back, or hashes it.
func (c *column) conceal(col *columnOf) {
	last := c.n - 1
	if col.dropped {
		c.cut(last)
		return
	}
	value := bytes.Clone(c.bytes(last))
	c.cut(last)
	c.data = col.hide(c.data, value)
	c.seal()
}

// conceal counts a private value that no column takes, without a sample.
func (d *Decoder) conceal(t *table, kind string, path []byte) {
	d.found.count(t.name, kind, path, []byte(withheld))
}
