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
	Now        func() time.Time
	Log        *slog.Logger
}
