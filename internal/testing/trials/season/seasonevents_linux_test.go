package season_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"placementsync/internal/backup"
	"placementsync/internal/repair"
	"placementsync/internal/sim"
	testharness "placementsync/internal/testing/harness"
	"placementsync/internal/testing/trials"
	"placementsync/internal/warehouse"
	"placementsync/internal/webhook"
)

// begin begins an event: it runs an operation, or sets a condition of the night.
func (s *season) begin(e seasonEvent) {
	s.T.Helper()
	switch e.Kind {
	case rollbackEvent:
		s.rollBack(e.Number)
	case rebuildEvent:
		s.rebuild()
	case backupEvent:
		s.backUp()
	case restoreEvent:
		s.restore()
	case webhookEvent:
		s.deliver(e.Number)
	case clockEvent:
		s.tonight.clock = time.Duration(e.Number) * time.Hour
	case faultEvent, endpointEvent:
		s.tonight.fault = faultNamed(e.Name)
		s.tonight.selector = &trials.FaultSelector{Random: rand.New(rand.NewPCG(s.plan.Seed, uint64(s.Service.Day())))}
		if e.Kind == faultEvent {
			s.tonight.selector.Set(float64(e.Number)/100, "")
		} else {
			s.tonight.selector.Set(0, trials.Endpoints()[e.Number])
		}
	case movingEvent:
		s.tonight.hasMovingLists = true
		s.Service.SetChurn(e.Number)
	case valueEvent:
		fault := valueFaults()[e.Name]
		fault.Day = s.Service.Day()
		s.tonight.decision = decisions()[e.Number]
		s.Service.SetValueFaults(fault)
	case killEvent, powerEvent, diskEvent:
		s.tonight.accidents = append(s.tonight.accidents, e)
		return // tryNight counts it if it takes effect
	case againEvent:
		s.tonight.isRepeated = true
		return
	default:
		s.T.Fatalf("there is no event %q", e.Kind)
	}
	s.counts[e.Kind]++
}

func faultNamed(name string) *sim.Fault {
	all := seasonFaults()
	return all[slices.IndexFunc(all, func(k trials.FaultKind) bool { return k.Name == name })].Fault
}

// runWith runs the night with an accident. An empty kind means no accident. tookEffect reports whether
// the accident took effect.
func (s *season) runWith(accident seasonEvent) (end trials.NightEnd, tookEffect bool) {
	s.T.Helper()
	switch accident.Kind {
	case killEvent:
		j := s.job()
		j.KillAt, j.Report = accident.Step, filepath.Join(s.T.TempDir(), "report.json")
		p := trials.Spawn(s.T, "season", j.Report, j)
		if p.WasKilled() {
			return end, true
		}
		p.ReadReport(s.T, &end)
		return end, false
	case diskEvent:
		s.Config.Warehouse.Step = accident.Step.Hook(func() error {
			tookEffect = true
			return &fs.PathError{Op: "write", Path: accident.Step.Step, Err: syscall.EIO}
		})
		end = trials.RunNight(s.T.Context(), s.Config)
		return end, tookEffect
	case powerEvent:
		return s.cutPower(accident), true
	}
	return trials.RunNight(s.T.Context(), s.Config), false
}

// cutPower runs the night until the power fails, and replaces the warehouse by files that such a power cut could
// leave. If the night ends before the step of the power cut, the power fails after the night.
func (s *season) cutPower(e seasonEvent) trials.NightEnd {
	s.T.Helper()
	dir := s.Config.Warehouse.Dir
	trace := trials.NewDiskTrace(s.T, dir)
	var mu sync.Mutex
	isCut := false
	cut := e.Step.Hook(func() error {
		isCut = true
		return errors.New("the power failed")
	})
	s.Config.Warehouse.Step = func(step, path string) error {
		mu.Lock()
		defer mu.Unlock()
		if isCut {
			return errors.New("the power failed")
		}
		err := trace.Step(step, path)
		trace.Points = trace.Points[len(trace.Points)-1:]
		return errors.Join(err, cut(step, path))
	}
	end := trials.RunNight(s.T.Context(), s.Config)
	if !isCut {
		testharness.Must(s.T, trace.Step("end", ""))
	}
	random := rand.New(rand.NewPCG(s.plan.Seed, uint64(e.Number)))
	all := trials.Outages(random, 10)
	afterCut := s.T.TempDir()
	trace.CreateFolder(s.T, trace.Points[len(trace.Points)-1], all[random.IntN(len(all))], afterCut)
	testharness.Must(s.T, os.RemoveAll(dir))
	testharness.Must(s.T, os.Rename(afterCut, dir))
	return end
}

