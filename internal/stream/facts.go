package stream

import "time"

// Page is what one body says, without its records: what the proof of completeness
// needs. transform fills it, fetch judges it. The zero value is a bare list without
// records.
type Page struct {
	// Records counts the records of the body, rejected ones included.
	Records int
	// IDs are 64-bit hashes of the keys of the accepted records, in body order, each
	// once.
	IDs []uint64
	// Refused counts the records that were refused whole, those inside other records
	// included. Which rows they would have been is not known, so that the absence of
	// any row proves nothing.
	Refused int
	// Rejects counts all that was rejected, single values included.
	Rejects int
	// Copies counts the records whose key another record of this body has. One answer
	// shows one state of the service, so that they are no movement.
	Copies int
	// Bare says that the body is an empty object where entries have no standard form:
	// an empty map or no answer at all.
	Bare bool
	// Paginated says that a pagination member of spec 4.1 was there. Without one the
	// next three fields count as absent.
	Paginated bool
	// Total and TotalPages are total_records and total_pages; -1: absent or null.
	Total, TotalPages int64
	// Next is next_page; 0: null, which says that this is the last page; -1: absent,
	// which says nothing.
	Next int64
	// First and Last are created_at of the first and last accepted record; zero where
	// it is not given.
	First, Last time.Time
	// Falling says that every accepted record has created_at and that it never rises
	// from one record to the next.
	Falling bool
	// Falls counts neighbours whose created_at truly falls: ties show no order.
	Falls int
}

// Fingerprint sums up the keys of the body in any order: it is equal for answers that
// hold the same records.
func (p Page) Fingerprint() uint64 {
	sum := uint64(p.Records)
	for _, id := range p.IDs {
		sum += MixBits(id)
	}
	return sum
}

// Reject is a value, an item or a record that did not fit, kept raw with the reason.
type Reject struct {
	Stream, Table string
	// Key is the key of the row, its parts joined by "/", or of the record that was
	// asked for; empty where it cannot be read.
	Key string
	// Parent is the key of the row around it, or the path parameter of a list.
	Parent string
	// Column is the dotted path of the field; empty for a whole item.
	Column string
	// Raw is the JSON text as it was sent, invalid UTF-8 replaced.
	Raw    string
	Reason string
	// Seq is the number of the response.
	Seq uint64
	// Pass and Page are those of the list, 0 where there are none, and Position is the
	// place of the record in the body, from 1. A list is read in passes: what two of
	// them refuse was refused once.
	Pass, Page, Position int
	// Answer is the same for answers to one question that hold the same records: a
	// service that does not page repeats itself.
	Answer uint64
}

// Drift is a field or value that the schema does not know or that was converted. A
// value that is not listed has a path of its own, with the value behind an equals
// sign.
type Drift struct {
	Table string
	// Path is the dotted path within the row's object. Envelope members stand under
	// "$envelope.".
	Path string
	Kind string
	// Sample is the start of the first value seen, Key the key of its record.
	Sample, Key string
}

// DriftCarrier is a record that showed drift, once for each time it was read: Set is
// an index into the sets of drift, Record the hash of the record's key, or of the
// question for what stands around records.
type DriftCarrier struct {
	Set    int
	Record uint64
}

// Event is one webhook delivery (spec 6.2) as the inbox keeps it.
type Event struct {
	// ID identifies the event: the event id of the envelope, or a hash in its place
	// where the envelope has none that can be stored.
	ID string `json:"id"`
	// Topic and Source are those of the envelope, empty when it has none. Unknown
	// topics are accepted: an all-events subscription gets those that are added later.
	Topic  string `json:"topic,omitempty"`
	Source string `json:"source,omitempty"`
	// Sent is the envelope's timestamp as it was sent. The signature does not cover it,
	// nor any other header (spec 6.4).
	Sent string `json:"sent,omitempty"`
	// Received is when the delivery arrived.
	Received time.Time `json:"received"`
	// Body are the signed bytes.
	Body []byte `json:"body"`
	// Seq is the place of the event in the inbox, from 1; 0 until it is read from there.
	Seq uint64 `json:"-"`
}

// The columns that rows have besides those of their schema file. The first two are
// staged, the others stand in the catalog.
const (
	// RowHash is a 64-bit fingerprint of the row's values.
	RowHash = "row_hash"
	// Seq numbers the records of a night in the order in which their answers landed;
	// rows inside a record share it. The copy with the highest one wins.
	Seq = "seq"
	// ValidFrom and ValidTo bound the time of a version of a row: inclusive, exclusive.
	ValidFrom = "valid_from"
	ValidTo   = "valid_to"
)

// SameTable has the records of a list that a decoder found to be known, as often as they
// came: their key and seq. "$" stands in the name of no table in schema/.
const SameTable = "$same"

// MixBits spreads a hash over all bits, by the finaliser of MurmurHash3: sums of plain
// hashes of similar keys collide. Row hashes are made with it: it must never change.
func MixBits(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
