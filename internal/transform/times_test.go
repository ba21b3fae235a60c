package transform_test

import (
	"strings"
	"testing"

	"placementsync/internal/transform"
)

// TestTimes lists the accepted forms of a date and time. An empty value means that the text is rejected.
func TestTimes(t *testing.T) {
	const noon = "2026-03-01T12:00:00Z"
	for _, c := range []struct{ sent, want, drift string }{
		{`"2026-03-01T12:00:00Z"`, noon, ""},
		{`"20260301T120000Z"`, noon, ""},
		{`"20260301T1200+0000"`, noon, ""},
		{`"2026-03-01T12Z"`, noon, ""},
		{`"2026-03-01T12"`, noon, "zoneless"},
		{`"2026-060T12:00Z"`, noon, ""},
		{`"2026060T12Z"`, noon, ""},
		{`"2026-W09-7T12:00Z"`, noon, ""},
		{`"2026W097T12Z"`, noon, ""},
		{`"2026-03-01 12:00:00 UTC"`, noon, ""},
		{`"2026-03-01 12:00:00utc"`, noon, ""},
		{`"2026-03-01 14:00:00 +02:00"`, noon, ""},
		{`"2026-03-01T06:30:00-0530"`, noon, ""},
		{`"2026-03-01t12:00:00z"`, noon, ""},
		{`"2026-03-01T12:00:00,25Z"`, "2026-03-01T12:00:00.25Z", ""},
		{`"2026-03-01T12.5Z"`, "2026-03-01T12:30:00Z", ""},
		{`"2026-03-01T12:30,5Z"`, "2026-03-01T12:30:30Z", ""},
		{`"2026-02-28T24:00:00Z"`, "2026-03-01T00:00:00Z", ""},
		{`"2016-12-31T23:59:60Z"`, "2017-01-01T00:00:00Z", "rounded"},
		{`"2017-01-01T05:29:60+05:30"`, "2017-01-01T00:00:00Z", "rounded"},
		{`"2026-03-01T12:00:00.1234567891234Z"`, "2026-03-01T12:00:00.123457Z", "rounded"},
		{`1772366400`, noon, "converted"},
		{`"1772366400"`, noon, "converted"},
		{`1772366400000`, noon, "converted"},
		{`"1772366400000"`, noon, "converted"},
		{`1.7723664e9`, noon, "converted"},
		{`1772366400.5`, "2026-03-01T12:00:00.5Z", "converted"},
		{`1772366400000.0005`, noon[:19] + ".000001Z", "converted rounded"},
		{`946684800`, "2000-01-01T00:00:00Z", "converted"},
		{`4102444800000`, "2100-01-01T00:00:00Z", "converted"},
		{`946684799`, "", ""}, {`4102444801`, "", ""}, {`946684799999`, "", ""}, {`4102444800001`, "", ""}, {`-1772366400`, "", ""},
		{`1772366400000000`, "", ""}, {`"20260301"`, "", ""}, {`20260301`, "", ""}, {`"2026060"`, "", ""}, {`true`, "", ""},
		{`"2026-03-01T24:00:01Z"`, "", ""}, {`"2026-03-01T24:00:00.1Z"`, "", ""}, {`"2026-03-01T25:00Z"`, "", ""},
		{`"2026-03-01T12:60Z"`, "", ""}, {`"2026-03-01T12:00:60Z"`, "", ""}, {`"2026-03-01T12:00:61Z"`, "", ""},
		{`"2026-366T12:00Z"`, "", ""}, {`"2026-000T12:00Z"`, "", ""}, {`"2026-W54-1T12:00Z"`, "", ""}, {`"2026-W01-8T12:00Z"`, "", ""},
		{`"2026-0301T12:00Z"`, "", ""}, {`"2026-03-01T1200:00Z"`, "", ""}, {`"2026-03-01T12:0000Z"`, "", ""}, {`"2026-03-01T12:00:Z"`, "", ""},
		{`"2026-03-01T12:00.Z"`, "", ""}, {`"2026-03-01T12:00  Z"`, "", ""}, {`"2026-03-01T12:00 CET"`, "", ""}, {`"2026-03-01T12:00+24"`, "", ""},
		{`"2026-03-01T12:00+02:60"`, "", ""}, {`"2026-13-01T12:00Z"`, "", ""}, {`"2026-02-29T12:00Z"`, "", ""}, {`"2026-03-01T"`, "", ""},
		{`"0000-01-01T12:00Z"`, "", ""}, {`"9999-12-31T24:00Z"`, "", ""}, {`"Sun, 01 Mar 2026 12:00:00 GMT"`, "", ""},
	} {
		d := decoderOf(t, "things")
		if _, err := d.Decode([]byte(thingBody(`"at":`+c.sent)), transform.Origin{}); err != nil {
			t.Errorf("%s: %v", c.sent, err)
			continue
		}
		findings := d.Findings()
		var kinds []string
		for _, f := range findings.Drift {
			kinds = append(kinds, f.Kind)
		}
		got, drift := rowsOf(t, d.Flush())["things"][0]["at"], strings.Join(kinds, " ")
		isRejected := len(findings.Rejects) > 0
		wantRejected := c.want == ""
		if got != c.want || drift != c.drift || isRejected != wantRejected {
			t.Errorf("%s: read as %q with drift %q and %d rejects, want %q with drift %q",
				c.sent, got, drift, len(findings.Rejects), c.want, c.drift)
		}
	}
}
