package report

import (
	"strings"

	"placementsync/internal/ledger"
	"placementsync/internal/page"
	"placementsync/internal/query"
)

// shape is how the values of a column are written.
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
	// asGrade writes what a grade means, and the grade itself below.
	asGrade
	asYes
)

// field is one column of a table: which column of the answer, and how.
type field struct {
	column, label string
	as            shape
	// about explains the head where its label is too short to.
	about string
	// sub is a column whose text stands below, smaller.
	sub string
	// unit is a column that names the unit, such as the currency.
	unit string
}

func (f field) isNumeric() bool {
	return f.as == asNumber || f.as == asPercent || f.as == asChange || f.as == asDays
}

func (f field) tableCell(a answer, row query.Record) page.Cell {
	c := a.valueOf(row, f.column)
	d := page.Cell{Text: clipText(f.formatCell(c))}
	switch {
	case f.as == asTag:
		d.Tag, d.Text = page.Tone(c.Text), strings.ReplaceAll(d.Text, "_", " ")
	case f.as == asGrade:
		d.Tag, d.Text, d.Sub = page.Tone(c.Text), string(ledger.StandingOf(c.Text)), clipText(c.Text)
	}
	if f.sub != "" {
		d.Sub = clipText(a.textOf(row, f.sub))
	}
	if f.unit != "" && !c.Null {
		d.Text += page.Thin + clipText(unitName(a.valueOf(row, f.unit)))
	}
	const wide = 24
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

// formatCell is the value for people. Numbers keep every digit of the answer.
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

// formatSigned writes a plus before what is above zero.
func formatSigned(digits string) string {
	if strings.HasPrefix(digits, "-") || strings.Trim(digits, "0.") == "" {
		return page.Decimal(digits)
	}
	return "+" + page.Decimal(digits)
}

// formatMonth is the date of a month's first day without the day.
func formatMonth(date string) string {
	const yearAndMonth = len("2006-01")
	return date[:min(len(date), yearAndMonth)]
}

// unitName names a currency; prices without one are a kind of their own.
func unitName(c query.Value) string {
	if c.Null || c.Text == "" {
		return "(no currency)"
	}
	return c.Text
}
