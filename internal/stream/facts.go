package stream

import "time"

// PageFacts are the facts about one response body that the proof of completeness needs.
// transform extracts them, fetch evaluates them. The zero value is a bare array without
// records.
type PageFacts struct {
	// Records counts the records of the body, including rejected ones.
	Records int
	// IDs are 64-bit hashes of the keys of the accepted records, in body order, without
	// duplicates.
	IDs []uint64
	// RejectedRecords counts the records that were rejected whole, including nested ones. Their
	// keys are unknown, so the absence of a row proves nothing.
	RejectedRecords int
	// Rejects counts all rejects, including single values.
	Rejects int
	// Copies counts the records whose key occurs earlier in the same body. A response shows
	// one state of the service, so these are no sign of a change.
	Copies int
	// Bare means that the body of a stream with the envelope Raw is an empty object. It may
	// be an empty map of entries, or no valid response.
	Bare bool
	// Paginated means that the body has a pagination member of spec 4.1. Otherwise the next
	// three fields are ignored.
	Paginated bool
	// Total and TotalPages are total_records and total_pages; -1 means absent or null.
	Total, TotalPages int64
	// Next is next_page. 0 means null: this is the last page. -1 means absent, which proves
	// nothing.
	Next int64
	// First and Last are created_at of the first and last accepted record. Zero means
	// absent.
	First, Last time.Time
	// Falling means that all accepted records have created_at, in non-ascending order.
	Falling bool
	// Falls counts the neighbours with strictly descending created_at.
	Falls int
}

// Fingerprint returns a hash of the keys, independent of their order. It is equal for
// bodies with the same records.
func (p PageFacts) Fingerprint() uint64 {
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
	Key string
	// Parent is the key of the enclosing row, or the path parameter of a list.
	Parent string
	// Column is the dotted path of the field. It is empty for a whole item.
	Column string
	// Raw is the original JSON, with invalid UTF-8 replaced.
	Raw    string
	Reason string
	// Seq is the sequence number of the response.
	Seq uint64
	// Pass and Page are 0 for a response that is no page of a list. Position is the place
	// of the record in the body, counted from 1. A record that is rejected in several
	// passes counts once.
	Pass, Page, Position int
	// Answer is equal for responses to the same request with the same records, since a
	// service without paging repeats them.
	Answer uint64
}

// Drift is an unknown field or value, or a value that was converted. Each unlisted value of
// an enumeration has its own path, followed by an equals sign and the value.
type Drift struct {
	Table string
	// Path is the dotted path within the row's object. Members of the envelope are below
	// "$envelope.".
	Path string
	Kind string
	// Sample is the beginning of the first value. Key is the key of its record.
	Sample, Key string
}

// DriftCarrier links a record to its drift. There is one for each reading of the record.
// Set is an index into the sets of drift. Record is the hash of the record's key, or of the
// request if the drift is in the envelope.
type DriftCarrier struct {
	Set    int
	Record uint64
}

// Event is one webhook delivery (spec 6.2) in the inbox.
type Event struct {
	// ID identifies the event: the event id of the envelope, or a hash if that is missing
	// or cannot be stored.
	ID string `json:"id"`
	// Topic and Source are taken from the envelope and may be empty. Unknown topics are
	// accepted: subscriptions to all events also get topics added later.
	Topic  string `json:"topic,omitempty"`
	Source string `json:"source,omitempty"`
	// Sent is the timestamp of the envelope, unparsed. The signature does not cover it, or
	// any other header (spec 6.4).
	Sent string `json:"sent,omitempty"`
	// Received is when the delivery arrived.
	Received time.Time `json:"received"`
	// Body contains the signed bytes.
	Body []byte `json:"body"`
	// Seq is the position of the event in the inbox, counted from 1. It is 0 for an event
	// that was not read from there.
	Seq uint64 `json:"-"`
}

// The columns of rows that are not in their schema file. RowHash and Seq are in staging
// tables, the others in the catalog.
const (
	// RowHash is a 64-bit hash of the row's values.
	RowHash = "row_hash"
	// Seq numbers the records of a night in the order in which their responses were stored.
	// Rows of the same record share it. The copy of a row with the highest Seq wins.
	Seq = "seq"
	// ValidFrom (inclusive) and ValidTo (exclusive) bound the validity of a version of a
	// row.
	ValidFrom = "valid_from"
	ValidTo   = "valid_to"
)

// SameTable is the staging table for unchanged records of a list: their key and Seq, one
// row for each occurrence. No table in schema/ has a "$" in its name.
const SameTable = "$same"

// MixBits spreads a hash over all bits with the finalizer of MurmurHash3: sums of plain
// hashes of similar keys collide. Stored row hashes depend on it, so it must never change.
func MixBits(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
