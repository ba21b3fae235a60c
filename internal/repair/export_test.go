package repair

import (
	"context"

	"placementsync/internal/warehouse"
)

// CatalogCounts exports catalogCounts.
type CatalogCounts = catalogCounts

// These functions are exported for tests, which use them with warehouses that have only a few files.
var (
	CountVersion = countVersion
	ReplaceFile  = replaceFile
	ReplaceMeta  = replaceMeta
	SetAside     = setAside
)

// CountDraft counts the rows of a draft.
func CountDraft(ctx context.Context, d *warehouse.Draft) (CatalogCounts, error) {
	return countCatalog(ctx, d.Instance, "catalog")
}

// Losses exports losses.
func (c catalogCounts) Losses(rebuilt CatalogCounts) []string { return c.losses(rebuilt) }

// RepairFromCopies repairs the files that have an intact copy elsewhere, and the index.
func RepairFromCopies(ctx context.Context, w *warehouse.Warehouse) (repairResult, error) {
	c, err := newChecker(ctx, w, true, nil)
	if err != nil {
		return repairResult{}, err
	}
	c.checkFiles()
	if err = c.carryOutFixes(); err == nil {
		err = c.writeIndex()
	}
	return c.result, err
}
