package lake

import (
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"placementsync/internal/stream"
)

// Properties of a table. Engines show the comment. The others describe the published night,
// because a catalog may drop tags and old snapshots.
const (
	commentProperty = "comment"
	runProperty     = "placementsync.run-id"
	timeProperty    = "placementsync.snapshot-at"
	// checksumProperty is the checksum of the published rows.
	checksumProperty = "placementsync.content"
	programProperty  = "placementsync.program"
	// snapshotProperty is the id of the published Iceberg snapshot.
	snapshotProperty = "placementsync.snapshot-id"
)

// keptMetadataFiles is the number of earlier metadata files that a table keeps, for readers that loaded the
// table before a commit, and for a catalog that is restored from a copy of the last days. Each file describes
// all kept nights.
const keptMetadataFiles = 3

// properties returns the properties of a table that each night sets again, because a release may change
// them.
func properties(def stream.Definition) iceberg.Properties {
	return iceberg.Properties{
		commentProperty:                           def.Comment,
		table.MetadataPreviousVersionsMaxKey:      fmt.Sprint(keptMetadataFiles),
		table.MetadataDeleteAfterCommitEnabledKey: "true", // for servers and engines; Finish removes the files of an SQL catalog
		"write.parquet.compression-codec":         "zstd",
	}
}

// icebergFields returns columns for Iceberg. All columns are optional, because a column that a later night
// lacks is read as NULL.
func icebergFields(columns []stream.Column) []iceberg.NestedField {
	fields := make([]iceberg.NestedField, len(columns))
	for i, c := range columns {
		fields[i] = iceberg.NestedField{ID: c.FieldID, Name: c.Name, Type: icebergType(c.Type), Doc: c.Comment}
	}
	return fields
}

func icebergType(t stream.Type) iceberg.Type {
	switch t {
	case stream.Bool:
		return iceberg.PrimitiveTypes.Bool
	case stream.Int32:
		return iceberg.PrimitiveTypes.Int32
	case stream.Int64, "UBIGINT": // a fingerprint is stored as the signed number with the same bits
		return iceberg.PrimitiveTypes.Int64
	case stream.Money:
		return iceberg.DecimalTypeOf(18, 6)
	case stream.Instant:
		return iceberg.PrimitiveTypes.TimestampTz
	case "DOUBLE": // only in views
		return iceberg.PrimitiveTypes.Float64
	}
	return iceberg.PrimitiveTypes.String // text, and JSON as text
}

// newMetadata returns the metadata of a table without a snapshot. iceberg-go gives the columns other field
// ids than the definition has. The first change of the table replaces these ids.
func newMetadata(def stream.Definition, location string) (table.Metadata, error) {
	return table.NewMetadata(iceberg.NewSchema(0, icebergFields(def.Columns)...), iceberg.UnpartitionedSpec, table.UnsortedSortOrder, location, properties(def))
}

// evolveSchema returns the updates that give a table the wanted columns, or no updates if it has them. A column
// that is not wanted is kept, and is NULL in new rows. If a wanted column with another field id has
// its name, the old column is removed from the schema. Earlier snapshots still have it.
func evolveSchema(m table.Metadata, columns []stream.Column) ([]table.Update, error) {
	oldColumns, wanted := m.CurrentSchema().Fields(), icebergFields(columns)
	published := oldColumns
	if len(m.Snapshots()) == 0 && m.Properties()[runProperty] == "" {
		published = nil // the columns of a new table have other field ids
	}
	for _, old := range published {
		i := slices.IndexFunc(wanted, func(f iceberg.NestedField) bool { return f.ID == old.ID })
		if i < 0 {
			if !slices.ContainsFunc(wanted, func(f iceberg.NestedField) bool { return f.Name == old.Name }) {
				wanted = append(wanted, old)
			}
			continue
		}
		isWidened := old.Type == iceberg.PrimitiveTypes.Int32 && wanted[i].Type == iceberg.PrimitiveTypes.Int64
		if !old.Type.Equals(wanted[i].Type) && !isWidened {
			return nil, fmt.Errorf("column %s has the type %s in the lake and %s in this version of placementsync; this night was not committed to the lake: "+
				"drop the table in the lake, then run \"placementsync lake publish --all\"; the earlier nights of this table are then lost in the lake", old.Name, old.Type, wanted[i].Type)
		}
	}
	if slices.EqualFunc(oldColumns, wanted, func(a, b iceberg.NestedField) bool { return a.Equals(b) }) {
		return nil, nil
	}
	const lastAdded = -1 // the meaning of this id in Iceberg updates
	id := 0
	for _, s := range m.Schemas() {
		id = max(id, s.ID+1)
	}
	return []table.Update{table.NewAddSchemaUpdate(iceberg.NewSchema(id, wanted...)), table.NewSetCurrentSchemaUpdate(lastAdded)}, nil
}
