// Package stream states every endpoint of the service once, as data: where it
// is, which scopes it needs, how its answer is wrapped, which records name its
// path parameter and which tables its records fill. It also reads the table
// definitions of the schema files, the other half of that statement.
//
// It must not know how a request is sent, how a record is decoded or where a
// table is stored: it imports nothing of this project.
package stream

import "slices"

// Envelope says how an answer wraps its records (spec section 4.1).
type Envelope int

const (
	// Sniffed is the zero value, for endpoints whose envelope the spec does
	// not show, marked "any" in spec 4.2: a paginated envelope, a bare array,
	// an object with records or a single object, told apart by their shape.
	Sniffed Envelope = iota
	// Paginated is the object of spec 4.1 with records and totals.
	Paginated
	// Object is one JSON object, which is the record.
	Object
	// Array is a bare JSON array of records.
	Array
	// Records is an object holding one list and no totals; Stream.List names
	// the list, "records" by default.
	Records
	// Raw is an object of no standard form; entries are recognised by their
	// fields.
	Raw
)

// Rule says which details of a stream may be carried forward from the last
// snapshot instead of being fetched again. docs/ARCHITECTURE.md has the reasons.
type Rule int

const (
	// EveryNight fetches all of them: lists, and what nothing vouches for.
	EveryNight Rule = iota
	// ByRow fetches a detail when its row in the list is new or changed.
	ByRow
	// WhileLive fetches a detail every night while its parent is live, since
	// the parent's row does not show the change.
	WhileLive
)

// Ref names a column of a table.
type Ref struct {
	Table  string
	Column string
	// Vouches says that the table's rows show every change of the detail that
	// they name: while they stay the same, the detail does.
	Vouches bool
	// Known is a table of main that tells Column where a row leaves it empty: its
	// KnownKey has the row's key, and its own Column the id. Empty: none does.
	Known, KnownKey string
}

// Life says what keeps a detail of a WhileLive stream worth asking for every
// night.
type Life int

const (
	// AsCampaign: its campaign changed lately or holds an article that is not
	// published yet.
	AsCampaign Life = iota + 1
	// AsArticle: its campaign is live, or it is not published yet itself.
	AsArticle
	// AsProfile: one of its campaigns is live, or it or an order of it changed
	// lately.
	AsProfile
)

// Table is one warehouse table that the records of a stream fill. Its columns
// are stated in schema/<name>.sql.
type Table struct {
	// Name is the table's name in main.
	Name string
	// At is the dotted path, inside a record, of the list or object whose
	// items are the rows. Empty: the record itself.
	At string
	// Key are the columns that identify a row.
	Key []string
	// Parents are the columns that take the key of the enclosing row, for
	// child tables. The enclosing row is the record, or the item of the
	// longest other At that is a prefix of this one.
	Parents []string
	// Value is the column that takes an item which is a bare string or number
	// where an object could stand ("name" of a tag).
	Value string
	// Const fills a column with a fixed text: the kind of a location.
	Const map[string]string
	// Named are columns of the enclosing row, the first that is filled of which
	// takes the place of the item's key where the spec lets that be absent.
	Named []string
	// ID is the column that takes the item's "id" where the table calls it
	// otherwise: the order_id of a profile's order. A field of the column's
	// own name wins.
	ID string
	// Unshown are columns of texts whose shape the spec does not show: an object is
	// as good, and extra takes what no column does.
	Unshown []string
	// Link tables only say what belongs to what: the other fields of their
	// records are described by another table, and are neither kept nor counted.
	Link bool
}

// Stream is one endpoint of the service as a source of records.
type Stream struct {
	// Name identifies the stream in configuration, logs and meta.streams.
	Name string
	// Path is relative to the base URL and holds at most one {parameter}.
	Path string
	// Query is the fixed part of the query string.
	Query string
	// Spec are the sections of the spec that this literal was read from.
	Spec string
	// Scopes are needed together (spec section 5). Nil: not shown, so the
	// stream is tried and a 403 skips it.
	Scopes []string
	// Envelope is how the answer wraps its records.
	Envelope Envelope
	// List is the name of the list in a Records envelope.
	List string
	// Parents are the columns whose values name the path parameter. Empty for
	// endpoints that have none, or whose parameter is the team id.
	Parents []Ref
	// Param is the column of the first table that holds the path parameter. A
	// record that leaves it empty takes it, but for the only record of an Object
	// answer, which must name it; one that names another is not what was asked for.
	Param string
	// OneOf are columns of the first table of which a record fills at least one,
	// where its key alone does not tell it from an answer that is none.
	OneOf []string
	// Rule says which details may be carried, and Life what those of WhileLive
	// live by. An event about what a detail lives by has it read again, by
	// whatever rule.
	Rule Rule
	Life Life
	// Witness names a table whose rows show that an id has entries, so that an empty
	// object in their place is no answer. Zero: nothing shows it.
	Witness Ref
	// Over names the stream whose rows this one completes: both fill the same
	// first table and neither overwrites the other with its emptiness.
	Over string
	// Topics are the webhook topics whose bodies are the records. Such a stream
	// has no path.
	Topics []string
	// Like names a table that describes the same things: what is private in its
	// columns is private in those of the same name here.
	Like string
	// Tables are filled by the records. The first holds a record's own row.
	Tables []Table
}

// Root is the table of a record's own row.
func (s Stream) Root() Table { return s.Tables[0] }

// IsDetail reports whether the stream is asked once per id that other records
// name, rather than walked as one list.
func (s Stream) IsDetail() bool { return len(s.Parents) > 0 }

// Find returns the stream of that name among streams.
func Find(streams []Stream, name string) (Stream, bool) {
	i := slices.IndexFunc(streams, func(s Stream) bool { return s.Name == name })
	if i < 0 {
		return Stream{}, false
	}
	return streams[i], true
}

// Feeding returns the names of the streams that fill a table.
func Feeding(streams []Stream, table string) []string {
	var names []string
	for _, s := range streams {
		if slices.ContainsFunc(s.Tables, func(t Table) bool { return t.Name == table }) {
			names = append(names, s.Name)
		}
	}
	return names
}

// NamesDetails reports whether the values of a column name what a stream of
// details is asked for.
func NamesDetails(table, column string) bool {
	return slices.ContainsFunc(All(), func(s Stream) bool {
		return slices.ContainsFunc(s.Parents, func(r Ref) bool { return r.Table == table && r.Column == column })
	})
}

// Tables lists every table that the streams fill, each once, in the order in
// which the streams state them.
func Tables(streams []Stream) []Table {
	var all []Table
	for _, s := range streams {
		for _, t := range s.Tables {
			if !slices.ContainsFunc(all, func(o Table) bool { return o.Name == t.Name }) {
				all = append(all, t)
			}
		}
	}
	return all
}

// Enums gives, per column name, the values that spec 2.7 lists.
// Other values are kept and counted: the lists are open.
func Enums() map[string][]string {
	return map[string][]string{
		"channel_type": {"WEBSITE", "NEWSLETTER", "PHOTO_SOCIAL", "PROFESSIONAL_SOCIAL",
			"VIDEO_SHARING", "SHORT_VIDEO", "MICROBLOG", "PODCAST", "OTHER"},
		"placement_type": {"FULL_FEATURE", "PRESS_RELEASE", "MENTION", "QUOTE", "LISTICLE"},
		"token_type":     {"full_access", "custom", "read_only"},
	}
}
