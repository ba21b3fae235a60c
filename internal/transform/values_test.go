package transform_test

import (
	"slices"
	"strings"
	"testing"

	"placementsync/internal/transform"
)

// valueCase is a value, the text of its column and the kinds of its drift. An empty text means that the value is rejected.
type valueCase struct{ sent, want, drift string }

// checkValues decodes values of one column of things. reason is the reason of the rejects, except of lists and objects.
func checkValues(t *testing.T, column, reason string, cases []valueCase) {
	t.Helper()
	for _, c := range cases {
		d := decoderOf(t, "things")
		decode(t, d, thingBody(`"`+column+`":`+c.sent))
		findings := d.Findings()
		var drift, rejects, wantRejects []string
		for _, f := range findings.Drift {
			drift = append(drift, f.Kind)
		}
		for _, r := range findings.Rejects {
			rejects = append(rejects, r.Key+" "+r.Column+" "+r.Raw+" "+r.Reason)
		}
		if c.want == "" {
			wantReason := reason
			if strings.ContainsAny(c.sent[:1], "[{") {
				wantReason = "expected a single value, found a list or object"
			}
			wantRejects = []string{"t " + column + " " + c.sent + " " + wantReason}
		}
		got := rowsOf(t, d.Flush())["things"][0][column]
		if got != c.want || strings.Join(drift, " ") != c.drift || !slices.Equal(rejects, wantRejects) {
			t.Errorf("%s: %s is read as %q with drift %q and rejects %q, want %q with drift %q and rejects %q",
				column, c.sent, got, drift, rejects, c.want, c.drift, wantRejects)
		}
	}
}

// TestTimes lists the accepted forms of a date and time.
func TestTimes(t *testing.T) {
	const noon = "2026-03-01T12:00:00Z"
	checkValues(t, "at", "expected an ISO 8601 date and time, or a Unix time from 2000 to 2100", []valueCase{
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
		{`"2026-03-01T12:00:00.1230000001Z"`, "2026-03-01T12:00:00.123Z", "rounded"},
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
		{`"2026-W00-1T12:00Z"`, "", ""}, {`"2026-03-01T24:00:00.0000001Z"`, "", ""},
		{`"2026-0301T12:00Z"`, "", ""}, {`"2026-03-01T1200:00Z"`, "", ""}, {`"2026-03-01T12:0000Z"`, "", ""}, {`"2026-03-01T12:00:Z"`, "", ""},
		{`"2026-03-01T12:00.Z"`, "", ""}, {`"2026-03-01T12:00  Z"`, "", ""}, {`"2026-03-01T12:00 CET"`, "", ""}, {`"2026-03-01T12:00+24"`, "", ""},
		{`"2026-03-01T12:00 05:00"`, "", ""},
		{`"2026-03-01T12:00+02:60"`, "", ""}, {`"2026-13-01T12:00Z"`, "", ""}, {`"2026-02-29T12:00Z"`, "", ""}, {`"2026-03-01T"`, "", ""},
		{`"2026-00-10T12:00Z"`, "", ""}, {`"2026-03-0:T12:00Z"`, "", ""}, {`"2026-03-01x12:00Z"`, "", ""}, {`"2026-W9-07T12:00Z"`, "", ""}, {`"2026-W097T12:00Z"`, "", ""},
		{`"0000-01-01T12:00Z"`, "", ""}, {`"9999-12-31T24:00Z"`, "", ""}, {`"Sun, 01 Mar 2026 12:00:00 GMT"`, "", ""},
		{`"2026-03-01T14:00:00+02:00"`, noon, ""},
		{`"2026-03-01T14:00:00+02"`, noon, ""},
		{`"2026-03-01\u005412:00:00Z"`, noon, ""},
		{`"2026-03-01T12:00:00"`, noon, "zoneless"},
		{`"2026-03-01 12:00:00.25"`, "2026-03-01T12:00:00.25Z", "zoneless"},
		{`"2026-03-01"`, "2026-03-01T00:00:00Z", "zoneless"},
		{`"2026-03-01T12:00:00.789012Z"`, "2026-03-01T12:00:00.789012Z", ""},
		{`"2026-03-01T12:00:00.789012000Z"`, "2026-03-01T12:00:00.789012Z", ""},
		{`"2026-03-01T12:00:00.789012499Z"`, "2026-03-01T12:00:00.789012Z", "rounded"},
		{`"2026-03-01T12:00:00.789012500Z"`, "2026-03-01T12:00:00.789013Z", "rounded"},
		{`"2026-12-31T23:59:59.9999999Z"`, "2027-01-01T00:00:00Z", "rounded"},
		{`"2024-02-29T00:00:00Z"`, "2024-02-29T00:00:00Z", ""},
		{`"0001-01-01T00:00:00Z"`, "0001-01-01T00:00:00Z", ""},
		{`"9999-12-31T23:59:59.999999Z"`, "9999-12-31T23:59:59.999999Z", ""},
		{`"9999-12-31T23:59:59.9999999Z"`, "", ""}, {`"0001-01-01T00:00:00+01:00"`, "", ""}, {`"9999-12-31T23:59:59-01:00"`, "", ""},
		{`"1900-02-29T00:00:00Z"`, "", ""}, {`"2026-01-00"`, "", ""}, {`"2026-03-01T12:00:00Z "`, "", ""}, {`"yesterday"`, "", ""},
		{`{"date":"2026-01-01"}`, "", ""},
	})
}

