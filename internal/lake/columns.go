package lake

import (
	"strings"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// columnNames lists columns for SQL.
func columnNames(columns []stream.Column) warehouse.SQL {
	return joinColumns(columns, func(c stream.Column) string { return warehouse.Quote(c.Name) })
}

// columnValues lists columns with the values that the published Parquet files have: JSON
// as text, and the fingerprint as a signed number.
func columnValues(columns []stream.Column) warehouse.SQL {
	return joinColumns(columns, func(c stream.Column) string {
		switch {
		case c.Type == stream.JSON:
			return warehouse.Quote(c.Name) + "::VARCHAR AS " + warehouse.Quote(c.Name)
		case c.Name == stream.RowHash:
			return string(warehouse.SignedHash()) + " AS " + warehouse.Quote(c.Name)
		}
		return warehouse.Quote(c.Name)
	})
}

func joinColumns(columns []stream.Column, text func(stream.Column) string) warehouse.SQL {
	var texts []string
	for _, c := range columns {
		texts = append(texts, text(c))
	}
	return warehouse.SQL(strings.Join(texts, ", "))
}
