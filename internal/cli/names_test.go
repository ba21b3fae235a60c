package cli_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// TestUnknownNamesAreReportedWithTheirLines checks that unknown streams and columns are reported
// like all other problems of the file. In an expected line, F is the path of the file.
func TestUnknownNamesAreReportedWithTheirLines(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"existing names": {"streams: {include: ['outlet*', orders], exclude: [outlet_products]}\nprivacy: {drop: [orders.client_secret], raw: keep}", ""},
		"misspelt": {"streams:\n  include: [ordres]\n  exclude: [outlet_prodcuts]\nprivacy:\n" +
			"  drop:\n    - orders.clientsecret\n    - ordres.guest_email\n  hash: [orders.guest_emial]",
			`F:3: streams.include[0]: "ordres" is not a stream: did you mean orders?
F:4: streams.exclude[0]: "outlet_prodcuts" is not a stream: did you mean outlet_products?
F:7: privacy.drop[0]: "orders.clientsecret" is not a column: did you mean orders.client_secret?
F:8: privacy.drop[1]: "ordres.guest_email" is not a column: did you mean orders.guest_email?
F:9: privacy.hash[0]: "orders.guest_emial" is not a column: did you mean orders.guest_email?`},
		"unlike any name": {"streams: {include: ['x*']}\nprivacy: {drop: [orders.nothing_of_ours, qqqqqqqq.zzzzzzzz]}",
			`F:2: streams.include[0]: "x*" is not a stream: use one of token, outlet_listings, *
F:3: privacy.drop[0]: "orders.nothing_of_ours" is not a column: run placementsync schema orders, which lists the columns of orders
F:3: privacy.drop[1]: "qqqqqqqq.zzzzzzzz" is not a column: run placementsync schema, which lists all tables`},
		"malformed names": {"streams: {include: ['[a']}\nprivacy: {drop: [orders]}\nhistory: {ignore: [files]}",
			`F:2: streams.include[0]: "[a" is not a pattern: close the bracket or write the stream's name
F:3: privacy.drop[0]: "orders" is not table.column: write one such as orders.guest_email
F:4: history.ignore[0]: "files" is not table.column: *`},
		"ignored columns": {"history:\n  ignore: [files.file_url, orders.extra.fetched_at,\n" +
			"    files.file_ulr,\n    files.id,\n    files.name.x,\n" +
			"    outlet_channels.outlet_id,\n    article_comment_events.event_id]",
			`F:4: history.ignore[2]: "files.file_ulr" is not a column: did you mean files.file_url?
F:5: history.ignore[3]: "files.id" identifies its row, and cannot be ignored: remove the line
F:6: history.ignore[4]: "files.name.x" is a member, but the column is not JSON: write files.name
F:7: history.ignore[5]: "outlet_channels.outlet_id" identifies its row, and cannot be ignored: remove the line
F:8: history.ignore[6]: "article_comment_events.event_id" identifies its row, and cannot be ignored: remove the line`},
		"every stream excluded": {"streams:\n  include: [orders]\n  exclude: ['*']", `F:4: streams.exclude: excludes every stream: remove a pattern, or add streams to streams.include`},
		"a misspelt check":      {"checks: {rules: {row_coutn: {severity: hold}}}", `F:2: checks.rules.row_coutn*`},
		"with other problems": {"streams: {include: [ordres], recheck: -1}\nverify: {cron: soon}",
			`F:2: streams.include[0]: "ordres" is not a stream: did you mean orders?
F:2: streams.recheck: -1 is below 0: use 0 to 365
F:3: verify.cron: "soon" is not a schedule *`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			text := "api: {base_url: https://api.example.com, token: pc_x}\n" + c.text + "\n"
			harness.Must(t, os.WriteFile(file, []byte(text), 0o600))
			f := cli.Flags{Config: file}
			_, err := f.LoadConfig(func(name string) (string, bool) { return "key", name == config.HashKeyVar })
			if c.want == "" {
				if err != nil {
					t.Errorf("got %v, want no error", err)
				}
				return
			}
			if err == nil {
				t.Fatal("LoadConfig accepted the file")
			}
			got := strings.Split(strings.ReplaceAll(err.Error(), file, "F"), "\n")
			want := strings.Split(c.want, "\n")
			if len(got) != len(want) {
				t.Fatalf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), c.want)
			}
			for i := range want {
				if !matchesLine(got[i], want[i]) {
					t.Errorf("got  %s\nwant %s", got[i], want[i])
				}
			}
			// A command that uses only the section "warehouse" ignores these problems.
			if _, err := f.LoadConfig(nil, "warehouse"); err != nil {
				t.Errorf("LoadConfig for the section \"warehouse\" returned %v, want no error", err)
			}
		})
	}
}