// TestAmounts lists amounts. They are rounded half away from zero to six digits after the point.
func TestAmounts(t *testing.T) {
	checkValues(t, "price", "expected an amount of at most 12 digits before the point", []valueCase{
		{`149.99`, "149.990000", ""},
		{`149.99999999999997`, "150.000000", "rounded"},
		{`239.86784`, "239.867840", ""},
		{`0`, "0.000000", ""},
		{`-0.0`, "0.000000", ""},
		{`-12.5`, "-12.500000", ""},
		{`1e3`, "1000.000000", ""},
		{`1.5E+2`, "150.000000", ""},
		{`12345e-2`, "123.450000", ""},
		{`1e-6`, "0.000001", ""},
		{`5e-7`, "0.000001", "rounded"},
		{`4.9999999e-7`, "0.000000", "rounded"},
		{`-5e-7`, "-0.000001", "rounded"},
		{`0.0000015`, "0.000002", "rounded"},
		{`2.0000005`, "2.000001", "rounded"},
		{`0.1000000000000000000000000000000000001`, "0.100000", "rounded"},
		{`123456789012345678901234567890e-20`, "1234567890.123457", "rounded"},
		{`1e-99999999999999999999`, "0.000000", "rounded"},
		{`0e99999999999999999999`, "0.000000", ""},
		{`999999999999.999999`, "999999999999.999999", ""},
		{`999999999999.9999994`, "999999999999.999999", "rounded"},
		{`999999999999.9999995`, "", ""}, {`1000000000000`, "", ""}, {`1e12`, "", ""}, {`1e400`, "", ""},
		{`"149.99"`, "149.990000", "converted"},
		{`"0149.99"`, "149.990000", "converted"},
		{`"1e2"`, "100.000000", "converted"},
		{`"-3"`, "-3.000000", "converted"},
		{`"12,50"`, "", ""}, {`"$5"`, "", ""}, {`" 5"`, "", ""}, {`"+5"`, "", ""}, {`".5"`, "", ""}, {`"5."`, "", ""}, {`"NaN"`, "", ""},
		{`true`, "", ""}, {`[1]`, "", ""}, {`{"amount":1}`, "", ""},
	})
}

