package main

import (
	"context"
	"strings"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	"placementsync/internal/warehouse"
	"placementsync/internal/watch"
	"placementsync/internal/webhook"
)

// usageAge is how long the parts of the warehouse count as measured, unless readers see
// another version: measuring walks the whole folder.
const usageAge = 10 * time.Minute

// readEntries returns how the daemon reads the ledger, which is empty before the first
// night and never because the disk is gone. Killed runs are in it from their end on.
func readEntries(wh *warehouse.Warehouse) func() ([]ledger.Run, error) {
	return func() ([]ledger.Run, error) {
		if err := wh.Folder.Exists(); err != nil {
			return nil, err
		}
		return wh.Ledger.AllRuns()
	}
}

// inspector looks at the warehouse for the metrics and the status page, one look at a time.
type inspector struct {
	wh    *warehouse.Warehouse
	cfg   config.Config
	now   func() time.Time
	inbox func() webhook.InboxState

	usage   []daemon.Usage
	usageAt time.Time
	usageOf string // the version that readers saw
}

// newInspector returns how the daemon looks at the warehouse of a configuration.
func (s *service) newInspector(cfg config.Config) (func(context.Context) daemon.Inspection, error) {
	wh, err := warehouse.Open(command.WarehouseConfig(cfg, version))
	if err != nil {
		return nil, err
	}
	return (&inspector{wh: wh, cfg: cfg, now: s.g.now, inbox: s.hooks.receiver.Inbox}).inspect, nil
}

// inspect reads each part by itself: one that cannot be read hides no other.
func (i *inspector) inspect(ctx context.Context) daemon.Inspection {
	found := daemon.Inspection{Errors: map[string]error{}}
	// In the place of a disk that is gone there is an empty folder, and nothing in it.
	gone := i.wh.Folder.Exists()
	for _, part := range []struct {
		name string
		read func(ctx context.Context, found *daemon.Inspection) error
	}{
		{daemon.ReadVersion, i.readVersion},
		{daemon.ReadFree, i.readFree},
		{daemon.ReadInbox, i.readInbox},
		{daemon.ReadVerified, i.readVerified},
		{daemon.ReadWatches, i.readWatches},
		{daemon.ReadUsage, i.readUsage}, // last, for it walks the folder
	} {
		err := gone
		if err == nil {
			err = part.read(ctx, &found)
		}
		if err != nil {
			found.Errors[part.name] = err
		}
	}
	found.At = i.now().UTC() // at its end: a slow disk makes a look no older
	return found
}

func (i *inspector) readVersion(_ context.Context, found *daemon.Inspection) error {
	m, _, err := i.wh.Versions.ReadLatest()
	for _, t := range m.Tables {
		found.Tables = append(found.Tables, daemon.TableRows{Table: t.Name, Rows: t.Rows})
	}
	if err != nil {
		return err
	}
	missing, err := i.wh.Series.MissingDays()
	found.SeriesMissing = len(missing)
	return err
}

func (i *inspector) readFree(_ context.Context, found *daemon.Inspection) (err error) {
	if found.Free, err = i.wh.Folder.FreeBytes(); err != nil {
		return err
	}
	found.Needed, err = i.wh.Versions.MeasureNext()
	return err
}

// readUsage measures the parts if the last measurement is old, or of another version.
func (i *inspector) readUsage(ctx context.Context, found *daemon.Inspection) error {
	latest, _, err := i.wh.Versions.Latest()
	if err != nil {
		return err
	}
	if now := i.now(); i.usage == nil || latest != i.usageOf || now.Sub(i.usageAt) >= usageAge || now.Before(i.usageAt) {
		var others []warehouse.Measured
		if dir := i.cfg.Lake.Warehouse; dir != "" && !strings.Contains(dir, "://") {
			others = append(others, warehouse.Measured{Part: "lake", Dir: dir})
		}
		parts, err := warehouse.MeasureParts(ctx, i.wh.Folder, others...)
		if err != nil {
			i.usage = nil
			return err
		}
		i.usage, i.usageAt, i.usageOf = nil, now.UTC(), latest
		for _, p := range parts {
			i.usage = append(i.usage, daemon.Usage{Part: p.Part, Bytes: p.Bytes})
		}
	}
	found.Usage, found.UsageAt = i.usage, i.usageAt
	return nil
}

func (i *inspector) readInbox(_ context.Context, found *daemon.Inspection) (err error) {
	state := i.inbox()
	found.InboxLimit, found.InboxFullSince = state.Limit, state.FullSince
	found.InboxBytes, err = webhook.WaitingBytes(i.wh.Folder.InboxPath())
	return err
}

func (i *inspector) readVerified(_ context.Context, found *daemon.Inspection) error {
	for _, readData := range []bool{false, true} {
		v, ok, err := i.wh.Checker.LastVerified(readData)
		if err != nil {
			return err
		}
		if ok {
			found.Verified = append(found.Verified, shownVerified(v))
		}
	}
	return nil
}

func (i *inspector) readWatches(_ context.Context, found *daemon.Inspection) error {
	for _, w := range i.cfg.Watch {
		s, err := watch.ReadStatus(i.wh.Folder, w.Name)
		if err != nil {
			return err
		}
		found.Watches = append(found.Watches, daemon.WatchStatus{Name: s.Watch, Looked: s.Looked.At, Found: int64(s.Found), Waiting: int64(s.Waiting), Sent: s.Sent})
	}
	return nil
}