// matchesLine reports whether got is the line want. A * at the end of want matches any text.
func matchesLine(got, want string) bool {
	prefix, isPattern := strings.CutSuffix(want, "*")
	if isPattern {
		return strings.HasPrefix(got, prefix)
	}
	return got == want
}

// TestDamagedChecksAreReportedLater has a damaged check, which is reported when the checks run.
func TestDamagedChecksAreReportedLater(t *testing.T) {
	dir := t.TempDir()
	harness.Must(t, os.WriteFile(filepath.Join(dir, "damaged.sql"), []byte("no header"), 0o600))
	file := filepath.Join(dir, "config.yaml")
	harness.Must(t, os.WriteFile(file, []byte("api: {base_url: https://api.example.com, token: pc_x}\nchecks: {dir: .}\n"), 0o600))
	if _, err := (&cli.Flags{Config: file}).LoadConfig(nil); err != nil {
		t.Errorf("a damaged check: got %v, want no error of the configuration", err)
	}
	if _, err := (&cli.Flags{Config: filepath.Join(dir, "nowhere.yaml")}).LoadConfig(nil, "warehouse"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing configuration: got %v, want the error even for a command that uses one section", err)
	}
}

func TestChosenStreams(t *testing.T) {
	for _, c := range []struct{ include, exclude, want []string }{
		{[]string{"orders"}, nil, []string{"orders"}}, {[]string{"order*"}, []string{"order_*"}, []string{"orders"}}, {[]string{"["}, nil, nil},
	} {
		if got := cli.ChooseStreams(c.include, c.exclude); !slices.Equal(got, c.want) {
			t.Errorf("include %q, exclude %q: got %q, want %q", c.include, c.exclude, got, c.want)
		}
	}
	if all := cli.ChooseStreams(nil, []string{"orders"}); len(all) != len(stream.All())-1 || slices.Contains(all, "orders") {
		t.Errorf("an empty include and the exclude orders give %q, want all other streams", all)
	}
	if hint := cli.SuggestStream(""); hint != "" {
		t.Errorf("an empty pattern has the advice %q, want none, because package config reports it", hint)
	}
}

func TestOtherNamesOfFields(t *testing.T) {
	for lines, want := range map[string]string{
		"    profiles.drive_link: shared_drive\n    articles.writer_first_name: writer.given\n    orders.drive_link_x: b": `F:7: api.fields.orders.drive_link_x: is not a column: run *`,
		"    profiles.drive_link: shared_drive":                                                      "",
		"    profiles.drive_lnk: shared_drive":                                                       `F:5: api.fields.profiles.drive_lnk: is not a column: did you mean profiles.drive_link?`,
		"    profile.drive_link: shared_drive":                                                       `F:5: api.fields.profile.drive_link: is not a column: did you mean profiles.drive_link?`,
		"    drive_link: shared_drive":                                                               `F:5: api.fields.drive_link: is not table.column: write a line such as profiles.drive_link: shared_drive`,
		"    profiles.drive_link: a field":                                                           `F:5: api.fields.profiles.drive_link: "a field" is not the name of a field: *`,
		"    article_status_events.article_id: campaign_id":                                          `F:5: api.fields.article_status_events.article_id: cannot be used: *`,
		"    profiles.drive_link: website_url":                                                       `F:5: api.fields.profiles.drive_link: cannot be used: *`,
		"    outlet_channels.do_follow_links_raw: x":                                                 `F:5: api.fields.outlet_channels.do_follow_links_raw: cannot be used: *`,
		"    profiles.drive_link: about\n    profiles.overview: words\n    articles.live_url: about": "",
		"    orders.name: a\n    orders.email: a":                                                    "F:5: api.fields.orders.name: has the same field as orders.email: *\nF:6: api.fields.orders.email: has the same field as orders.name: *",
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		text := "api:\n  base_url: https://api.example.com\n  token: pc_x\n  fields:\n" + lines + "\n"
		harness.Must(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := (&cli.Flags{Config: file}).LoadConfig(nil)
		got := ""
		if err != nil {
			got = strings.ReplaceAll(err.Error(), file, "F")
		}
		gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
		if !slices.EqualFunc(gotLines, wantLines, matchesLine) {
			t.Errorf("%s\ngot  %s\nwant %s", lines, got, want)
		}
	}
}
