package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
)

// TestFormatWatch reads the lines of a watch again. Names and values can be any text.
func TestFormatWatch(t *testing.T) {
	t.Parallel()
	others := []config.Watch{{Name: "own-query"}, {Name: "own-query-2"}}
	w := config.Watch{Query: "_Own_Query", Params: map[string]string{"profile": "Kumo: \"A\" 'B' ${X} # $$",
		"yes": "no", "true": "false", "on": "off", "n": "y", "top": "007"},
		Key: []string{"article_id", "no", "null", "a, b]", "Über $1"}}
	for _, c := range []struct {
		name     string
		channels []config.Channel
		config   string // of the channels
	}{
		{"with a channel", []config.Channel{{Name: "team"}, {Name: "other"}}, "notify: {channels: [{name: team, type: slack, url: \"https://hooks.example.com/a\"}]}\n"},
		{"without channels", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := config.FormatWatch(w, others, c.channels)
			cfg, err := config.Parse("f", minimalFile(c.config+lines), env)
			if err != nil {
				t.Fatalf("%v:\n%s", err, lines)
			}
			want := w
			want.Name, want.When, want.NewOnly, want.Show, want.Send = "own-query-3", "rows", true, []string{}, []string{cfg.Notify.Channels[0].Name}
			if diff := cmp.Diff([]config.Watch{want}, cfg.Watch); diff != "" {
				t.Errorf("the lines have other values (-want +got):\n%s\n%s", diff, lines)
			}
			for _, quoted := range []string{`"yes": "no"`, `"true": "false"`, `"on": "off"`, `"n": "y"`} {
				if !strings.Contains(lines, quoted) {
					t.Errorf("the lines lack %s, which other programs read as booleans without quotes:\n%s", quoted, lines)
				}
			}
		})
	}
}

// TestFormatWatchNamesTheWatch checks the lines of watches without parameters and key, with a name that is too long or
// has no letter.
func TestFormatWatchNamesTheWatch(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 51)
	for query, want := range map[string]string{
		"headline": "watch:\n  - name: headline\n    query: headline\n    send: [team]\n",
		"_":        "watch:\n  - name: watch\n    query: \"_\"\n    send: [team]\n",
		long:       "watch:\n  - name: " + long[:50] + "\n    query: " + long + "\n    send: [team]\n",
	} {
		if got := config.FormatWatch(config.Watch{Query: query}, nil, []config.Channel{{Name: "team"}}); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}
