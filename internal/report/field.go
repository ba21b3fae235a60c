package report

import (
	"strings"

	"placementsync/internal/ledger"
	"placementsync/internal/page"
	"placementsync/internal/query"
)

// shape is the format of the values of a column.
type shape int

const (
	asText shape = iota
	asNumber
	asPercent
	asChange
	asDays
	asMoment
	asMonth
	asTag
	// asGrade shows the standing of a grade, such as "proven", and the grade in a second line.
	asGrade
	asYes // a BOOLEAN as "yes" or "no"
)

// field is one column of a table.
type field struct {
	// column is the column of the result. label is its heading in the table.
	column, label string
	as            shape
	// about explains the label in a tooltip.
	about string
	// sub is a column whose value is shown in a second line.
	sub string
	// unit is a column with the unit of the value, such as the currency.
	unit string
}

// maxText is the maximum length of a shown text of the service in characters.
const maxText = 160

func clipText(text string) string { return page.Clip(text, maxText) }

func (f field) isNumeric() bool {
	return f.as == asNumber || f.as == asPercent || f.as == asChange || f.as == asDays
}

func (f field) tableCell(row query.Record) page.Cell {
	c := row.Get(f.column)
	d := page.Cell{Text: clipText(f.formatCell(c))}
	switch {
	case f.as == asTag:
		d.Tag, d.Text = page.Tone(c.Text), strings.ReplaceAll(d.Text, "_", " ")
	case f.as == asGrade:
		d.Tag, d.Text, d.Sub = page.Tone(c.Text), string(ledger.StandingOf(c.Text)), clipText(c.Text)
	}
	if f.sub != "" {
		d.Sub = clipText(row.Get(f.sub).Text)
	}
	if f.unit != "" && !c.Null {
		d.Text += page.Thin + clipText(unitName(row.Get(f.unit)))
	}
	const wide = 24 // bytes
	switch {
	case f.isNumeric():
		d.Class, d.Sort = "n", c.Text
	case f.as == asMoment:
		d.Class, d.Sort = "t", c.Text
	case f.sub != "" || len(d.Text) > wide:
		d.Class = "w"
	}
	return d
}

// formatCell formats a value. Numbers keep all digits.
func (f field) formatCell(c query.Value) string {
	if c.Null {
		return page.Unknown
	}
	switch f.as {
	case asNumber:
		return page.Decimal(c.Text)
	case asPercent:
		return page.Decimal(c.Text) + page.Thin + "%"
	case asChange:
		return formatSigned(c.Text) + page.Thin + "%"
	case asDays:
		return page.Decimal(c.Text) + page.Thin + "d"
	case asMoment:
		return page.Moment(c.Text)
	case asMonth:
		return formatMonth(c.Text)
	case asYes:
		return map[string]string{"true": "yes", "false": "no"}[c.Text]
	}
	return c.Text
}

// formatSigned formats a number with its sign.
func formatSigned(digits string) string {
	if strings.HasPrefix(digits, "-") || strings.Trim(digits, "0.") == "" {
		return page.Decimal(digits)
	}
	return "+" + page.Decimal(digits)
}

// formatMonth removes the day from a date.
func formatMonth(date string) string {
	const yearAndMonth = len("2006-01")
	return date[:min(len(date), yearAndMonth)]
}

// unitName returns a currency, or "(no currency)".
func unitName(c query.Value) string {
	if c.Null || c.Text == "" {
		return "(no currency)"
	}
	return c.Text
}
