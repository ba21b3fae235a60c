// Package stream defines every endpoint of the service once, as data: its path, scopes and
// envelope, the columns with the values of its path parameter, and the tables that its records
// fill. It also parses the table definitions of the schema files.
//
// The package must not know how requests are sent, how records are decoded or how tables are stored. It
// imports no other package of this project.
package stream

import (
	"slices"
	"strings"
)

// Envelope is the way in which a response wraps its records (spec 4.1).
type Envelope int

const (
	// Sniffed is the zero value, for endpoints whose envelope the spec does not show ("any"
	// in spec 4.2): a paginated envelope, a bare array, an object with records or a single
	// object. The decoder detects the shape.
	Sniffed   Envelope = iota
	Paginated          // the object of spec 4.1 with records and totals
	Object             // one JSON object, the record
	Array              // a bare JSON array of records
	Records            // an object with one list, whose name is Stream.List, and no totals
	// StatusCounts is an object with status counts, whose form is not documented. The decoder recognizes
	// status counts by their fields.
	StatusCounts
)

// Rule decides which details of a stream are carried forward instead of being requested again.
type Rule int

const (
	EveryNight Rule = iota // the rule of lists
	// ByRow requests a detail if a row that shows its changes is new or changed (see IDColumn.ShowsChanges).
	ByRow
	// WhileLive requests a detail every night while it is live (see LiveWith), because the row that
	// names the detail does not change with it.
	WhileLive
)

// IDColumn names a column that contains ids.
type IDColumn struct {
	Table, Column string
	// ShowsChanges means that rows of Table contain some columns of the named detail. The detail
	// is requested if the row is new or changed. An unchanged row proves only that these columns
	// of the detail are unchanged.
	ShowsChanges bool
	// Unrelated are child tables of Table whose rows contain no column of the detail.
	Unrelated []string
	// Lookup is a table of main that also has Column. If Column is empty in a row of Table, the id
	// is read from the row of Lookup whose LookupKey equals the key of the row of Table. If Lookup
	// is empty, a row with an empty Column names no id.
	Lookup, LookupKey string
	// IfUnread names a stream. The column is used only in nights that did not read this stream. Empty means every night.
	IfUnread string
}

// ShowsRecord reports whether a row of Table shows the record that Column names: the row is the record or
// contains fields of it. If so, the record exists while a list contains the row. Otherwise the row only
// refers to the record, and the record may be deleted.
func (r IDColumn) ShowsRecord() bool { return r.ShowsChanges || r.Column == "id" }

// LiveWith is the kind of record that decides how long a detail is live, and which details an event or a
// refresh requests. 0 means that no detail is live, and that no event or refresh requests one.
type LiveWith int

const (
	// LiveWithCampaign details are live if their campaign changed recently or has an unpublished
	// article.
	LiveWithCampaign LiveWith = iota + 1
	// LiveWithArticle details are live if the campaign of the article is live or the article is
	// unpublished.
	LiveWithArticle
	// LiveWithProfile details are live if a campaign of the profile is live, or if the profile or one
	// of its orders changed recently.
	LiveWithProfile
)

// Table is a table that the records of a stream fill. Its columns are in schema/<name>.sql.
type Table struct {
	Name string
	// At is the dotted path, inside a record, of the list or object whose items are the
	// rows. Empty means the record itself.
	At  string
	Key []string // not empty
	// Parents are the columns for the key of the enclosing row, in the order of its key. If the
	// At of another table is a prefix of this At, the enclosing row is in that table; the longest
	// prefix counts. Otherwise the record is the enclosing row. Nil means that the rows are the
	// records.
	Parents []string
	// Value is the column for items that are strings or numbers instead of objects, such as the
	// name of a tag. Empty means that strings and numbers are rejected.
	Value string
	Const map[string]string // fixed values of columns, such as the kind of a location
	// KeyFrom are columns of the enclosing row that replace a missing key of an item (spec
	// 2.5). The first one with a value is used. Nil means that items without a key are rejected.
	KeyFrom []string
	// ID is the column for the field "id" of an item, such as order_id for an order of a profile.
	// If the item also has a field with the name of the column, that field is used. Empty means
	// the column "id".
	ID string
	// FreeForm are text columns whose JSON form the spec does not show. Objects are accepted.
	// Their fields without a column are stored in the column extra.
	FreeForm []string
	// UnwrapText are JSON columns for lists or objects. A text that contains one is stored as the list or object; another text is stored as a text.
	UnwrapText []string
	// Link means that the table contains only keys. The other fields of its records belong to
	// another table, so they are neither stored here nor counted as drift.
	Link bool
}

