package dictionary_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/dictionary"
)

func TestViewsOfMartComeAfterTheViewsThatTheyRead(t *testing.T) {
	views, err := dictionary.MartViews()
	if err != nil || len(views) == 0 {
		t.Fatalf("got %d views, error %v", len(views), err)
	}
	var before []string
	for _, v := range views {
		for _, on := range v.On {
			if !slices.Contains(before, on) {
				t.Errorf("%s comes before %s, which it reads", v.Name, on)
			}
		}
		before = append(before, v.Name)
	}
}

func TestOneDefinitionEqualsThatOfTheList(t *testing.T) {
	main, _, err := dictionary.Definitions()
	if err != nil || len(main) == 0 {
		t.Fatalf("got %d tables, error %v", len(main), err)
	}
	for name, want := range main {
		got, ok := dictionary.Definition(name)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%s: ok %v, the list (-) and the single definition (+) differ:\n%s", name, ok, diff)
		}
	}
	if got, ok := dictionary.Definition("runs"); ok {
		t.Errorf("runs is a table of meta, got %+v", got)
	}
}
