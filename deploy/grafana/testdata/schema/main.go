// Command schema decodes dashboards with Grafana's schema and rejects unknown fields. It is a
// separate module, so that the program does not depend on it.
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
		return errors.New("name the files of the dashboards")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var read dashboard.Dashboard
		if err := read.UnmarshalJSONStrict(text); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := read.Validate(); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		fmt.Printf("%s: %d panels and rows fit the schema\n", file, len(read.Panels))
	}
	return nil
}