// Stream is one endpoint of the service as a source of records.
type Stream struct {
	Name string // in configuration, logs and meta.streams
	// Path is relative to the base URL and has at most one {parameter}. It is empty for events.
	Path  string
	Query string // the fixed part of the query string, escaped
	// Sorts means that the list accepts sort_by and order_by (spec 4.1), and that its records have created_at.
	Sorts bool
	Spec  string // the sections of docs/service.md that define the endpoint
	// Scopes are the scopes that the token must have (spec 5). Nil means that the spec names no
	// scope. The stream is then requested, and skipped after a 403.
	Scopes   []string
	Envelope Envelope
	List     string // name of the list in the response; empty means "records"
	// IDColumns are the columns with the values of the path parameter. Nil means that the
	// path has no parameter, or that the parameter is the team id.
	IDColumns []IDColumn
	// Param is the column of the first table for the path parameter, if there is one. The record of an Object
	// response must contain the field of this name. Records of other envelopes may lack it: the column
	// then gets the value of the parameter. A record with another value is rejected.
	Param string
	// TeamColumn is the column of the first table for the id of the team. If a record lacks it, the column gets
	// the configured team. Empty means that there is no such column.
	TeamColumn string
	// RequireOne are columns of the first table. A valid record has a value in at least one of
	// them; an error response has none. Nil means that a record only needs a key.
	RequireOne []string
	// Rule does not apply to a detail that an event names: such a detail is always requested.
	Rule     Rule
	LiveWith LiveWith
	// NonEmptyFor names a column of another table. For an id in this column, an empty object is not
	// a valid response.
	NonEmptyFor IDColumn
	// Completes names a list whose rows this stream of details completes. Both fill the same first
	// table, and neither overwrites a value of the other with NULL. Empty means none.
	Completes string
	// TablesWithDetailColumns names the tables with columns that only the detail fills, and not the
	// completed list. The rows of a carried detail in these tables are as old as the latest reading of the detail.
	TablesWithDetailColumns []string
	// Topics are the webhook topics whose bodies are the records (spec 6.1). Nil means that
	// the stream has a path.
	Topics []string
	// SameKindAs names a table with the same kind of record. Private columns of that table are
	// private in this stream too.
	SameKindAs string
	Tables     []Table // not empty; the first table has one row for each record
	// ForeignParts are the parts of the records that contain fields of other tables. If a value in one
	// of these parts has no column in this stream, the value is private if its column in the other
	// table is private.
	ForeignParts []ForeignPart
}

// ForeignPart is a part of a stream's records that contains fields of another table.
type ForeignPart struct {
	// At is the dotted path of the part in the record. Empty means the record itself.
	At    string
	Table string // the other table
	// Columns are the columns of Table that the part can contain. Nil means all columns.
	Columns []string
}

// Root returns the first table.
func (s Stream) Root() Table { return s.Tables[0] }

// EnclosingTable returns the index of the table whose rows directly contain the rows of t: the table with the
// longest At that is a prefix of t.At, or else the first table.
func (s Stream) EnclosingTable(t Table) int {
	best := 0
	for i, o := range s.Tables {
		if strings.HasPrefix(t.At, o.At+".") && len(o.At) > len(s.Tables[best].At) {
			best = i
		}
	}
	return best
}

// IsDetail reports whether the stream is requested once for each id that other records
// name.
func (s Stream) IsDetail() bool { return len(s.IDColumns) > 0 }

// HasRowLists reports whether the stream is requested once for each id, and each response is a list of rows, such
// as the articles of a campaign. Otherwise each response is one record.
func (s Stream) HasRowLists() bool { return s.IsDetail() && s.Envelope != Object }

// IsEvents reports whether the records are webhook events.
func (s Stream) IsEvents() bool { return len(s.Topics) > 0 }

// Find returns a stream by name.
func Find(streams []Stream, name string) (Stream, bool) {
	i := slices.IndexFunc(streams, func(s Stream) bool { return s.Name == name })
	if i < 0 {
		return Stream{}, false
	}
	return streams[i], true
}

// FilledBy returns the names of the streams that fill a table.
func FilledBy(streams []Stream, table string) []string {
	var names []string
	for _, s := range streams {
		if slices.ContainsFunc(s.Tables, func(t Table) bool { return t.Name == table }) {
			names = append(names, s.Name)
		}
	}
	return names
}

// IsDetailID reports whether details of some stream are requested by the values of a column.
func IsDetailID(table, column string) bool {
	return slices.ContainsFunc(All(), func(s Stream) bool {
		return slices.ContainsFunc(s.IDColumns, func(r IDColumn) bool { return r.Table == table && r.Column == column })
	})
}

// Tables returns the tables that the streams fill, each once, in the order of the streams.
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

// SameKind returns a table and the other tables with the same kind of record. A column that is
// private in one of these tables is private in all of them.
func SameKind(table string) []string {
	tables := []string{table}
	for _, group := range [][]string{
		{"orders", "profile_orders"},
		{"order_items", "profile_order_items"},
		{"campaigns", "profile_campaigns"},
		{"articles", "campaign_articles"},
		{"article_files", "files"},
		{"products", "product_listings", "outlet_listings", "outlet_products"},
		{"product_prices", "product_listing_prices", "outlet_listing_prices"},
		{"product_example_links", "product_listing_example_links"},
		{"outlet_channels", "outlet_listing_channels"},
		{"outlet_tags", "outlet_listing_tags", "product_listing_tags"},
	} {
		if slices.Contains(group, table) {
			tables = append(tables, slices.DeleteFunc(group, func(t string) bool { return t == table })...)
		}
	}
	return tables
}

// Enums returns the known values by column name: those that the spec lists (spec 2.7), and the names of
// channels with which the service has been seen to answer. Other values are stored and counted as drift,
// because the service may add values.
func Enums() map[string][]string {
	return map[string][]string{
		"channel_type": {"WEBSITE", "NEWSLETTER", "PHOTO_SOCIAL", "PROFESSIONAL_SOCIAL",
			"VIDEO_SHARING", "SHORT_VIDEO", "MICROBLOG", "PODCAST", "OTHER",
			"INSTAGRAM", "LINKEDIN", "YOUTUBE", "TIKTOK", "TWITTER_X"},
		"placement_type": {"FULL_FEATURE", "PRESS_RELEASE", "MENTION", "QUOTE", "LISTICLE"},
		"token_type":     {"full_access", "custom", "read_only"},
	}
}