// TestWholeNumbers lists whole numbers of 64 and of 32 bits.
func TestWholeNumbers(t *testing.T) {
	const reason = "expected a whole number in the range of the column"
	checkValues(t, "big", reason, []valueCase{
		{`0`, "0", ""},
		{`-0`, "0", ""},
		{`-7`, "-7", ""},
		{`9007199254740993`, "9007199254740993", ""},
		{`9223372036854775807`, "9223372036854775807", ""},
		{`-9223372036854775808`, "-9223372036854775808", ""},
		{`9223372036854775808`, "", ""}, {`-9223372036854775809`, "", ""},
		{`"7"`, "7", "converted"},
		{`"007"`, "7", "converted"},
		{`7.0`, "7", "converted"},
		{`0.0`, "0", "converted"},
		{`7e0`, "7", "converted"},
		{`70e-1`, "7", "converted"},
		{`100e-2`, "1", "converted"},
		{`1e18`, "1000000000000000000", "converted"},
		{`92233720368547758070e-1`, "9223372036854775807", "converted"},
		{`0e99999999999999999999`, "0", "converted"},
		{`7.5`, "", ""}, {`"7.5"`, "", ""}, {`1e19`, "", ""}, {`1e-1`, "", ""}, {`1e18446744073709551616`, "", ""},
		{`"abc"`, "", ""}, {`" 7"`, "", ""}, {`true`, "", ""}, {`[7]`, "", ""}, {`{"n":7}`, "", ""},
	})
	checkValues(t, "small", reason, []valueCase{
		{`2147483647`, "2147483647", ""},
		{`-2147483648`, "-2147483648", ""},
		{`2147483648`, "", ""}, {`-2147483649`, "", ""},
		{`"12"`, "12", "converted"},
	})
}

// TestTexts lists scalars of a text column. Half of a surrogate pair becomes a replacement character.
func TestTexts(t *testing.T) {
	checkValues(t, "label", "", []valueCase{
		{`"abc"`, "abc", ""},
		{`1.50`, "1.50", "converted"},
		{`12345678901234567890`, "12345678901234567890", "converted"},
		{`true`, "true", "converted"},
		{`false`, "false", "converted"},
		{`"\"\\\/\b\f\n\r\t\u0041"`, "\"\\/\b\f\n\r\tA", ""},
		{`"a\u0000b"`, "a\x00b", ""},
		{`"\ud83d\ude00"`, "😀", ""},
		{`"é—😀"`, "é—😀", ""},
		{`"a\ud83db"`, "a\ufffdb", "invalid_utf8"},
		{`"\ude00"`, "\ufffd", "invalid_utf8"},
		{`"\ude00\ud83d"`, "\ufffd\ufffd", "invalid_utf8"},
		{`"\ud83d\u0041"`, "\ufffdA", "invalid_utf8"},
	})
}

// TestDocuments lists values of a JSON column. The names of objects are sorted, and numbers keep their digits.
func TestDocuments(t *testing.T) {
	checkValues(t, "doc", "", []valueCase{
		{`1.50`, "1.50", ""},
		{`1e999`, "1e999", ""},
		{`"a\u0041"`, `"a\u0041"`, ""},
		{`""`, `""`, ""},
		{`true`, "true", ""},
		{`[ 1 , 2 , { "b" : 1 , "a" : [ ] } ]`, `[1,2,{"a":[],"b":1}]`, ""},
		{"{ \"z\" : 1 ,\n \"a\" : { \"y\" : null , \"x\" : \" spaced \" } }", `{"a":{"x":" spaced ","y":null},"z":1}`, ""},
		{`{ }`, "{}", ""},
		{`{"a":1,"a":2}`, `{"a":1,"a":2}`, ""},
	})
}

