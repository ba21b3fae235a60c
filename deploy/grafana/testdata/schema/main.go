// Command schema decodes dashboards with Grafana's schema and rejects unknown fields. The command is
// a separate module, so that placementsync does not need the modules of Grafana.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func main() {
	if err := checkDashboards(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func checkDashboards(files []string) error {
	plugins.RegisterDefaultPlugins()
	if len(files) == 0 {
		return errors.New("usage: schema FILE...")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var decoded dashboard.Dashboard
		if err := decoded.UnmarshalJSONStrict(text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := decoded.Validate(); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Printf("%s: %d panels and rows fit the schema\n", file, len(decoded.Panels))
	}
	return nil
}
