package explore

import (
	"net/url"
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/query"
)

// datum is one value as a page shows it.
type datum struct {
	Text string
	// Unit stands behind the value, such as a currency.
	Unit string
	// Class is how it is set: n a number, t a time, s a short text, w a long one, none an
	// unknown value.
	Class string
	// Exact is the whole value where Text is another form of it.
	Exact string
	// Link leads to a page of the workbench, Address to another host.
	Link, Address string
	// Bar is how long the bar behind the value is, in percent; empty: there is none.
	Bar string
}

const (
	// longText is how many characters of a text of the service a table shows.
	longText = 300
	// wideText is from where on a text may wrap.
	wideText = 24
)

// buildDatum shows a value by the type and the name of its column.
func buildDatum(c query.Column, v cell) datum {
	switch {
	case v.Null && c.Numeric:
		return datum{Text: page.Unknown, Class: "n none"}
	case v.Null:
		return datum{Text: page.Unknown, Class: "none"}
	case c.Type == "BOOLEAN":
		return datum{Text: map[string]string{"true": "yes", "false": "no"}[v.Text]}
	case c.Type == "TIMESTAMPTZ":
		return datum{Text: page.Moment(v.Text), Class: "t", Exact: v.Text}
	case c.Type == "DATE":
		return datum{Text: v.Text, Class: "t"}
	case strings.HasPrefix(c.Type, "DECIMAL"):
		return datum{Text: page.Amount(v.Text), Class: "n"}
	case c.Numeric:
		return datum{Text: page.Decimal(v.Text), Class: "n"}
	}
	d := datum{Text: page.Clip(v.Text, longText), Class: "s"}
	if d.Text != v.Text {
		d.Exact = v.Text
	}
	if len(d.Text) > wideText {
		d.Class = "w"
	}
	if isAddressColumn(c.Name) {
		d.Address = webLink(v.Text)
	}
	return d
}

func isAddressColumn(name string) bool {
	for _, end := range []string{"url", "address", "website", "link"} {
		if name == end || strings.HasSuffix(name, "_"+end) {
			return true
		}
	}
	return false
}

// labelOf makes the head of a column from its name.
func labelOf(column string) string {
	label := strings.ReplaceAll(strings.ReplaceAll(column, "_", " "), "do follow", "do-follow")
	for _, short := range []string{"url", "id"} {
		if label == short || strings.HasSuffix(label, " "+short) {
			label = label[:len(label)-len(short)] + strings.ToUpper(short)
		}
	}
	if label == "" {
		return label
	}
	return strings.ToUpper(label[:1]) + label[1:]
}

// links makes addresses of pages that stay in the snapshot of the page they stand on.
type links struct{ asOf string }

// linkRecord is the page of a record of a kind such as listing.
func (l links) linkRecord(kind, id string) string { return l.keepAsOf(linkTo(kind+"s", id)) }

// linkQuestion is the page of a named query.
func (l links) linkQuestion(name string) string { return l.keepAsOf(questionLink(name)) }

// keepAsOf adds the snapshot to an address.
func (l links) keepAsOf(address string) string {
	if l.asOf == "" {
		return address
	}
	return address + "?" + url.Values{asOfKey: {l.asOf}}.Encode()
}
