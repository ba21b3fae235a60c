package nearest_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/nearest"
)

func TestFindSuggestions(t *testing.T) {
	known := []string{"full", "fresh", "allow-mass-delete", "outlets", "outlet_listings"}
	for misspelt, want := range map[string][]string{
		"ful": {"full"}, "Allow": {"allow-mass-delete"}, "outlet": {"outlets"}, "out": {"outlets", "outlet_listings"}, "f": nil, "nosuch": {}, "": nil,
		"ou": {"outlets", "outlet_listings"}, "frs": {}, // two edits of three letters are too many
	} {
		if got := nearest.FindSuggestions(known, misspelt); !slices.Equal(got, want) {
			t.Errorf("FindSuggestions(%q) = %q, want %q", misspelt, got, want)
		}
	}
}

func TestCountEdits(t *testing.T) {
	cases := []struct {
		known, misspelt string
		edits           int
		near            bool
	}{
		{"cron", "cron", 0, true},
		{"cron", "CRON", 0, true},
		{"cron", "corn", 2, false},
		{"cron", "crn", 1, true},
		{"token", "tokens", 1, true},
		{"base_url", "base_ulr", 2, true},
		{"timeout", "tiemuot", 3, false},
		{"article_cycle_time", "artical_cycel_tim", 5, false},
		{"article_cycle_time", "article_cylce_tim", 3, true},
		{"", "a", 1, true},
		{"a", "", 1, true},
		{"", "", 0, true},
		{"burst", "выдача", 12, false},
	}
	for _, c := range cases {
		t.Run(c.known+" for "+c.misspelt, func(t *testing.T) {
			if edits, near := nearest.CountEdits(c.known, c.misspelt); edits != c.edits || near != c.near {
				t.Errorf("got %d edits, near %t, want %d and %t", edits, near, c.edits, c.near)
			}
		})
	}
}

func TestFindNearest(t *testing.T) {
	known := []string{"orders.guest_name", "orders.guest_email", "orders.guest_mail"}
	for misspelt, want := range map[string]string{
		"orders.guest_emial": "orders.guest_email", "orders.guestname": "orders.guest_name", "nothing": "", "orders.guest_x": "",
		"orders.guest_mal": "orders.guest_mail", "orders.guest_xmail": "orders.guest_email", // the first of two with one edit
	} {
		if got := nearest.FindNearest(known, misspelt); got != want {
			t.Errorf("%s: got %q, want %q", misspelt, got, want)
		}
	}
}

func TestFindByWords(t *testing.T) {
	known := []string{"Acme & Söhne GmbH", "Berlin Tech Observer", "Berlin Post", "Techno", "Top 10 Sites"}
	for text, want := range map[string]struct {
		Matches  []string
		AreExact bool
	}{
		"acme":          {[]string{"Acme & Söhne GmbH"}, true},
		"GMBH söhne":    {[]string{"Acme & Söhne GmbH"}, true},
		"Berlin Tech":   {[]string{"Berlin Tech Observer"}, true},
		"berlin":        {[]string{"Berlin Tech Observer", "Berlin Post"}, true},
		"Berlin Obsver": {[]string{"Berlin Tech Observer"}, false},
		"10":            {[]string{"Top 10 Sites"}, true},
		"top sitse":     {[]string{"Top 10 Sites"}, false}, // a short word must be equal
		"pust":          {[]string{"Berlin Post"}, false},
		"tchn":          {[]string{}, false}, // too short for the two edits to "techno"
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
