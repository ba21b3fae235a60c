// Package transform turns the JSON bodies of the service into Arrow record
// batches, one per table of the stream, exactly: money and integers from the
// digits of the text, times as UTC instants, unknown fields kept, and a value
// that does not fit kept raw with a reason.
//
// It is pure: no I/O, no clock, no cgo. It must not know where a body came
// from, where a batch goes or how a table is stored; it imports the stream
// literals and table definitions, and nothing else of this project.
package transform

import (
	"cmp"
	"errors"
	"strings"

	"placementsync/internal/stream"

	"github.com/apache/arrow-go/v18/arrow"
)

// ErrMalformed says that a body is not JSON, or not JSON of a shape in which
// records can be recognised. Nothing of such a body is kept.
var ErrMalformed = errors.New("malformed body")

// ErrFull says that a body does not fit into the batch with the rows held so far: flush
// and decode it again. Nothing of the body is kept.
var ErrFull = errors.New("decoder is full")

// seqBits is the share of a seq that counts records within one body. Records
// beyond that many share the last number.
const seqBits = 20

// Kinds of drift: what was seen that the schema does not say. The value is
// kept in every case.
const (
	// UnknownField is a field that no column takes; it is kept in extra.
	UnknownField = "unknown_field"
	// UnknownEnum is a value outside a list that the spec gives.
	UnknownEnum = "unknown_enum"
	// Converted is a value of another JSON type that means the same.
	Converted = "converted"
	// Rounded is an amount or instant with more digits than its column holds.
	Rounded = "rounded"
	// Zoneless is a time without a zone, taken as UTC.
	Zoneless = "zoneless"
	// InvalidUTF8 is text with bytes or escapes that are no characters; each
	// became U+FFFD.
	InvalidUTF8 = "invalid_utf8"
	// DuplicateField is a name that one object states twice; the last counts.
	DuplicateField = "duplicate_field"
	// Conflict is a second, different value for one column; the outer one stays in
	// the column, the other goes to extra. It is also a record that names another
	// parent than the one that it stands in; the column has the one that it names.
	Conflict = "conflict"
	// Duplicate is a record whose key another record of the body has. The one with more
	// values is staged, the later one of equals.
	Duplicate = "duplicate"
)

// Origin says which response a body is.
type Origin struct {
	// Seq numbers the responses of a night; later copies of a row win.
	Seq uint64
	// Param is the path parameter the body was asked with, if any. A record that
	// names another one is refused.
	Param string
	// Pass and Page are those of a list, from 1; 0 where there are none.
	Pass, Page int
}

// Table is a staged table: the schema's columns in order, then row_hash and
// seq.
type Table struct {
	Name   string
	Schema *arrow.Schema
}

// Batch holds rows of one table. Its memory is never reused by the decoder.
type Batch struct {
	Table  string
	Record arrow.RecordBatch
}

// Drift is drift with the place where it was first seen.
type Drift struct {
	stream.Drift
	First Place
	// Count is the number of records, as often as they were read.
	Count int64
}

// Place orders records by where they stand and not by the order of the answers: those
// of lists by page, those of details by the id that was asked for.
type Place struct {
	Param          string
	Page, Position int
	Seq            uint64
}

// Before reports whether a place comes before another.
func (p Place) Before(o Place) bool {
	return cmp.Or(strings.Compare(p.Param, o.Param), cmp.Compare(p.Page, o.Page), cmp.Compare(p.Position, o.Position), cmp.Compare(p.Seq, o.Seq)) < 0
}

// Findings are the rejects and the drift since Findings was last asked.
type Findings struct {
	Rejects []stream.Reject
	Drift   []Drift
	// Carriers are the records that showed drift, as often as they were read, and
	// Sets the indexes into Drift that they name.
	Carriers []stream.DriftCarrier
	Sets     [][]int
}
