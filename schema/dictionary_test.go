package schema_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"placementsync/schema"
)

func TestViewsOfMartComeAfterTheViewsThatTheyRead(t *testing.T) {
	views := schema.MartViews()
	files, err := fs.Glob(schema.FS, "mart/*.sql")
	if err != nil || len(views) == 0 || len(views) != len(files) {
		t.Fatalf("got %d views of the files %v (%v), want one of each", len(views), files, err)
	}
	var earlier []string
	for _, v := range views {
		if !slices.IsSorted(v.Reads) || len(slices.Compact(slices.Clone(v.Reads))) < len(v.Reads) ||
			len(v.Reads) == 0 || !strings.Contains(v.SQL, "CREATE VIEW mart."+v.Name+" AS") {
			t.Errorf("%s reads %q and has the SQL %.60q..., want its statement and the sorted names of tables, each once", v.Name, v.Reads, v.SQL)
		}
		if v.Name == "outlet_names" && !slices.Equal(v.Reads, []string{"order_items", "order_line_items", "outlet_listings", "outlets", "product_listings"}) {
			t.Errorf("outlet_names reads %q", v.Reads)
		}
		for _, dependency := range v.Reads {
			if strings.HasPrefix(dependency, "mart.") && !slices.Contains(earlier, dependency) {
				t.Errorf("%s reads %s, but comes before it", v.Name, dependency)
			}
		}
		earlier = append(earlier, "mart."+v.Name)
	}
}

func TestTablesHaveKeysAndViewsHaveGrains(t *testing.T) {
	tables := schema.All()
	for _, table := range tables {
		if _, text := table.RowIdentity(""); text == "" {
			t.Errorf("%s has neither a key nor a grain", table.Name())
		}
	}
}
