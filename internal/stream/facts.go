package stream

import "time"

// PageFacts are the facts of one response body, as evidence that a list was read completely. Package
// transform extracts them, and package fetch evaluates them. The zero value describes an empty array.
type PageFacts struct {
	Records int // all records of the body, including the rejected ones
	// IDs are 64-bit hashes of the keys of the accepted records, in body order, without
	// duplicates.
	IDs []uint64
	// RejectedRecords is the number of records, and of items of their lists, that were rejected as a whole.
	// Their keys are unknown, so it is unknown which rows are missing. RecordsWithoutID leaves out the items.
	RejectedRecords int
	Rejects         int // number of rejected records, items and values
	// Copies counts the records whose key occurs earlier in the same body. They do not mean that
	// the list changed while it was read, because a response shows one state of the service.
	Copies int
	// IsDoubtful is true if the response may be a failure: a list without items, status counts without content, or
	// an empty body in all attempts.
	IsDoubtful bool
	// Paginated means that the body has a pagination member of spec 4.1. Otherwise Total,
	// TotalPages and Next are ignored.
	Paginated bool
	// Total and TotalPages are total_records and total_pages; -1 means absent or null.
	Total, TotalPages int64
	// Next is next_page. 0 means null: this is the last page. -1 means absent: whether another
	// page follows is unknown.
	Next          int64
	First, Last   time.Time // created_at of the first and last accepted record, or zero
	IsNewestFirst bool      // all accepted records have created_at, in non-ascending order
	Falls         int       // number of records with an earlier created_at than the previous record
}

// RecordsWithoutID is the number of records whose key is unknown, because they were rejected as a whole.
func (p PageFacts) RecordsWithoutID() int { return p.Records - p.Copies - len(p.IDs) }

// KeySum returns a hash of the keys and of the number of records. It does not depend on the order
// of the keys.
func (p PageFacts) KeySum() uint64 {
	sum := uint64(p.Records)
	for _, id := range p.IDs {
		sum += MixBits(id)
	}
	return sum
}

// Reject is a rejected value, item or record, with its original JSON and the reason.
type Reject struct {
	Stream, Table string
	// Key is the key of the row, its parts joined by "/", or the requested id. It is empty
	// if the key cannot be read.
	Key    string
	Parent string // key of the enclosing row, or path parameter of a list
	Column string // dotted path of the field; empty for a whole item
	Raw    string // original JSON, with invalid UTF-8 replaced
	Reason string
	Seq    uint64 // of the response
	// Pass and Page are 0 if the response is not a page of a list. Position is the position of
	// the record in the body, counted from 1. A record that is rejected in several passes
	// counts once.
	Pass, Page, Position int
	// ResponseHash is a hash of the path parameter and of the keys in the response. A service without
	// paging returns the same records for every page; equal hashes identify such repeated responses.
	ResponseHash uint64
}

// Drift is an unknown field or value, or a value that was converted. Each unknown value of an
// enumeration is a separate Drift. Its Path ends with an equals sign and the value. An empty text that
// becomes NULL is counted twice: as a converted value, and with a Path that ends with an equals sign.
type Drift struct {
	Table string
	// Path is the dotted path within the row's object. Members of the envelope are below
	// "$envelope.".
	Path string
	Kind string
	// Sample is the beginning of the first value. Key is the key of its record.
	Sample, Key string
}

// DriftRecord is a record with drift. A record that is read several times occurs several times.
type DriftRecord struct {
	// DriftIndex is an index into transform.Findings.Drift. Package pipeline converts it to an index into the drift
	// of the night.
	DriftIndex int
	Record     uint64 // hash of the record's key, or of the request if the drift is in the envelope
}

// Event is one webhook delivery (spec 6.2).
type Event struct {
	// ID identifies the event: the event id of the envelope, or a hash if this id is
	// missing or cannot be stored.
	ID string `json:"id"`
	// Topic and Source are taken from the envelope and may be empty. Unknown topics are accepted,
	// because a subscription to all events includes topics that the service adds later.
	Topic  string `json:"topic,omitempty"`
	Source string `json:"source,omitempty"`
	// Sent is the timestamp of the envelope. Unix seconds and milliseconds are converted to RFC 3339. Other texts
	// are kept unchecked. The signature covers neither the timestamp nor any other header (spec 6.4).
	Sent     string    `json:"sent,omitempty"`
	Received time.Time `json:"received"`
	Body     []byte    `json:"body"` // of the delivery, unpacked and converted to UTF-8 as its headers declare
	// Seq is the position of the event in the inbox, counted from 1. It is 0 if the event was not
	// read from the inbox.
	Seq uint64 `json:"-"`
}

// Columns that are not in schema files. Staging tables have RowHash and Seq. Tables of the catalog
// have RowHash and ValidFrom, and ValidTo if they contain past versions.
const (
	// RowHash is a 64-bit hash of the row's values.
	RowHash = "row_hash"
	// Seq numbers the records of a night in the order in which their responses were stored.
	// All rows of a record have the same Seq. Of several copies of a row, the one with the
	// highest Seq is used.
	Seq = "seq"
	// ValidFrom (inclusive) and ValidTo (exclusive) are the period in which a version of a row
	// was current.
	ValidFrom = "valid_from"
	ValidTo   = "valid_to"
)

// RecordCopy is a decoded copy of a stored record of a list.
type RecordCopy struct {
	Record int // number of the stored record
	Seq    uint64
	// IsUnchanged means that the rows of the copy equal the stored rows, and are not staged.
	IsUnchanged bool
}

// RowSum returns the summand of one row. The sum over all rows of a record identifies them: the sums of different
// rows differ, except by chance. table is the index of the row's table in the stream.
func RowSum(table int, rowHash uint64) uint64 { return MixBits(rowHash + uint64(table)) }

// Position is the column of a child table that numbers the items of a list.
const Position = "position"

// PositionHash is the summand of the column position in a row's fingerprint. Subtract it to compare items regardless
// of their order. The constant is the seed of the column.
func PositionHash(position int64) uint64 { return MixBits(uint64(position) ^ 0x19874e1f93dd7c60) }

// MixBits spreads a hash over all bits with the finalizer of MurmurHash3. Without it, sums of
// hashes of similar keys would collide. Stored row hashes depend on MixBits, so it must never
// change.
func MixBits(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
