package load

import (
	_ "embed" // the statements below

	"placementsync/internal/warehouse"
)

// The SQL of a night, in the order of first use.
var (
	//go:embed sql/10-stage.sql
	stageSQL warehouse.SQLFile
	//go:embed sql/20-first-night.sql
	firstNightSQL warehouse.SQLFile
	//go:embed sql/21-stored-rows.sql
	storedRowsSQL warehouse.SQLFile
	//go:embed sql/22-copies.sql
	copiesSQL warehouse.SQLFile
	//go:embed sql/30-events.sql
	eventsSQL warehouse.SQLFile
	//go:embed sql/40-live.sql
	liveSQL warehouse.SQLFile
	//go:embed sql/41-plan.sql
	planSQL warehouse.SQLFile
	//go:embed sql/60-unite.sql
	uniteSQL warehouse.SQLFile
	//go:embed sql/70-compare.sql
	compareSQL warehouse.SQLFile
	//go:embed sql/71-merge.sql
	mergeSQL warehouse.SQLFile
	//go:embed sql/72-held.sql
	heldSQL warehouse.SQLFile
	//go:embed sql/80-meta.sql
	metaSQL warehouse.SQLFile
	//go:embed sql/90-parquet.sql
	parquetSQL warehouse.SQLFile
	//go:embed sql/91-meta-file.sql
	metaFileSQL warehouse.SQLFile
	//go:embed sql/95-rebuild.sql
	rebuildSQL warehouse.SQLFile
)
