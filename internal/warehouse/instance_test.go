package warehouse_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

func TestIsInterruptedDetectsAStoppedStatement(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("duckdb", "")
	harness.Must(t, err)
	defer db.Close()
	harness.Must(t, db.PingContext(t.Context())) // on a busy machine the time limit could end before the statement begins
	ctx, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	var n int64
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE a.range + b.range = -1").Scan(&n)
	if !warehouse.IsInterrupted(err) {
		t.Errorf("a statement beyond its time limit: got %v, want an interruption", err)
	}
	err = db.QueryRowContext(t.Context(), "SELECT nothing").Scan(&n)
	if err == nil || warehouse.IsInterrupted(err) || warehouse.IsInterrupted(errors.New("INTERRUPT Error: Interrupted!")) {
		t.Errorf("SELECT nothing: got %v, want an error; IsInterrupted must be false for it, and for an error of another package with the same text", err)
	}
}