// heldRun returns the run of the held night, or "".
func (s *season) heldRun() string {
	s.T.Helper()
	h, ok, err := trials.WarehouseOf(s.Config).Held()
	testharness.Must(s.T, err)
	if !ok {
		return ""
	}
	return h.Manifest.RunID
}

// decideHeld publishes, discards or keeps the night that a check held in this attempt.
func (s *season) decideHeld(run string) (published bool) {
	s.T.Helper()
	s.counts["held"]++
	decision := cmp.Or(s.tonight.decision, "publish")
	s.mustOperate(decision, func(w *warehouse.Warehouse) error {
		var err error
		switch decision {
		case "publish":
			_, err = w.PublishHeld(s.T.Context(), []string{"prices_scaled"}, s.At)
		case "discard":
			_, err = w.DiscardHeld()
		}
		return err
	})
	if decision != "publish" {
		return false
	}
	s.takeSnapshot(run, false)
	return true
}

// mustOperate runs an operation of the warehouse, which must succeed.
func (s *season) mustOperate(name string, operate func(w *warehouse.Warehouse) error) {
	s.T.Helper()
	if err := trials.WithLock(s.Config, name, operate); err != nil {
		s.T.Fatalf("day %d: %s: %v", s.Service.Day(), name, err)
	}
}

func (s *season) rollBack(number int) {
	s.T.Helper()
	if s.version == "" {
		return
	}
	versions, err := trials.WarehouseOf(s.Config).Versions.List()
	testharness.Must(s.T, err)
	target := versions[number%len(versions)]
	snapshots, ok := s.snapshotsByVersion[target]
	if !ok {
		s.T.Fatalf("day %d: the list of versions contains %s, which was never published", s.Service.Day(), target)
	}
	s.mustOperate("rollback", func(w *warehouse.Warehouse) error {
		_, err := w.Rollback(target, s.At)
		return err
	})
	s.setVersion(target, snapshots)
	s.requireRows()
}

func (s *season) rebuild() {
	s.T.Helper()
	if s.version == "" {
		return
	}
	s.setConfig(s.job())
	r, err := repair.Rebuild(s.T.Context(), trials.RepairConfig(s.Config), false)
	if err != nil {
		s.T.Fatalf("day %d: rebuild: %v", s.Service.Day(), err)
	}
	if newest := len(s.snapshots) - 1; r.LostRun != "" && s.snapshots[newest].hadAccident && newest > 0 {
		s.snapshots = s.snapshots[:newest] // parquet/ does not contain the day of this snapshot
	}
	if !r.Last.Equal(s.last().At) {
		s.T.Errorf("day %d: the rebuild restored the night of %s, want %s", s.Service.Day(), r.Last, s.last().At)
	}
	s.setVersion(r.Manifest.RunID, s.snapshots)
	s.requireRows()
	s.requireHistory()
}

func (s *season) backUp() {
	s.T.Helper()
	if s.version == "" {
		return
	}
	res, err := backup.Run(s.T.Context(), trials.BackupConfig(s.Config, s.bucket))
	if err != nil || len(res.LeftOut) > 0 {
		s.T.Fatalf("day %d: backup: %v %v", s.Service.Day(), res.LeftOut, err)
	}
	s.backedUp, s.backedUpEvents = s.snapshots, slices.Clone(s.acknowledged)
}

// restore replaces the warehouse by its last backup, as after the loss of the machine.
func (s *season) restore() {
	s.T.Helper()
	if len(s.backedUp) == 0 {
		return
	}
	testharness.Must(s.T, os.RemoveAll(s.Config.Warehouse.Dir))
	testharness.Must(s.T, os.Mkdir(s.Config.Warehouse.Dir, 0o755))
	s.setConfig(s.job())
	_, err := backup.Restore(s.T.Context(), trials.BackupConfig(s.Config, s.bucket))
	testharness.Must(s.T, err)
	s.snapshots, s.acknowledged = s.backedUp, slices.Clone(s.backedUpEvents)
	s.rebuild()
}

// deliver sends webhook events. The receiver must acknowledge each of them.
func (s *season) deliver(count int) {
	s.T.Helper()
	receiver := trials.NewReceiver(s.T, trials.WarehouseOf(s.Config), func() time.Time { return s.At })
	defer receiver.Close()
	for i := range count {
		id := fmt.Sprintf("event-%d-%d", s.Service.Day(), i)
		receiver.Deliver(trials.RawDelivery(id, webhook.StatusChanged, fmt.Sprintf(`{"article_id": %q}`, id)))
		s.acknowledged = append(s.acknowledged, id)
	}
}
