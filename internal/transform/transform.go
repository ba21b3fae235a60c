// Package transform turns the JSON bodies of the service into Arrow record
// batches, one per table of the stream, exactly: money and integers from the
// digits of the text, times as UTC instants, unknown fields kept, and a value
// that does not fit kept raw beside a reason.
//
// It is pure: no I/O, no clock, no cgo. It must not know where a body came
// from, where a batch goes or how a table is stored; it imports the stream
// literals and table definitions, and nothing else of this project.
package transform

import (
	"cmp"
	"errors"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// ErrMalformed says that a body is not JSON, or not JSON of a shape in which
// records can be recognised. Nothing of such a body is kept.
var ErrMalformed = errors.New("malformed body")

// ErrFull says that a body does not fit beside the rows already held: flush
// and decode it again. Nothing of the body is kept.
var ErrFull = errors.New("decoder is full")

// Names of the two system columns that end every staged row.
const (
	// HashColumn is the fingerprint of a row's tracked values.
	HashColumn = "row_hash"
	// SeqColumn orders copies of a row; all rows of one record share it.
	SeqColumn = "seq"
)

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
	// Conflict is a second, different value for one column; the outer one
	// stays in the column, the other goes to extra. Or the record names another
	// parent than the one that it stands in: what it names stays.
	Conflict = "conflict"
	// Duplicate is a record that came twice in one body; the fuller one is staged,
	// of two that hold as much the later.
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

// Page is what a walk needs to know of one body.
type Page struct {
	// Records counts the records of the body, rejected ones included.
	Records int
	// IDs are hashes of the keys of the accepted records, in body order. The
	// slice is reused by the next Decode.
	IDs []uint64
	// Refused counts the records that were refused whole, those inside other
	// records included: each is a row that its table lacks.
	Refused int
	// Copies counts the records that came again in this body with the same key.
	// One of them is staged, and IDs holds its key once.
	Copies int
	// Bare says that the body is an empty object where entries have no standard
	// form: it may be an empty map as well as no answer, and proves no absence.
	Bare bool
	// Total, TotalPages, Current and Next are the pagination members of
	// spec 4.1; -1 when absent or null. A next_page of null is 0 instead:
	// it says that this is the last page, and absence says nothing.
	Total, TotalPages, Current, Next int64
	// Paginated says that at least one pagination member was there.
	Paginated bool
	// First and Last are created_at of the first and last accepted record;
	// zero when it is not given.
	First, Last time.Time
	// Falling says that every accepted record has a created_at and that it
	// never rises along the body.
	Falling bool
	// Falls counts neighbours whose created_at truly falls: ties show no order.
	Falls int
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

// Reject is a value, item or record that did not fit, kept raw.
type Reject struct {
	Table string
	// Key is the key of the row, parts joined by "/", or of the record that was
	// asked for; empty where it cannot be read.
	Key string
	// Parent is the key of the row around it, or the path parameter of a list.
	Parent string
	// Column is the dotted path of the field; empty for a whole item.
	Column string
	// Raw is the JSON text as it was sent, invalid UTF-8 replaced.
	Raw    string
	Reason string
	Seq    uint64
	// Pass and Page are those of the list, 0 where there are none, and Position
	// is the place of the record in the body, from 1.
	Pass, Page, Position int
	// Answer is the same for answers to one question that hold the same records:
	// a service that does not page repeats itself.
	Answer uint64
	// open says that the key follows when the row is closed.
	open bool
}

// Drift counts one kind of surprise at one path of a table. A value that is not
// listed has a path of its own, with the value behind an equals sign.
type Drift struct {
	Table string
	// Path is the dotted path within the row's object. Envelope members stand
	// under "$envelope.".
	Path string
	Kind string
	// Sample is the start of the first value seen, and Key that of the record that
	// had it, which stands at First.
	Sample, Key string
	First       Place
	// Count is the number of records, as often as they were read.
	Count int64
}

// Place orders records by where they stand, whichever answer came first: those of
// lists by page, those of details by the id that was asked for.
type Place struct {
	Param          string
	Page, Position int
	Seq            uint64
}

// Before reports whether a place comes before another.
func (p Place) Before(o Place) bool {
	return cmp.Or(strings.Compare(p.Param, o.Param), cmp.Compare(p.Page, o.Page), cmp.Compare(p.Position, o.Position), cmp.Compare(p.Seq, o.Seq)) < 0
}

// Carrier says what drift a record showed: Set is an index into Findings.Sets, and
// Record the hash of its key, or of the question for what stands around records.
type Carrier struct {
	Set    int
	Record uint64
}

// Findings are the rejects and the drift since Findings was last asked.
type Findings struct {
	Rejects []Reject
	Drift   []Drift
	// Carriers are the records that showed drift, as often as they were read, and
	// Sets the indexes into Drift that they name.
	Carriers []Carrier
	Sets     [][]int
}
