package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/config"
)

// TestFormatWatch reads the lines of a watch again. Names and values can be any text.
func TestFormatWatch(t *testing.T) {
	t.Parallel()
	others := []config.Watch{{Name: "own-query"}, {Name: "own-query-2"}}
	w := config.Watch{Query: "_Own_Query", Params: map[string]string{"profile": "Kumo: \"A\" 'B' ${X} # $$", "yes": "no", "top": "007"},
		Key: []string{"article_id", "no", "a, b]", "Über $1"}}
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
		})
	}
}
