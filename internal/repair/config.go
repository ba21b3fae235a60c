package repair

import (
	"log/slog"
	"time"

	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// Config configures a verify, a rebuild or a repair of the series.
type Config struct {
	Warehouse warehouse.Config
	Streams   []stream.Stream // with tables in the warehouse
	// AcceptLoss allows Rebuild to publish fewer snapshots, runs or rows than the current catalog contains.
	AcceptLoss bool
	// Progress, if not nil, is called when Rebuild has read the rows of a table, with the number of these tables and of
	// all tables that it reads. RestoreSeries calls it with the number of files that it has checked or written and the
	// approximate number of all these files.
	Progress func(done, total int64)
	Now      func() time.Time
	Log      *slog.Logger
}
