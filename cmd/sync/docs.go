package main

import (
	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/warehouse"
)

// manual returns the content of the manual page besides the help of the commands. Tests compare
// it with the code.
func manual() command.Manual {
	return command.Manual{
		Version: version,
		Examples: []command.ManualEntry{
			{Name: "placementsync init --base-url https://api.example.com --token-file token", Meaning: "Write a configuration in the current folder, and check it."},
			{Name: "placementsync check --config /etc/placementsync/config.yaml", Meaning: "Show the scopes of the token, the plan of a night, and the free disk space."},
			{Name: "runuser -u placementsync -- placementsync run --config /etc/placementsync/config.yaml", Meaning: "Run one night by hand, as the user that a package created."},
			{Name: "placementsync query --list", Meaning: "List the named queries."},
			{Name: "placementsync query headline", Meaning: "Run the query \"headline\" on the newest snapshot."},
			{Name: "placementsync demo", Meaning: "Sync several nights of a demo service, without an account."},
		},
		Environment: append(command.Environment(),
			command.ManualEntry{Name: config.HashKeyVar, Meaning: "The secret key with which privacy.hash hashes values."},
			command.ManualEntry{Name: "NOTIFY_SOCKET, WATCHDOG_USEC", Meaning: "Set by systemd; serve reports that it is ready and running."}),
		Files: []command.ManualEntry{
			{Name: command.DefaultConfig, Meaning: "The configuration, unless --config names another file."},
			{Name: "/etc/placementsync/config.yaml", Meaning: "The configuration that a package installs and the systemd units use."},
			{Name: "/etc/placementsync/token", Meaning: "The token, if a package is installed. The user placementsync can read it."},
			{Name: "/var/lib/placementsync/warehouse", Meaning: "The warehouse, if a package is installed. The names below are within warehouse.dir."},
			{Name: warehouse.CatalogFile, Meaning: "The newest snapshot, for DuckDB: current rows, history and evidence."},
			{Name: "latest/", Meaning: "The newest snapshot as one Parquet file for each table, with manifest.json."},
			{Name: "parquet/", Meaning: "One Parquet file for each table and day."},
			{Name: "versions/", Meaning: "The kept snapshots. latest/ is a link to the newest."},
			{Name: "raw/", Meaning: "The stored responses of the service; not readable by other users."},
			{Name: "state/", Meaning: "The ledger, the lock and the webhook inbox; not readable by other users."},
		},
	}
}
