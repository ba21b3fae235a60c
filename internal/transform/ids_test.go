package transform_test

import (
	"slices"
	"testing"

	"placementsync/internal/transform"
)

// TestUUIDsHaveOneCase decodes records with ids in both cases. All ids are written in the case of the first one,
// or of the ids that the warehouse contains. The requested id may be in the other case.
func TestUUIDsHaveOneCase(t *testing.T) {
	// upper[:35] + "F" is another id.
	const lower, upper = "0a0b0c0d-0000-4000-8000-00000000000e", "0A0B0C0D-0000-4000-8000-00000000000E"
	for name, c := range map[string]struct {
		stored string // upper, lower or empty
		ids    []string
		want   []string
	}{
		"lower case first":        {"", []string{lower, upper[:35] + "F"}, []string{lower, lower[:35] + "f"}},
		"upper case first":        {"", []string{upper, lower[:35] + "f"}, []string{upper, upper[:35] + "F"}},
		"upper case is stored":    {"upper", []string{lower}, []string{upper}},
		"lower case is stored":    {"lower", []string{upper}, []string{lower}},
		"no letters":              {"", []string{"00000000-0000-4000-8000-000000000001", upper}, []string{"00000000-0000-4000-8000-000000000001", upper}},
		"both cases in one id":    {"lower", []string{lower[:20] + upper[20:]}, []string{lower}},
		"no UUID":                 {"lower", []string{"ABC", upper[:35], upper[:35] + "G", upper + "1"}, []string{"ABC", upper[:35], upper[:35] + "G", upper + "1"}},
		"dashes in another place": {"lower", []string{"0A0B0C0D0-000-4000-8000-00000000000E"}, []string{"0A0B0C0D0-000-4000-8000-00000000000E"}},
		"a fifth dash":            {"lower", []string{"0A0B0C0D-0000-4000-8000-0000000-000E"}, []string{"0A0B0C0D-0000-4000-8000-0000000-000E"}},
		"no dashes":               {"lower", []string{"0A0B0C0D000000004000800000000000000E"}, []string{"0A0B0C0D000000004000800000000000000E"}},
		"two records with one id": {"", []string{lower, upper}, []string{lower}},
	} {
		t.Run(name, func(t *testing.T) {
			var ids transform.IDCase
			if c.stored != "" {
				ids.Set(c.stored == "upper")
			}
			d := compile(t, streamNamed(t, "things")).NewDecoder()
			d.UnifyIDs(&ids)
			body := "["
			for i, id := range c.ids {
				if i > 0 {
					body += ","
				}
				body += `{"id":"` + id + `","owner":"` + upper + `"}`
			}
			decode(t, d, body+"]")
			if got := keysByTable(d)["things"]; !slices.Equal(got, c.want) {
				t.Errorf("the ids are %q, want %q", got, c.want)
			}
		})
	}
	d := compile(t, streamNamed(t, "products")).NewDecoder()
	d.UnifyIDs(&transform.IDCase{})
	page, err := d.Decode([]byte(`{"id":"`+upper+`"}`), transform.Origin{Seq: 1, Param: lower})
	if err != nil || page.RejectedRecords > 0 {
		t.Errorf("a detail in another case than its request has %d rejected records and the error %v, want none", page.RejectedRecords, err)
	}
	if got := keysByTable(d)["products"]; !slices.Equal(got, []string{lower}) {
		t.Errorf("the id of the detail is %q, want %q", got, lower)
	}
}
