package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
	"placementsync/internal/query"
	"placementsync/internal/repair"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

type verifyOptions struct {
	readData bool
	format   string
}

func verifyCommand(g *globals) *cobra.Command {
	var o verifyOptions
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check the warehouse for damage, and name the command that repairs it",
		Long: "Check the whole warehouse for damage: links, ledger, manifests and the sizes of all files,\n" +
			"in seconds. --read-data reads every byte of versions, Parquet series, stored responses and\n" +
			"webhook events, and compares the catalog with its Parquet files. For each damaged file,\n" +
			"verify prints the impact and the command for the repair, if there is one. verify records\n" +
			"its result for the metrics and the status page of serve, and finishes a killed rollback or\n" +
			"a killed publish of a held night. It changes nothing else.\n\n" +
			cli.Meanings{Complete: "intact", Failed: "damaged, and some data is lost; or verify itself failed",
				Partial: "damaged, and all damage can be repaired", Locked: "another run holds the lock"}.Table(),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runVerify(cmd.Context(), g, o) },
	}
	cmd.Flags().BoolVar(&o.readData, "read-data", false, "read every byte, not only names and sizes")
	cli.AddFormat(cmd, &o.format, "text", "json")
	return cmd
}

func runVerify(ctx context.Context, g *globals, o verifyOptions) error {
	cfg, err := g.loadConfig("warehouse", "retention")
	if err != nil {
		return err
	}
	whConfig := g.warehouseConfig(cfg)
	startedAt := g.Now()
	v, err := repair.Verify(ctx, repair.Config{Warehouse: whConfig, Streams: stream.AllWithEvents(), Now: g.Now, Log: g.newLogger()}, o.readData)
	if err != nil {
		return err
	}
	if err := repair.SaveRecord(warehouse.New(whConfig).Folder, v.Record(startedAt)); err != nil {
		g.newLogger().Warn("result of verify not stored", "error", err)
	}
	if o.format == "json" {
		err = cli.WriteJSON(g.stdout, verifyJSON{Result: v.Result(), ReadData: v.ReadData, Files: v.Files, Bytes: v.Bytes, Seconds: v.Took.Seconds(),
			// A list without items is [] in JSON, not null.
			Damage:  append([]repair.Damage{}, v.Damage...),
			Repairs: append([]repair.Step{}, repair.Plan(v.Damage)...),
			Notes:   append([]string{}, v.Notes...)})
	} else {
		err = showVerified(g.stdout, v)
	}
	if err != nil {
		return err
	}
	switch v.Result() {
	case repair.Rebuildable:
		return cli.EndWith(ledger.Partial, nil)
	case repair.DataLost:
		return cli.EndWith(ledger.Failed, nil)
	}
	return nil
}

func showVerified(w io.Writer, v repair.Report) error {
	for _, d := range v.Damage {
		command := cmp.Or(d.Repair.Command(), "none")
		switch {
		case d.Repair.Kind == repair.RestoreBackup:
			command += " with an empty folder in warehouse.dir (restores the newest backup)"
		case d.Lost:
			command += " (lost data cannot be restored)"
		}
		fmt.Fprintf(w, "%s: %s\n  impact   %s\n  repair   %s\n", query.EscapeLines(d.File), firstLine(d.Problem), d.Affected, command)
	}
	var commands []string
	for _, r := range repair.Plan(v.Damage) {
		commands = append(commands, r.Command())
	}
	if len(commands) > 1 {
		fmt.Fprintf(w, "run these commands in this order, then verify again: %s\n", strings.Join(commands, "; "))
	}
	for _, n := range v.Notes {
		fmt.Fprintf(w, "note: %s\n", query.EscapeLines(n))
	}
	verdict := map[string]string{repair.Whole: "intact", repair.Rebuildable: "damaged: all damage can be repaired",
		repair.DataLost: "damaged: some data is lost"}[v.Result()]
	extent := "names and sizes; --read-data reads every byte"
	if v.ReadData {
		extent = humanize.FormatBytes(v.Bytes) + " read"
	}
	_, err := fmt.Fprintf(w, "%s (%s, %s, %s)\n", verdict, humanize.Count(v.Files, "file"), extent, v.Took.Round(time.Millisecond))
	return err
}

type verifyJSON struct {
	Result   string          `json:"result"`
	ReadData bool            `json:"read_data"`
	Files    int             `json:"files"`
	Bytes    int64           `json:"bytes"`
	Seconds  float64         `json:"seconds"`
	Damage   []repair.Damage `json:"damage"`
	Repairs  []repair.Step   `json:"repairs"`
	Notes    []string        `json:"notes"`
}
