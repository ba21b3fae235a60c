package transform

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
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

// Protect applies the rules that name tables of this binding. It is called
// before NewDecoder. Only columns that no row is found by can be dropped, and
// only texts can be hashed. Where a table has such a column, rejects and drift
// show no raw values of it.
func (b *Binding) Protect(p Privacy) error {
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
	return nil
}

func (l *layoutOf) drop(col int) error {
	if slices.Contains(l.required, col) {
		return fmt.Errorf("rows are found by it: hash it or keep it")
	}
	l.private = true
	l.eachField(col, func(f *field) { f.dropped = true })
	return nil
}

func (l *layoutOf) hash(col int, key []byte) error {
	if l.cols[col].kind != text {
		return fmt.Errorf("only texts can be hashed: drop it or keep it")
	}
	if slices.Contains(l.required, col) || strings.HasSuffix(l.cols[col].name, "_id") {
		return fmt.Errorf("records are asked for by it: drop it or keep it")
	}
	l.private = true
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

// eachField visits every field that fills a column.
func (l *layoutOf) eachField(col int, visit func(*field)) {
	for _, n := range l.root.all(map[string]*node{}) {
		for _, f := range n.fields {
			if f.col == col {
				visit(f)
			}
		}
	}
}
