package report

import (
	"time"

	"placementsync/internal/html"
	"placementsync/internal/ledger"
)

// Page is the data of the template report.html.
type Page struct {
	Snapshot, Run, Outcome string
	// Client is the name of the client for whom the page is made. Completeness describes the data of this page.
	// Both are empty for the report of all data.
	Client, Completeness string
	// AsOf is the value of --as-of with which the shown commands read this snapshot after the next
	// night. It is empty if the commands already contain --as-of or --held.
	AsOf     string
	Compared []ComparedSnapshot
	// Attention is the first section. NotKnown follows it: the streams without rows.
	Attention Section
	NotKnown  string
	Sections  []Section
	// Currencies lists the currencies of the shown prices. The currency of the most prices is the first.
	Currencies []string
}

// ComparedSnapshot is an earlier snapshot with which the report's snapshot is compared.
type ComparedSnapshot struct {
	// Label is "the previous snapshot" or "last week". Comparison is the short form, such as "vs week".
	Label, Comparison string
	At                time.Time
}

// Notice lists findings that need attention, such as failed checks. Alarm means that the operator must
// act. Command prints all findings.
type Notice struct {
	Title   string
	Lines   []string
	Alarm   bool
	Command Command
}

// Section is one subject, with notices, headline numbers or panels.
type Section struct {
	ID, Title, Lead string
	Notices         []Notice
	Tiles           []Tile
	Panels          []Panel
	Empty           string    // shown if there are no notices, tiles or panels
	Commands        []Command // behind a toggle: print the numbers of the tiles and the earlier numbers
}

// Tile is one headline number.
type Tile struct {
	Label, Value, Unit string
	Changes            []Change
	NotRead            bool   // a needed table was not read, so that there is no number
	Note               string // lists the needed tables that are not proven to be complete
	// Currency is the currency of a price. It is empty for counts, and for amounts for which the service
	// never sends a currency.
	Currency string
}

type Change struct {
	// Direction is "up", "down", "same", or "none" if one of the two numbers is unknown.
	Direction, Text string
	Comparison      string // such as "vs week"
}

// Panel shows the result of one query as a chart, a table, or both.
type Panel struct {
	ID, Title, About string
	Chart            *html.Chart
	Table            *html.Table
	Wide             bool
	Empty            string // shown if there are no numbers
	// Note lists the source tables that are not proven to be complete. Unused lists the streams
	// that the configuration excludes, and webhook streams without a delivery.
	Note, Unused string
	Command      Command
	Missing      []ledger.Problem // the needed tables that were not read
}

// Command is a command that prints the shown numbers.
type Command struct {
	Label, Text string
	Address     string // of the query in the workbench, if there is one
}
