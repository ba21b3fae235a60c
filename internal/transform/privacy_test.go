package transform_test

import (
	"strings"
	"testing"

	"placementsync/internal/transform"
)

// protected decodes a list of orders under privacy rules and gives all that
// comes of it as text.
func protected(t *testing.T, p transform.Privacy, body string) string {
	t.Helper()
	b := compile(t, streamNamed(t, "orders"))
	if err := b.Protect(p); err != nil {
		t.Fatal(err)
	}
	d := b.NewDecoder()
	if _, err := d.Decode([]byte(body), transform.Origin{}); err != nil {
		t.Fatal(err)
	}
	found := d.Findings()
	var all strings.Builder
	for _, r := range found.Rejects {
		all.WriteString(r.Raw + r.Reason)
	}
	for _, x := range found.Drift {
		all.WriteString(x.Path + x.Sample)
	}
	for _, batch := range d.Flush() {
		text, err := batch.Record.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
		batch.Record.Release()
	}
	return all.String()
}

func TestDroppedValuesLeaveNoTrace(t *testing.T) {
	for name, body := range map[string]string{
		"a text":                 `[{"id":"o","client_secret":"s3cret"}]`,
		"an object":              `[{"id":"o","client_secret":{"value":"s3cret"}}]`,
		"a record without an id": `[{"client_secret":"s3cret"}]`,
		"beside a wrong value":   `[{"id":"o","total":"s3cret","client_secret":"s3cret"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			got := protected(t, transform.Privacy{Drop: []string{"orders.client_secret"}}, body)
			if strings.Contains(got, "s3cret") {
				t.Errorf("the dropped value is in %s", got)
			}
		})
	}
}

func TestHashedValuesStayEqualAndUnreadable(t *testing.T) {
	p := transform.Privacy{Hash: []string{"orders.guest_email"}, Key: []byte("k")}
	got := protected(t, p, `[{"id":"o","guest_email":"a@b"},{"id":"p","guest_email":"a@\u0062"},{"id":"q","guest_email":""}]`)
	// From outside: printf a@b | openssl dgst -sha256 -hmac k
	const want = "2307c9d8a720b996aee3b10119d6e349fc29c231016c75073ca7ce4ebbca7161"
	if strings.Contains(got, "a@b") || strings.Count(got, want) != 2 {
		t.Errorf("want the hash twice and no address, got %s", got)
	}
}

func TestProtectRefusesWhatWouldBreakTheTables(t *testing.T) {
	for name, c := range map[string]struct {
		rules transform.Privacy
		want  string
	}{
		"dropping a key":    {transform.Privacy{Drop: []string{"orders.id"}}, "rows are found by it"},
		"hashing a key":     {transform.Privacy{Hash: []string{"orders.id"}}, "asked for by it"},
		"hashing an id":     {transform.Privacy{Hash: []string{"orders.client_id"}}, "asked for by it"},
		"hashing an amount": {transform.Privacy{Hash: []string{"orders.total"}}, "only texts can be hashed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := compile(t, streamNamed(t, "orders")).Protect(c.rules)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "orders.") {
				t.Errorf("got %v, want the column and %q", err, c.want)
			}
		})
	}
}
