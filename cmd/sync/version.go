package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"placementsync/internal/command"
	"placementsync/internal/warehouse"
)

func versionCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program and of the tables it writes",
		Args:  cobra.NoArgs,
		RunE: command.MarkWork(func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(g.stdout, "placementsync %s\nschema %s\n%s %s/%s\n",
				version, warehouse.SchemaVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		}),
	}
}
