package transform_test

import (
	"fmt"
	"testing"

	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// TestPricesInMinorUnits reads prices in the smallest unit of their currency, in all tables with such prices.
func TestPricesInMinorUnits(t *testing.T) {
	for members, want := range map[string]string{
		`"unit_amount":575,"currency":"USD"`:                 "5.750000",
		`"currency":"eur","unit_amount":"575"`:               "5.750000",
		`"unit_amount":575.00`:                               "5.750000",
		`"unit_amount":-575,"currency":null`:                 "-5.750000",
		`"unit_amount":575,"currency":"xyz"`:                 "5.750000",
		`"unit_amount":575,"currency":"JPY"`:                 "575.000000",
		`"unit_amount":575,"currency":"IDR"`:                 "5.750000",
		`"unit_amount":1,"currency":"kwd"`:                   "0.001000",
		`"unit_amount":1,"currency":"CLF"`:                   "0.000100",
		`"unit_amount":999999999999,"currency":"USD"`:        "9999999999.990000",
		`"unit_amount":5.75,"currency":"USD"`:                "rejected",
		`"unit_amount":575.0000001,"currency":"USD"`:         "rejected",
		`"unit_amount":"","currency":"USD"`:                  "",
		`"unit_amount":575,"unit_amount":0,"currency":"USD"`: "0.000000",
	} {
		tested := 0
		for _, s := range stream.AllWithEvents() {
			for _, table := range s.Tables {
				if _, ok := definitions()[table.Name].Column("unit_amount"); !ok {
					continue
				}
				tested++
				binding := compile(t, s)
				binding.ReadMinorUnits()
				d := binding.NewDecoder()
				record := fmt.Sprintf(`{"id":"t",%q:[{%s}]}`, table.At, members)
				param := "t"
				if s.Envelope != stream.Object {
					record, param = "["+record+"]", ""
				}
				if _, err := d.Decode([]byte(record), transform.Origin{Seq: 1, Param: param}); err != nil {
					t.Fatalf("%s: %v", record, err)
				}
				rows, rejects := rowsOf(t, d.Flush())[table.Name], d.Findings().Rejects
				got := rows[0]["unit_amount"]
				if len(rejects) == 1 && rejects[0].Column == "unit_amount" && got == "" {
					got = "rejected"
				}
				if got != want {
					t.Errorf("%s: the price of %s is %q, want %q; rejects: %+v", members, table.Name, got, want, rejects)
				}
			}
		}
		if tested < 3 {
			t.Errorf("%d tables have prices, want at least 3", tested)
		}
	}
}
