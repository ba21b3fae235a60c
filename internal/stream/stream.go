// Package stream states every endpoint of the service once, as data: where it
// is, which scopes it needs, how its answer is wrapped, which records name its
// path parameter and which tables its records fill. It also reads the table
// definitions of the schema files, the other half of that statement.
//
// It must not know how a request is sent, how a record is decoded or where a
// table is stored: it imports nothing of this project.
package stream

import "slices"

// Envelope says how an answer wraps its records (spec 4.1).
type Envelope int

const (
	// Sniffed is the zero value, for endpoints whose envelope the spec does
	// not show, marked "any" in spec 4.2: a paginated envelope, a bare array, an
	// object with records or a single object. The decoder tells them apart by shape.
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
// snapshot instead of being fetched again.
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

// Ref names a column whose values are ids.
type Ref struct {
	// Table and Column name it, as in main.
	Table  string
	Column string
	// Vouches says that the row shows columns of the detail that it names: the detail
	// is fetched when the row is new or changed. A row that stays the same proves only
	// the columns that it shows. False: it shows none.
	Vouches bool
	// Known names a table of main that holds the id of a row whose Column is empty:
	// its column KnownKey has the row's key, its own Column the id. Empty: none.
	Known, KnownKey string
}

// Lists reports whether a row of the table is, or shows, the record that its column
// names, and does not just refer to it: while the service answers such a row, the record
// exists.
func (r Ref) Lists() bool { return r.Vouches || r.Column == "id" }

// Life says how long a detail of a WhileLive stream is fetched every night.
type Life int

const (
	// AsCampaign: while its campaign changed lately or holds an article that is not
	// published yet.
	AsCampaign Life = iota + 1
	// AsArticle: while its campaign is live, or it is not published yet itself.
	AsArticle
	// AsProfile: while one of its campaigns is live, or it or an order of it changed
	// lately.
	AsProfile
)

// Table is one table that the records of a stream fill. Its columns are stated in
// schema/<name>.sql.
type Table struct {
	// Name is the table's name in main.
	Name string
	// At is the dotted path, inside a record, of the list or object whose items are
	// the rows. Empty: the record itself.
	At string
	// Key are the columns that identify a row, at least one.
	Key []string
	// Parents are the columns that take the key of the enclosing row, in the order of
	// its key. The enclosing row is the record, or the item of the longest other At
	// that is a prefix of this one. Nil: the table has the records themselves.
	Parents []string
	// Value is the column that takes an item which is a bare string or number where an
	// object could stand ("name" of a tag). Empty: such an item is refused.
	Value string
	// Const fills columns with fixed texts: the kind of a location. Nil: none.
	Const map[string]string
	// Named are columns of the enclosing row for items without a key of their own (spec
	// 2.5): the first that is filled takes its place. Nil: such an item is refused.
	Named []string
	// ID is the column that takes the item's "id" where the table calls it
	// otherwise: the order_id of a profile's order. A field of the column's own name
	// wins. Empty: "id" fills the column "id".
	ID string
	// Unshown are text columns whose shape the spec does not show: an object is no
	// error, and its fields without a column go to extra. Nil: none.
	Unshown []string
	// Link tables only say what belongs to what: the other fields of their records are
	// described by another table, and are neither stored nor counted as drift.
	Link bool
}

// Stream is one endpoint of the service as a source of records.
type Stream struct {
	// Name identifies the stream in configuration, logs and meta.streams.
	Name string
	// Path is relative to the base URL and holds at most one {parameter}. Empty for
	// events.
	Path string
	// Query is the fixed part of the query string, escaped. Empty: none.
	Query string
	// Spec names the sections of docs/service.md that this literal follows.
	Spec string
	// Scopes are needed together (spec 5). Nil: the spec shows none; the stream is
	// tried, and a 403 skips it.
	Scopes []string
	// Envelope says how an answer wraps its records. Zero: Sniffed.
	Envelope Envelope
	// List is the name of the list in the answer. Empty: "records".
	List string
	// Parents are the columns whose values fill the path parameter. Nil: the path has
	// none, or it is the team id.
	Parents []Ref
	// Param is the column of the first table that holds the path parameter. A record
	// that leaves it empty gets the parameter; the only record of an Object answer must
	// state it. A record that states another one is refused. Empty: none.
	Param string
	// OneOf are columns of the first table of which a record fills at least one, where
	// its key alone does not tell it from an error. Nil: the key does.
	OneOf []string
	// Rule says which details may be carried forward, and Life how long those of
	// WhileLive are fetched. An event about a detail makes it fetched, whatever the
	// rule. Zero: every detail is fetched every night.
	Rule Rule
	Life Life
	// Witness names a column whose values are ids that have entries: for such an id an
	// empty object is no answer. Zero: none.
	Witness Ref
	// Over names the stream whose rows this one completes: both fill the same first
	// table, and neither overwrites a value of the other with NULL. Empty: none.
	Over string
	// Beyond names the tables with a column that the list of Over does not show, such as
	// the unknown fields of the detail. While a detail is carried, its rows in these
	// tables are as old as the last reading, whatever the list shows. Nil where Over is
	// empty.
	Beyond []string
	// Topics are the webhook topics whose bodies are the records (spec 6.1). Nil: the
	// stream has a path.
	Topics []string
	// Like names a table that describes the same kind of record: what is private in its
	// columns is private in those of the same name here. Empty: none.
	Like string
	// Tables are filled by the records, the first by each record itself. At least one.
	Tables []Table
	// Shows lists what the records show of other tables, for the privacy of values that
	// no column here takes. Nil: nothing.
	Shows []Shown
}

// Root is the table of a record's own row.
func (s Stream) Root() Table { return s.Tables[0] }

// IsDetail reports whether the stream is asked once for each id that other records
// name, and not walked as one list.
func (s Stream) IsDetail() bool { return len(s.Parents) > 0 }

// IsEvents reports whether the stream's records are webhook events.
func (s Stream) IsEvents() bool { return len(s.Topics) > 0 }

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

// NamesDetails reports whether details of some stream are asked for by the values of a
// column.
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

// Enums gives, per column name, the values that the spec lists (spec 2.7).
// Other values are stored and counted as drift: the lists are open.
func Enums() map[string][]string {
	return map[string][]string{
		"channel_type": {"WEBSITE", "NEWSLETTER", "PHOTO_SOCIAL", "PROFESSIONAL_SOCIAL",
			"VIDEO_SHARING", "SHORT_VIDEO", "MICROBLOG", "PODCAST", "OTHER"},
		"placement_type": {"FULL_FEATURE", "PRESS_RELEASE", "MENTION", "QUOTE", "LISTICLE"},
		"token_type":     {"full_access", "custom", "read_only"},
	}
}
