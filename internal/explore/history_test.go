package explore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(day int) time.Time {
	if day == 0 {
		return time.Time{}
	}
	return time.Date(2026, 11, day, 2, 0, 0, 0, time.UTC)
}

// TestSpansAreRunsOfEqualValues: versions that other fields caused are no change of this
// one, a return after a gap begins anew.
func TestSpansAreRunsOfEqualValues(t *testing.T) {
	null := cell{Null: true}
	for _, c := range []struct {
		name        string
		spans, want []stay
	}{
		{"none", nil, nil},
		{"touching and equal", []stay{{cell{Text: "a"}, at(1), at(2)}, {cell{Text: "a"}, at(2), at(0)}}, []stay{{cell{Text: "a"}, at(1), at(0)}}},
		{"touching and other", []stay{{cell{Text: "a"}, at(1), at(2)}, {cell{Text: "b"}, at(2), at(0)}}, []stay{{cell{Text: "a"}, at(1), at(2)}, {cell{Text: "b"}, at(2), at(0)}}},
		{"there and back", []stay{{cell{Text: "a"}, at(1), at(2)}, {cell{Text: "b"}, at(2), at(3)}, {cell{Text: "a"}, at(3), at(0)}}, []stay{{cell{Text: "a"}, at(1), at(2)}, {cell{Text: "b"}, at(2), at(3)}, {cell{Text: "a"}, at(3), at(0)}}},
		{"a gap", []stay{{cell{Text: "a"}, at(1), at(2)}, {cell{Text: "a"}, at(3), at(0)}}, []stay{{cell{Text: "a"}, at(1), at(2)}, {cell{Text: "a"}, at(3), at(0)}}},
		{"NULL is no empty text", []stay{{null, at(1), at(2)}, {cell{}, at(2), at(0)}}, []stay{{null, at(1), at(2)}, {cell{}, at(2), at(0)}}},
		{"twice at once, as a tag at two places", []stay{{cell{Text: "a"}, at(1), at(0)}, {cell{Text: "a"}, at(2), at(3)}}, []stay{{cell{Text: "a"}, at(1), at(0)}}},
		{"overlapping", []stay{{cell{Text: "a"}, at(1), at(3)}, {cell{Text: "a"}, at(2), at(5)}}, []stay{{cell{Text: "a"}, at(1), at(5)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, mergeStays(c.spans), cmp.AllowUnexported(stay{})); diff != "" {
				t.Errorf("the spans are others (-want +got):\n%s", diff)
			}
		})
	}
}

// TestScalesHoldTheirValues: round steps around any values.
func TestScalesHoldTheirValues(t *testing.T) {
	for _, values := range [][]float64{{100, 149.99}, {0.001, 0.0021}, {5, 5}, {-3, 8}, {0}, {1e9, 1e9 + 1}, nil, {99999999999}} {
		s := newScale(values, false)
		ticks := s.ticks()
		if len(ticks) < 2 || len(ticks) > 12 {
			t.Errorf("%v: %d ticks", values, len(ticks))
		}
		seen := map[string]bool{}
		for _, one := range ticks {
			if seen[one.Text] {
				t.Errorf("%v: two ticks say %s", values, one.Text)
			}
			seen[one.Text] = true
		}
		for _, v := range values {
			if y := s.y(v); !(y >= plotTop-0.01 && y <= plotBottom+0.01) {
				t.Errorf("%v: %v stands at %v", values, v, y)
			}
		}
	}
}

// TestLinksByColumn: which columns lead to a page.
func TestLinksByColumn(t *testing.T) {
	for column, want := range map[string]string{
		"product_id": "listing", "listing_id": "listing", "product_listing_id": "listing", "outlet_listing_id": "listing", "outlet_id": "outlet",
		"order_item_outlet_id": "outlet", "order_id": "order", "article_campaign_id": "campaign", "article_id": "article", "profile_id": "profile",
		"id": "", "order_item_id": "", "linked_order_line_item_id": "", "client_id": "", "v1_campaign_id": "", "channel_id": "", "order": "",
	} {
		if got := kindOf(column); got != want {
			t.Errorf("%s leads to %q, want %q", column, got, want)
		}
	}
}
