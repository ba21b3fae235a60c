package report

import (
	"cmp"
	"strings"

	"placementsync/internal/html"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/stream"
)

type valueFormat int

const (
	asText valueFormat = iota
	asNumber
	asPercent
	asChange // a percentage with its sign
	asDays
	asMoment
	asDate
	asMonth
	asTag   // a word in the color of its tone, see html.Tone
	asGrade // the standing, such as "proven", and the grade in a second line
	asYesNo
	asLink // the address of a web page
)

type field struct {
	column, label string
	as            valueFormat
	about         string // explains the label in a tooltip
	sub           string // a column whose value is shown in a second line
	currency      string // a column with the currency of the value
}

const maxText = 160 // characters of a text of the service

func clipText(text string) string { return html.Clip(text, maxText) }

func (f field) isNumeric() bool {
	return f.as == asNumber || f.as == asPercent || f.as == asChange || f.as == asDays
}

func (f field) tableCell(row query.Record) html.Cell {
	v := textOf(row, f.column)
	cell := html.Cell{Text: clipText(f.formatCell(v))}
	switch f.as {
	case asTag:
		cell.Text = strings.ReplaceAll(cell.Text, "_", " ")
		cell.Tag = html.Tone(v.Text)
	case asLink:
		cell.Address = html.WebAddress(v.Text)
	case asGrade:
		cell.Text = string(ledger.StandingOf(stream.Grade(v.Text)))
		cell.Sub = clipText(v.Text)
		cell.Tag = html.Tone(v.Text)
	}
	if f.sub != "" {
		cell.Sub = clipText(textOf(row, f.sub).Text)
	}
	if f.currency != "" && !v.Null {
		cell.Text += html.Thin + clipText(currencyName(row.Get(f.currency)))
	}
	const wideLength = 24 // bytes
	switch {
	case f.isNumeric():
		cell.Class, cell.Sort = "n", v.Text
	case f.as == asMoment || f.as == asDate || f.as == asMonth:
		cell.Class, cell.Sort = "t", v.Text
	case f.sub != "" || len(cell.Text) > wideLength:
		cell.Class = "w"
	case f.as == asText && html.IsCode(cell.Text):
		cell.Class = "code"
	}
	return cell
}

// formatCell formats a value. Numbers keep all digits.
func (f field) formatCell(v query.Value) string {
	if v.Null {
		return html.Unknown
	}
	switch f.as {
	case asNumber:
		return html.Decimal(v.Text)
	case asPercent:
		return html.Decimal(v.Text) + html.Thin + "%"
	case asChange:
		return formatSigned(v.Text) + html.Thin + "%"
	case asDays:
		return html.Decimal(v.Text) + html.Thin + "d"
	case asMoment:
		return html.Moment(v.Text)
	case asMonth:
		return formatMonth(v.Text)
	case asYesNo:
		return html.YesNo(v.Text)
	}
	return v.Text
}

// formatSigned returns zero without a sign.
func formatSigned(digits string) string {
	if strings.HasPrefix(digits, "-") || strings.Trim(digits, "0.") == "" {
		return html.Decimal(digits)
	}
	return "+" + html.Decimal(digits)
}

func formatMonth(date string) string {
	const yearAndMonth = len("2006-01")
	return date[:min(len(date), yearAndMonth)]
}

func currencyName(v query.Value) string { return cmp.Or(v.Text, html.NoCurrency) }
