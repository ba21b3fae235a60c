package main

import (
	"github.com/spf13/cobra"

	"placementsync/internal/command"
)

// docsCommand returns the hidden command "docs", with which "make install" writes the manual pages.
func docsCommand() *cobra.Command {
	docs := &cobra.Command{Use: "docs", Short: "Write the manual pages", Hidden: true, Args: cobra.NoArgs}
	docs.AddCommand(command.ManualCommand(command.Manual{
		Version: version,
		Examples: []command.ManualEntry{
			{Name: "placementsync-lake status", Meaning: "Show the nights of the lake, and whether it is behind the warehouse."},
			{Name: "placementsync-lake publish --all", Meaning: "Commit each kept night of the warehouse that is later than the night in the lake, as \"placementsync run\" and \"placementsync serve\" do after each night."},
		},
		Environment: append(command.Environment(),
			command.ManualEntry{Name: "PGPASSWORD", Meaning: "The password of a Postgres catalog, unless lake.postgres_password_file is set."},
			command.ManualEntry{Name: "PLACEMENTSYNC_VERSION", Meaning: "Set by placementsync. Both programs must have the same version."}),
		Files: []command.ManualEntry{{Name: command.DefaultConfig, Meaning: "The configuration, unless --config names another file."}},
	}))
	return docs
}
