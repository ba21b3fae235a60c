// Package transform decodes the JSON bodies of the service into Arrow record batches, one
// per table of the stream. Decoding is exact: amounts and integers are computed from their
// digits, times become UTC instants, unknown fields are kept, and values that do not fit
// their column are kept unchanged with a reason.
//
// Amounts are rounded half away from zero into DECIMAL(18,6), without floats. A value that does not fit is NULL
// and kept in meta.rejects.
//
// The package is pure: no I/O, no clock, no cgo. It must not know the source of a body, the use of a
// batch or the storage of tables. It imports no other package of this project than stream.
package transform

import (
	"cmp"
	"errors"

	"placementsync/internal/stream"

	"github.com/apache/arrow-go/v18/arrow"
)

// ErrMalformed means that a body is not JSON, or contains no recognizable records. The
// whole body is discarded.
var ErrMalformed = errors.New("body discarded")

// ErrFull means that the body and the rows kept so far exceed the size of a batch: flush
// and decode the body again. The whole body was discarded.
var ErrFull = errors.New("decoder is full")

// Kinds of drift.
const (
	// UnknownField is a field without a column. It is kept in extra.
	UnknownField = "unknown_field"
	// UnknownEnum is a value that the spec does not list.
	UnknownEnum = "unknown_enum"
	// Converted is a value of another JSON type with the same meaning.
	Converted = "converted"
	// Rounded is an amount or instant with more digits than its column has.
	Rounded = "rounded"
	// Zoneless is a time without a zone, read as UTC.
	Zoneless = "zoneless"
	// InvalidUTF8 is text with invalid bytes or escapes, each of which was replaced by U+FFFD.
	InvalidUTF8 = "invalid_utf8"
	// DuplicateField is a name that occurs twice in an object. The last value is used.
	DuplicateField = "duplicate_field"
	// Conflict is a second, different value for one column. The first value is stored in the
	// column, the second in extra. Conflict is also a nested record that names another parent
	// than the enclosing record. The named parent is stored.
	Conflict = "conflict"
	// Duplicate is a record with the same key as another record of the body. The record with more
	// values is staged. If both have the same number of values, the later record is staged.
	Duplicate = "duplicate"
)

// Origin identifies the response to which a body belongs.
type Origin struct {
	// Seq is the number of the response in its night. Later copies of a row replace earlier ones.
	Seq uint64
	// Param is the path parameter of the request, or empty. A record with a different parameter
	// is rejected.
	Param string
	// Team is the configured team, or empty. It fills Stream.TeamColumn.
	Team string
	// Pass and Page are counted from 1. They are 0 for a response that is no page of a list.
	Pass, Page int
}

// Batch contains rows of one table: the columns of the schema file in their order, then row_hash and seq. The
// decoder never reuses the memory of a batch.
type Batch struct {
	Table string
	Rows  arrow.RecordBatch
}

// Drift is a stream.Drift with the first place at which it occurs.
type Drift struct {
	stream.Drift
	First Place
	// Count is the number of records with this drift. A record that is read twice counts twice.
	Count int64
}

// Place is the position of a record in the responses of a stream. Places are compared by path parameter,
// page and position in the body, and only then by the order of the responses.
type Place struct {
	Param          string
	Page, Position int
	Seq            uint64
}

func (p Place) Before(o Place) bool {
	return cmp.Or(cmp.Compare(p.Param, o.Param), cmp.Compare(p.Page, o.Page), cmp.Compare(p.Position, o.Position), cmp.Compare(p.Seq, o.Seq)) < 0
}

// Findings are the rejects and the drift since the last call of Decoder.Findings.
type Findings struct {
	Rejects []stream.Reject
	Drift   []Drift
	// DriftRecords has one element for each record and each of its drifts. A record that is read twice
	// counts twice. DriftIndex is an index into Drift.
	DriftRecords []stream.DriftRecord
}
