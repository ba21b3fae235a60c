package lake

import (
	"placementsync/internal/dictionary"
	"placementsync/internal/sqltext"
	"placementsync/internal/stream"
)

// columnNames returns a list of columns for SQL.
func columnNames(columns []stream.Column) sqltext.SQL {
	return sqltext.Join(columns, ", ", func(c stream.Column) string { return sqltext.Quote(c.Name) })
}

// columnValues returns a list of columns with the values that the published Parquet files
// contain: JSON is text, and row_hash is a signed number.
func columnValues(columns []stream.Column) sqltext.SQL {
	return sqltext.Join(columns, ", ", func(c stream.Column) string {
		switch {
		case c.Type == stream.JSON:
			return sqltext.Quote(c.Name) + "::VARCHAR AS " + sqltext.Quote(c.Name)
		case c.Name == stream.RowHash:
			return string(dictionary.SignedHash()) + " AS " + sqltext.Quote(c.Name)
		}
		return sqltext.Quote(c.Name)
	})
}
