package lake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go/table"
)

// loadForeignTables returns the tables that belong to other namespaces or catalogs, although their
// metadata files are in a folder of this lake. It finds them in the database of an SQL catalog. For a
// REST catalog it returns no tables, because the program does not read other namespaces of a server.
func (l *Lake) loadForeignTables(ctx context.Context) (foreignTables []*table.Table, err error) {
	c, ok := l.catalog.(*sqlCatalog)
	if !ok {
		return nil, nil
	}
	rows, err := c.list(ctx, "list_foreign_tables")
	if err != nil {
		return nil, fmt.Errorf("read the catalog of the lake: %w", err)
	}
	for _, r := range rows {
		if !l.isInLake(r.metadataLocation) {
			continue
		}
		t, err := c.openTable(r)
		if err != nil {
			return nil, err
		}
		foreignTables = append(foreignTables, t)
	}
	return foreignTables, nil
}

// isInLake reports whether an address is in the folder of a namespace of the lake.
func (l *Lake) isInLake(address string) bool {
	return slices.ContainsFunc(l.cfg.namespaces(), func(namespace string) bool {
		return strings.HasPrefix(canonicalAddress(address), canonicalAddress(l.files.root)+"/"+namespace+"/")
	})
}
