package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// listingsPage returns a realistic page of 100 product listings. Each has about 1.5 KB, with
// prices, includes, tags and some nulls. A tenth of the records has an unknown field.
func listingsPage() []byte {
	var b strings.Builder
	b.WriteString(`{"records":[`)
	for i := range 100 {
		if i > 0 {
			b.WriteByte(',')
		}
		writeListing(&b, i)
	}
	b.WriteString(`],"total_records":100,"total_pages":1,"current_page":1,"next_page":null,"previous_page":null}`)
	return []byte(b.String())
}

func writeListing(b *strings.Builder, i int) {
	fmt.Fprintf(b, `{"id":"7c9e6679-7425-40de-944b-e07fc1f9%04d","name":"Full feature in The Daily Planet %d",`, i, i)
	b.WriteString(`"description":"A full length editorial feature of up to 800 words with two do-follow links, published on the front page of the outlet for at least 24 hours and archived permanently in the business section of the site afterwards. The caf\u00e9 column of the weekend edition is included.",`)
	b.WriteString(`"requirements":"No gambling, no adult content.\nImages must be licensed.","min_delivery_days":3,"max_delivery_days":14,"is_featured":false,`)
	b.WriteString(`"example_links":["https://example.com/articles/2026/11/one","https://example.com/articles/2026/11/two"],`)
	fmt.Fprintf(b, `"created_at":"2026-03-0%dT12:34:56.789Z","outlet_id":"0e37df36-f698-11e6-8dd4-cb9ced3d%04d","outlet_name":"The Daily Planet",`, i%9+1, i)
	b.WriteString(`"website_url":"https://daily-planet.example.com","logo":"https://cdn.example.com/logos/daily-planet.png","country":"United States","state":"New York","city":null,"is_indexed":true,`)
	fmt.Fprintf(b, `"channel_id":"f47ac10b-58cc-4372-a567-0e02b2c3%04d","channel_type":"WEBSITE","placement_type":"FULL_FEATURE","domain_authority":71,"domain_ranking":%d,"is_do_follow":true,"disclaimer":null,`, i, i*37)
	b.WriteString(`"prices":[{"unit_amount":149.99,"currency":"USD","pricing_tier":"standard"},{"unit_amount":129.5,"currency":"USD","pricing_tier":"pro"},{"unit_amount":239.86784,"currency":"EUR","pricing_tier":"standard"}],`)
	b.WriteString(`"tags":[{"name":"business"},{"name":"technology"},{"name":"finance"}],"includes":[{"channel_type":"NEWSLETTER","placement_type":"MENTION"}]`)
	if i%10 == 0 {
		b.WriteString(`,"editor_score":4.5`)
	}
	b.WriteByte('}')
}

// BenchmarkDecode decodes a page into columns, which are flushed at 10,000 rows.
func BenchmarkDecode(b *testing.B) {
	s, _ := stream.Find(stream.All(), "product_listings")
	d := compile(b, s).NewDecoder()
	body := listingsPage()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	var records int
	for b.Loop() {
		page, err := d.Decode(body, transform.Origin{Seq: 1})
		if err != nil {
			b.Fatal(err)
		}
		records += page.Records
		if d.Rows() >= 10_000 {
			d.Flush()
		}
	}
	b.ReportMetric(float64(len(body))/100, "B/record")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(records), "ns/record")
}