// TestBooleans lists the accepted forms of true and false.
func TestBooleans(t *testing.T) {
	checkValues(t, "flag", "expected true or false", []valueCase{
		{`true`, "true", ""},
		{`false`, "false", ""},
		{`1`, "true", "converted"},
		{`0`, "false", "converted"},
		{`"true"`, "true", "converted"},
		{`"False"`, "false", "converted"},
		{`"yes"`, "true", "converted"},
		{`"NO"`, "false", "converted"},
		{`"1"`, "true", "converted"},
		{`"0"`, "false", "converted"},
		{`2`, "", ""}, {`1.0`, "", ""}, {`"on"`, "", ""}, {`"t"`, "", ""}, {`[]`, "", ""}, {`{}`, "", ""}, {`[true]`, "", ""},
		{`{"a":true}`, "", ""},
	})
}

// TestLinkLimits lists the values of do_follow_links_allowed and the columns that they fill. An empty text means NULL.
func TestLinkLimits(t *testing.T) {
	const prefix = "do_follow_links_"
	for _, c := range []struct{ sent, allowed, limit, unlimited, drift string }{
		{`true`, "true", "", "", ""},
		{`"true"`, "true", "", "", ""},
		{`"yes"`, "true", "", "", ""},
		{`false`, "false", "0", "false", ""},
		{`"False"`, "false", "0", "false", ""},
		{`"No"`, "false", "0", "false", ""},
		{`"None"`, "false", "0", "false", ""},
		{`0`, "false", "0", "false", ""},
		{`"0"`, "false", "0", "false", ""},
		{`"0 links"`, "false", "0", "false", ""},
		{`3`, "true", "3", "false", ""},
		{`3.0`, "true", "3", "false", ""},
		{`3e0`, "true", "3", "false", ""},
		{`2147483647`, "true", "2147483647", "false", ""},
		{`" 10 "`, "true", "10", "false", ""},
		{`"1 link"`, "true", "1", "false", ""},
		{`"2 links"`, "true", "2", "false", ""},
		{`"Unlimited"`, "true", "", "true", ""},
		{`"UNLIMITED links"`, "true", "", "true", ""},
		{`null`, "", "", "", ""},
		{`""`, "", "", "", "do_follow_links_allowed converted, do_follow_links_allowed= converted"},
		{`-1`, "", "", "", "do_follow_links_allowed=-1 unknown_enum"},
		{`2.5`, "", "", "", "do_follow_links_allowed=2.5 unknown_enum"},
		{`2147483648`, "", "", "", "do_follow_links_allowed=2147483648 unknown_enum"},
		{`"null"`, "", "", "", `do_follow_links_allowed="null" unknown_enum`},
		{`"5-10 links"`, "", "", "", `do_follow_links_allowed="5-10 links" unknown_enum`},
		{`"links"`, "", "", "", `do_follow_links_allowed="links" unknown_enum`},
		{`{"max":5}`, "", "", "", `do_follow_links_allowed={"max":5} unknown_enum`},
		{`[5]`, "", "", "", "do_follow_links_allowed=[5] unknown_enum"},
	} {
		d := decoderOf(t, "outlets")
		body := `{"id":"o","outlet_channels":[{"id":"c","do_follow_links_allowed":` + c.sent + `}]}`
		if _, err := d.Decode([]byte(body), transform.Origin{Param: "o"}); err != nil {
			t.Fatal(err)
		}
		r := rowsOf(t, d.Flush())["outlet_channels"][0]
		got := []string{r[prefix+"raw"], r[prefix+"allowed"], r[prefix+"limit"], r[prefix+"unlimited"]}
		if want := []string{c.sent, c.allowed, c.limit, c.unlimited}; !slices.Equal(got, want) {
			t.Errorf("%s: the raw value, whether links are allowed, the limit and unlimited are %q, want %q", c.sent, got, want)
		}
		var drift []string
		for _, f := range d.Findings().Drift {
			drift = append(drift, f.Path+" "+f.Kind)
		}
		if got := strings.Join(drift, ", "); got != c.drift {
			t.Errorf("%s: the drift is %s, want %s", c.sent, got, c.drift)
		}
	}
}
