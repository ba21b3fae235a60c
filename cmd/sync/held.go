package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"placementsync/internal/cli"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
)

func addHeldFlag(cmd *cobra.Command, g *globals) {
	cmd.Flags().BoolVar(&g.held, "held", false, "show the held night, which is not published")
}

func findHeld(wh *warehouse.Warehouse) (warehouse.HeldNight, error) {
	h, ok, err := wh.Held()
	if err == nil && !ok {
		err = &ledger.UnknownRunError{Message: "find the held night: no night is held; it may have been published, discarded or replaced: see placementsync runs"}
	}
	return h, err
}

func publishCommand(g *globals) *cobra.Command {
	var accept []string
	cmd := &cobra.Command{
		Use:   "publish --accept NAME,...",
		Short: "Publish the held night despite the checks that failed",
		Long: "Publish the held night unchanged, without new requests to the service. --accept names each failed\n" +
			"check that holds the night; the ledger records these names. The next night builds on this night.\n\n" +
			cli.Meanings{Complete: "published", Failed: "failed, the night is still held", Partial: "published, but a later step failed; the next run completes it",
				Locked: "another run holds the lock"}.Table(),
		Args: cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runPublishHeld(cmd.Context(), g, accept) },
	}
	ignoreHeldFlag(cmd)
	cmd.Flags().StringSliceVar(&accept, "accept", nil, "the failed checks that are accepted: `names` separated by commas")
	return cmd
}

// ignoreHeldFlag accepts the flag --held, which earlier releases required.
func ignoreHeldFlag(cmd *cobra.Command) {
	cmd.Flags().Bool("held", true, "ignored")
	_ = cmd.Flags().MarkHidden("held") // the flag exists
}

func runPublishHeld(ctx context.Context, g *globals, accept []string) error {
	cfg, err := g.loadConfig()
	if err != nil {
		return err
	}
	wh := g.newWarehouse(cfg)
	h, err := findHeld(wh)
	if err != nil {
		return err
	}
	failed := h.FailedChecks()
	slices.Sort(accept)
	accept = slices.Compact(accept)
	if missing := without(failed, accept); len(missing) > 0 {
		return cli.UsageErr("publish the held night %s: --accept lacks the failed checks %s; nothing was changed: add them, or discard the night with placementsync discard", h.Manifest.RunID, strings.Join(missing, ", "))
	}
	if extra := without(accept, failed); len(extra) > 0 {
		return cli.UsageErr("publish the held night %s: --accept names checks that do not hold this night: %s; nothing was changed: leave them out", h.Manifest.RunID, strings.Join(extra, ", "))
	}
	err = g.withLock(wh, "publish", func() (err error) {
		h, err = wh.PublishHeld(ctx, accept, g.Now())
		return err
	})
	var afterSwitch *warehouse.AfterSwitchError
	if err != nil && !errors.As(err, &afterSwitch) {
		return wh.Folder.DiskFullErr(err)
	}
	fmt.Fprintf(g.stdout, "published %s, the snapshot of %s; accepted: %s\n", h.Manifest.RunID, h.Manifest.SnapshotAt.Format(time.RFC3339), strings.Join(accept, ", "))
	if afterSwitch != nil {
		err = cli.EndWith(ledger.Partial, err)
	}
	return joinFollowUpError(ctx, err, g.runFollowUps(ctx, cfg))
}

func without(names, excluded []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(excluded, name) })
}

func discardCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "discard",
		Short: "Discard the held night; readers keep the last snapshot",
		Args:  cli.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			wh, _, err := g.openWarehouse()
			if err != nil {
				return err
			}
			return g.withLock(wh, "discard", func() error {
				run, err := wh.DiscardHeld()
				if err == nil {
					_, err = fmt.Fprintf(g.stdout, "discarded the held night %s; readers keep the last snapshot\n", run)
				}
				return err
			})
		},
	}
	ignoreHeldFlag(cmd)
	return cmd
}
