package nearest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/nearest"
)

func TestFindByWords(t *testing.T) {
	known := []string{"Acme & Söhne GmbH", "Berlin Tech Observer", "Berlin Post", "Techno"}
	for text, want := range map[string]struct {
		Matches  []string
		AreExact bool
	}{
		"acme":          {[]string{"Acme & Söhne GmbH"}, true},
		"GMBH söhne":    {[]string{"Acme & Söhne GmbH"}, true},
		"Berlin Tech":   {[]string{"Berlin Tech Observer"}, true},
		"berlin":        {[]string{"Berlin Tech Observer", "Berlin Post"}, true},
		"Berlin Obsver": {[]string{"Berlin Tech Observer"}, false},
		"tec":           {[]string{}, false},
		"Hamburg":       {[]string{}, false},
		"&":             {nil, false},
	} {
		got := want
		got.Matches, got.AreExact = nearest.FindByWords(known, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
