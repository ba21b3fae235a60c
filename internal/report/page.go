package report

import (
	"placementsync/internal/ledger"
	"placementsync/internal/page"
)

// Page is everything that the template shows.
type Page struct {
	Snapshot, Run, Outcome string
	// Later is the time that --as-of needs for this snapshot.
	Later string
	// Since say which earlier snapshots the changes are against.
	Since    []Earlier
	Notices  []Notice
	Sections []Section
	// Currencies are those of all prices, the one with most first. Below two there is
	// nothing to choose.
	Currencies []string
}

// Earlier is a snapshot that the newest one is compared with.
type Earlier struct{ Label, Snapshot string }

// Notice says at the top of the page what is not proven. Alarm marks what somebody can
// act on.
type Notice struct {
	Title string
	Lines []string
	Alarm bool
}

// Section is one subject, with headline numbers or panels.
type Section struct {
	ID, Title, Lead string
	Tiles           []Tile
	Panels          []Panel
	// Empty says why there is nothing, in place of the panels.
	Empty string
	// Sources give the tiles again, and those of earlier snapshots.
	Sources []Source
}

// Tile is one headline number.
type Tile struct {
	Label, Value, Unit string
	Changes            []Change
	// NotRead tiles have no number: Note says why. On others it says how sure it is.
	NotRead bool
	Note    string
	// Currency is that of the value; empty: none, or not known.
	Currency string
}

// Change is how a headline number moved since an earlier snapshot.
type Change struct {
	// Direction is up, down, same or none, the last where nothing is known.
	Direction, Text, Since string
}

// Panel is one question: a chart, a table, or both.
type Panel struct {
	ID, Title, About string
	Chart            *page.Chart
	Table            *page.Table
	Wide             bool
	// Empty says why there are no numbers.
	Empty string
	// Note says which tables behind the numbers are not proven.
	Note   string
	Source Source

	// Missing are the tables without which there is no answer, and that were never read.
	Missing []ledger.Problem
}

// Source is the command that gives the numbers again.
type Source struct {
	Label, Command string
	// Page asks the same in the browser; empty: no page does.
	Page string
}
