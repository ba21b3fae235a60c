package explore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/query"
)

// at returns a time on a day of November 2026, or the zero time for day 0.
func at(day int) time.Time {
	if day == 0 {
		return time.Time{}
	}
	return time.Date(2026, 11, day, 2, 0, 0, 0, time.UTC)
}

func TestMergePeriods(t *testing.T) {
	null := query.Value{Null: true}
	for _, c := range []struct {
		name          string
		periods, want []period
	}{
		{"no periods", nil, nil},
		{"adjacent, equal", []period{{query.Value{Text: "a"}, at(1), at(2)}, {query.Value{Text: "a"}, at(2), at(0)}}, []period{{query.Value{Text: "a"}, at(1), at(0)}}},
		{"adjacent, different", []period{{query.Value{Text: "a"}, at(1), at(2)}, {query.Value{Text: "b"}, at(2), at(0)}}, []period{{query.Value{Text: "a"}, at(1), at(2)}, {query.Value{Text: "b"}, at(2), at(0)}}},
		{"changed and reverted", []period{{query.Value{Text: "a"}, at(1), at(2)}, {query.Value{Text: "b"}, at(2), at(3)}, {query.Value{Text: "a"}, at(3), at(0)}}, []period{{query.Value{Text: "a"}, at(1), at(2)}, {query.Value{Text: "b"}, at(2), at(3)}, {query.Value{Text: "a"}, at(3), at(0)}}},
		{"equal after a gap", []period{{query.Value{Text: "a"}, at(1), at(2)}, {query.Value{Text: "a"}, at(3), at(0)}}, []period{{query.Value{Text: "a"}, at(1), at(2)}, {query.Value{Text: "a"}, at(3), at(0)}}},
		{"NULL and an empty text", []period{{null, at(1), at(2)}, {query.Value{}, at(2), at(0)}}, []period{{null, at(1), at(2)}, {query.Value{}, at(2), at(0)}}},
		{"contained in the first, as for a tag at two positions", []period{{query.Value{Text: "a"}, at(1), at(0)}, {query.Value{Text: "a"}, at(2), at(3)}}, []period{{query.Value{Text: "a"}, at(1), at(0)}}},
		{"overlapping", []period{{query.Value{Text: "a"}, at(1), at(3)}, {query.Value{Text: "a"}, at(2), at(5)}}, []period{{query.Value{Text: "a"}, at(1), at(5)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, mergePeriods(c.periods), cmp.AllowUnexported(period{})); diff != "" {
				t.Errorf("merged periods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	for column, want := range map[string]string{
		"product_id": "listing", "listing_id": "listing", "product_listing_id": "listing", "outlet_listing_id": "listing", "outlet_id": "outlet",
		"order_item_outlet_id": "outlet", "order_id": "order", "article_campaign_id": "campaign", "article_id": "article", "profile_id": "profile",
		"id": "", "order_item_id": "", "linked_order_line_item_id": "", "client_id": "", "v1_campaign_id": "", "channel_id": "", "order": "",
	} {
		if got := kindOf(column); got != want {
			t.Errorf("kindOf(%q) = %q, want %q", column, got, want)
		}
	}
}

func TestLinksEscapeIDs(t *testing.T) {
	for id, want := range map[string]string{"a/b?c": "/explore/outlets/a%2Fb%3Fc", "..": "/explore/outlets/%2E%2E", "a..b": "/explore/outlets/a..b"} {
		if got := linkTo("outlets", id); got != want {
			t.Errorf("the outlet %q has the link %s, want %s", id, got, want)
		}
	}
}

// TestDamagedSamples checks that a sample is an error unless it is an array of objects. A valid row after an
// invalid one must not hide the error.
func TestDamagedSamples(t *testing.T) {
	for _, sample := range []string{`[["a"],{"a":1}]`, `[{"a":1},["a"]]`, `{"a":1}`} {
		if table, err := buildSample("stock", sample); err == nil {
			t.Errorf("the sample %s: got %v, want an error", sample, table.Rows)
		}
	}
}
