package lake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
	"github.com/apache/iceberg-go/view"

	"placementsync/internal/stream"
)

// View is a view of the lake. SQL contains its query for each engine.
type View struct {
	Name, About string
	Columns     []stream.Column
	SQL         map[string]string
}

// ErrNoViews means that the catalog cannot store views.
var ErrNoViews = errors.New("the catalog cannot store views: only a REST catalog can")

// InstallViews creates views in the namespace with a suffix, such as mart, and replaces changed views. It
// returns the number of written views.
func (l *Lake) InstallViews(ctx context.Context, suffix string, views []View) (written int, err error) {
	c, ok := l.catalog.(*restCatalog)
	if !ok {
		return 0, ErrNoViews
	}
	namespace := table.Identifier{l.cfg.namespace(suffix)}
	if err := c.inner.CreateNamespace(ctx, namespace, nil); err != nil && !errors.Is(err, icebergcatalog.ErrNamespaceAlreadyExists) {
		return 0, fmt.Errorf("create the namespace %s: %w", namespace[0], err)
	}
	for _, v := range views {
		wrote, err := c.installView(ctx, namespace, v)
		if err != nil {
			return written, fmt.Errorf("install view %s.%s: %w", namespace[0], v.Name, err)
		}
		if wrote {
			written++
		}
	}
	return written, nil
}

// installView writes a view, and reports whether it wrote. A view with the same queries and columns is not
// written again.
func (c *restCatalog) installView(ctx context.Context, namespace table.Identifier, v View) (wrote bool, err error) {
	name := append(slices.Clone(namespace), v.Name)
	fields := icebergFields(v.Columns)
	for i := range fields {
		fields[i].ID = i + 1
	}
	columns := iceberg.NewSchema(0, fields...)
	var representations []view.Representation
	for _, engine := range slices.Sorted(maps.Keys(v.SQL)) {
		representations = append(representations, view.NewRepresentation(v.SQL[engine], engine))
	}
	newVersion, err := view.NewVersion(1, 0, representations, namespace)
	if err != nil {
		return false, err
	}
	existing, err := c.inner.LoadView(ctx, name)
	if errors.Is(err, icebergcatalog.ErrNoSuchView) {
		existing, err = c.inner.CreateView(ctx, name, newVersion, columns, icebergcatalog.WithViewProperties(iceberg.Properties{commentProperty: v.About}))
	}
	if err != nil {
		return false, err
	}
	oldVersion := existing.Metadata().CurrentVersion()
	hasSameColumns := existing.Metadata().CurrentSchema().Equals(columns)
	// CreateView records the name that this program uses for the catalog. Spark has its own name for the catalog, and
	// uses it only if no name is recorded. So a created view also gets the update below, which records no name.
	if oldVersion.DefaultCatalog == "" && slices.Equal(oldVersion.Representations, representations) && hasSameColumns {
		return false, nil
	}
	updates := []view.Update{view.NewSetPropertiesUpdate(iceberg.Properties{commentProperty: v.About})}
	const lastAdded = -1 // the meaning of this id in Iceberg updates
	newVersion.VersionID, newVersion.SchemaID = oldVersion.VersionID+1, existing.Metadata().CurrentSchemaID()
	if !hasSameColumns {
		updates = append(updates, view.NewAddSchemaUpdate(columns))
		newVersion.SchemaID = lastAdded
	}
	updates = append(updates, view.NewAddViewVersionUpdate(newVersion), view.NewSetCurrentVersionUpdate(lastAdded))
	_, err = c.inner.UpdateView(ctx, name, nil, updates)
	return true, err
}
