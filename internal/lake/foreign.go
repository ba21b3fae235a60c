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
func (l *Lake) loadForeignTables(ctx context.Context) ([]*table.Table, error) {
	c, ok := l.catalog.(*sqlCatalog)
	if !ok {
		return nil, nil
	}
	rows, err := c.listForeignTables(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the catalog of the lake: %w", err)
	}
	var found []*table.Table
	for _, r := range rows {
		if !l.isBelow(r.location) {
			continue
		}
		data, err := l.files.readAll(sameAddress(r.location))
		if err != nil {
			return nil, fmt.Errorf("read the metadata of %s: %w", strings.Join(r.identifier, "."), err)
		}
		m, err := table.ParseMetadataBytes(data)
		if err != nil {
			return nil, fmt.Errorf("read the metadata of %s in %s: %w", strings.Join(r.identifier, "."), r.location, err)
		}
		found = append(found, c.newTableAt(r.identifier, m, r.location))
	}
	return found, nil
}

// isBelow reports whether a file is in the folder of a namespace of the lake.
func (l *Lake) isBelow(address string) bool {
	return slices.ContainsFunc(l.cfg.namespaces(), func(namespace string) bool {
		return strings.HasPrefix(sameAddress(address), sameAddress(l.files.root)+"/"+namespace+"/")
	})
}

// foreignTable is a table in the catalog database that does not belong to the lake.
type foreignTable struct {
	identifier table.Identifier
	location   string
}

func (c *sqlCatalog) listForeignTables(ctx context.Context) (found []foreignTable, err error) {
	args := []any{c.cfg.Name}
	for _, namespace := range c.cfg.namespaces() {
		args = append(args, namespace)
	}
	rows, err := c.db.QueryContext(ctx, c.statement("list_foreign_tables"), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var catalog, namespace, name, location string
		if err := rows.Scan(&catalog, &namespace, &name, &location); err != nil {
			return nil, err
		}
		found = append(found, foreignTable{table.Identifier{catalog, namespace, name}, location})
	}
	return found, rows.Err()
}
