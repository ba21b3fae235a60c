package lake

import (
	"strings"

	"placementsync/internal/dictionary"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// columnNames lists columns for SQL.
func columnNames(columns []stream.Column) sqltext.SQL {
	return joinColumns(columns, func(c stream.Column) string { return sqltext.Quote(c.Name) })
}

// columnValues lists columns with the values that the published Parquet files have: JSON
// as text, and the fingerprint as a signed number.
func columnValues(columns []stream.Column) sqltext.SQL {
	return joinColumns(columns, func(c stream.Column) string {
		switch {
		case c.Type == stream.JSON:
			return sqltext.Quote(c.Name) + "::VARCHAR AS " + sqltext.Quote(c.Name)
		case c.Name == stream.RowHash:
			return string(dictionary.SignedHash()) + " AS " + sqltext.Quote(c.Name)
		}
		return sqltext.Quote(c.Name)
	})
}

func joinColumns(columns []stream.Column, text func(stream.Column) string) sqltext.SQL {
	var texts []string
	for _, c := range columns {
		texts = append(texts, text(c))
	}
	return sqltext.SQL(strings.Join(texts, ", "))
}
