package main

import (
	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/warehouse"
)

// manual is what the manual page says besides the help of the commands; tests hold it
// to the code.
func manual() command.Manual {
	return command.Manual{
		Version: version,
		Examples: []command.Fact{
			{Name: "placementsync init --base-url https://api.example.com --token-file token", Meaning: "Write a configuration here, and check it."},
			{Name: "placementsync check --config /etc/placementsync/config.yaml", Meaning: "Say who the token is, what a night would do, and whether there is room."},
			{Name: "runuser -u placementsync -- placementsync run --config /etc/placementsync/config.yaml", Meaning: "One night by hand, as the user of a package."},
			{Name: "placementsync query --list", Meaning: "The named queries."},
			{Name: "placementsync query headline", Meaning: "Ask one of them about the newest snapshot."},
			{Name: "placementsync demo", Meaning: "Sync several nights of a demo service, without an account."},
		},
		Environment: append(command.Environment(),
			command.Fact{Name: config.HashKeyVar, Meaning: "The key of the hashes of privacy.hash."},
			command.Fact{Name: "NOTIFY_SOCKET, WATCHDOG_USEC", Meaning: "Set by systemd; serve says when it is ready, and that it is alive."}),
		Files: []command.Fact{
			{Name: command.DefaultConfig, Meaning: "The configuration, unless --config names another one."},
			{Name: "/etc/placementsync/config.yaml", Meaning: "The configuration of a package and of the units of systemd."},
			{Name: "/etc/placementsync/token", Meaning: "The token of a package; its user may read it."},
			{Name: "/var/lib/placementsync/warehouse", Meaning: "The warehouse of a package. The names below are those within warehouse.dir."},
			{Name: warehouse.CatalogFile, Meaning: "The newest snapshot, for DuckDB: current rows, history and evidence."},
			{Name: "latest/", Meaning: "The same as one Parquet file for each table, with manifest.json."},
			{Name: "parquet/", Meaning: "One Parquet file for each table and day."},
			{Name: "versions/", Meaning: "The kept snapshots, one of which latest shows."},
			{Name: "raw/", Meaning: "The answers of the service as they came; closed to other users."},
			{Name: "state/", Meaning: "The ledger, the lock and the webhook inbox; closed to other users."},
		},
	}
}
