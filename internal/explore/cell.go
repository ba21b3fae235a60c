package explore

import (
	"regexp"
	"slices"
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/plural"
	"placementsync/internal/query"
)

// maxCellText limits a text in a table, in characters.
const maxCellText = 300

// buildCell formats a value by the type and the name of its column.
func buildCell(c query.Column, v query.Value) page.Cell {
	switch {
	case v.Null && c.Numeric:
		return page.Cell{Text: page.Unknown, Class: "n none"}
	case v.Null:
		return page.Cell{Text: page.Unknown, Class: "none"}
	case c.Type == "BOOLEAN":
		return page.Cell{Text: map[string]string{"true": "yes", "false": "no"}[v.Text]}
	case c.Type == "TIMESTAMPTZ":
		return page.Cell{Text: page.Moment(v.Text), Class: "t", Exact: v.Text}
	case c.Type == "DATE" && hasWord(c.Name, "month"):
		return page.Cell{Text: strings.TrimSuffix(v.Text, "-01"), Class: "t", Exact: v.Text}
	case c.Type == "DATE":
		return page.Cell{Text: v.Text, Class: "t"}
	case c.Numeric:
		return page.Cell{Text: page.Decimal(v.Text), Class: "n"}
	}
	if c.Type == "JSON" {
		return page.Cell{Text: v.Text, Class: "long", Summary: "JSON, " + plural.Number(len(v.Text)) + " bytes"}
	}
	cell := page.Cell{Text: page.Clip(v.Text, maxCellText), Class: "s"}
	const wideText = 24 // bytes
	if len(cell.Text) > wideText {
		cell.Class = "w"
	}
	if lastWord := c.Name[strings.LastIndex(c.Name, "_")+1:]; slices.Contains([]string{"url", "address", "website", "link"}, lastWord) {
		cell.Address = webLink(v.Text)
	}
	return cell
}

// buildCell formats a value by the role of its column.
func (r columnRole) buildCell(v query.Value) page.Cell {
	cell := buildCell(r.Column, v)
	switch {
	case v.Null:
	case r.Name == "promise": // kept, published late, past its promise or due
		cell = page.TagCell(v.Text)
	case r.isAmount:
		cell = page.MoneyCell(v.Text)
	case r.isEnum:
		if text := wordsOf(v.Text); text != v.Text {
			cell.Text, cell.Exact = text, v.Text
		}
	}
	return cell
}

// codePattern matches a value of an enumeration: FULL_FEATURE, on_hold_review.
var codePattern = regexp.MustCompile(`^([A-Z][A-Z0-9]*(_[A-Z0-9]+)*|[a-z][a-z0-9]*([_-][a-z0-9]+)*)$`)

// wordsOf returns a value of an enumeration as words: Full feature, On hold review. In a list
// of values, it converts each value. It returns other texts unchanged.
func wordsOf(text string) string {
	for _, separator := range []string{"; ", ", "} {
		if first, rest, ok := strings.Cut(text, separator); ok {
			return wordsOf(first) + separator + wordsOf(rest)
		}
	}
	if !codePattern.MatchString(text) {
		return text
	}
	return strings.ToUpper(text[:1]) + strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(text[1:]))
}

// labelOf returns the label of a column name: outlet_id becomes Outlet ID.
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
