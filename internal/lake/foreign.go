package lake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// loadForeignTables returns the tables of other namespaces and catalogs in the database whose
// metadata is in a folder of this lake. For a REST catalog the list is empty, because its other
// namespaces are not read.
func (l *Lake) loadForeignTables(ctx context.Context) (found []*table.Table, err error) {
	c, ok := l.catalog.(*sqlCatalog)
	if !ok {
		return nil, nil
	}
	rows, err := c.list(ctx, "list_foreign_tables")
	if err != nil {
		return nil, fmt.Errorf("read the catalog of the lake: %w", err)
	}
	for _, r := range rows {
		if !l.isBelow(r.location) {
			continue
		}
		t, err := c.open(r)
		if err != nil {
			return nil, err
		}
		found = append(found, t)
	}
	return found, nil
}

// isBelow reports whether a file is in the folder of a namespace of the lake.
func (l *Lake) isBelow(address string) bool {
	return slices.ContainsFunc(l.cfg.namespaces(), func(namespace string) bool {
		return strings.HasPrefix(canonicalAddress(address), canonicalAddress(l.files.root)+"/"+namespace+"/")
	})
}
