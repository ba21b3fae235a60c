package load

import (
	_ "embed" // the SQL files below

	"placementsync/internal/sqltext"
)

// The SQL of a night, in the order of first use, and the SQL of a rebuild.
var (
	//go:embed sql/10-stage.sql
	stageSQL sqltext.File
	//go:embed sql/11-ids.sql
	idsSQL sqltext.File
	//go:embed sql/20-first-night.sql
	firstNightSQL sqltext.File
	//go:embed sql/21-unchanged.sql
	unchangedSQL sqltext.File
	//go:embed sql/22-duplicates.sql
	duplicatesSQL sqltext.File
	//go:embed sql/23-positions.sql
	positionsSQL sqltext.File
	//go:embed sql/30-events.sql
	eventsSQL sqltext.File
	//go:embed sql/40-live.sql
	liveSQL sqltext.File
	//go:embed sql/41-plan.sql
	planSQL sqltext.File
	//go:embed sql/60-desired.sql
	desiredSQL sqltext.File
	//go:embed sql/70-compare.sql
	compareSQL sqltext.File
	//go:embed sql/71-merge.sql
	mergeSQL sqltext.File
	//go:embed sql/72-row-ages.sql
	rowAgesSQL sqltext.File
	//go:embed sql/80-meta.sql
	metaSQL sqltext.File
	//go:embed sql/90-parquet.sql
	parquetSQL sqltext.File
	//go:embed sql/91-meta-file.sql
	metaFileSQL sqltext.File
	//go:embed sql/95-rebuild.sql
	rebuildSQL sqltext.File
)
