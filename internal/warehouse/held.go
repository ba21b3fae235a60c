package warehouse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/checksum"
	"placementsync/internal/ledger"
)

// At most one night is held.
const heldDir = "held"

// HeldNight is a complete version that was not published because of failed checks. Its files are
// in a private folder until it is published.
type HeldNight struct {
	Manifest Manifest
	// Run is the run that PublishHeld records in the ledger.
	Run ledger.Run
}

func (h HeldNight) FailedChecks() (names []string) {
	for _, c := range h.Run.Checks {
		if c.HoldsNight() {
			names = append(names, c.Name)
		}
	}
	return names
}

// HeldCatalog is the DuckDB file of a held night.
func (f *Folder) HeldCatalog(run string) string { return f.Path(heldDir, run, CatalogFile) }

// Hold finishes and verifies the draft like Publish, but does not publish the draft. tables are as in
// Publish. The draft becomes the held night and replaces an earlier held night.
func (d *Draft) Hold(ctx context.Context, tables []ManifestTable) (Manifest, error) {
	m, err := d.finish(ctx, tables)
	if err != nil {
		return m, err
	}
	if err = d.w.removeHeld(); err == nil {
		err = d.w.Folder.disk.MakeFolder(d.w.Folder.Path(heldDir), privateDir)
	}
	if err == nil {
		err = d.w.Folder.disk.Rename(d.Dir, d.w.Folder.Path(heldDir, d.Run))
	}
	if err != nil {
		return m, d.unpublishedErr("hold", err)
	}
	return m, nil
}

// Held returns the held night. ok is false if no night is held.
func (w *Warehouse) Held() (h HeldNight, ok bool, err error) {
	run, err := w.heldRun()
	if err != nil || run == "" {
		return h, false, err
	}
	if h.Manifest, err = w.Versions.ReadManifestFile(w.Folder.Path(heldDir, run, ManifestFile), run); err != nil {
		return h, false, withHeldRemedy(err, run)
	}
	h.Run, ok = w.RunLog.readCopy(w.Folder.Path(heldDir, run), run)
	if !ok {
		err = w.Folder.DamagedErr(w.Folder.Path(heldDir, run, runFile), "it is not the ledger line of the run", nil)
		return h, false, withHeldRemedy(err, run)
	}
	return h, true, nil
}

func withHeldRemedy(err error, run string) error {
	if damaged, ok := errors.AsType[*DamagedError](err); ok {
		damaged.Remedy = "the held night cannot be used, and readers keep the last snapshot: run placementsync discard, " +
			"and placementsync replay " + run + " to build the night again from its stored responses"
	}
	return err
}

// ExplainHeldErr is like ExplainErr, for a query of the held night.
func (w *Warehouse) ExplainHeldErr(err error) error {
	if err == nil {
		return nil
	}
	run, heldErr := w.heldRun()
	damaged, _ := w.VerifyHeld(context.Background(), true)
	if heldErr != nil || len(damaged) == 0 {
		return err
	}
	damaged[0].Err = err
	return withHeldRemedy(damaged[0], run)
}

// heldRun returns the run of the held night, or "" if no night is held. A night that was published and is
// not yet removed from heldDir is no longer held.
func (w *Warehouse) heldRun() (string, error) {
	runs, err := listFolders(w.Folder.Path(heldDir))
	if err != nil || len(runs) == 0 {
		return "", err
	}
	latest, _, err := w.Versions.Latest()
	run := runs[len(runs)-1]
	if run == latest {
		run = ""
	}
	return run, err
}

// recordHeld records the held night in the ledger if its run was killed before the ledger was written. It
// also removes the unfinished-run file, because a held night is not resumed.
func (w *Warehouse) recordHeld() error {
	h, ok, err := w.Held()
	if err != nil || !ok {
		return nil // verify reports a damaged held night
	}
	runs, err := w.RunLog.Runs()
	if err != nil || ledger.Find(runs, h.Run.ID).Held {
		return err
	}
	r := h.Run
	r.Outcome, r.ExitCode, r.SnapshotAt, r.Held = ledger.Failed, ledger.Failed.ExitCode(), time.Time{}, true
	r.Error = "held by its checks: " + strings.Join(h.FailedChecks(), ", ")
	if err := w.RunLog.Record(r); err != nil {
		return err
	}
	unfinished, ok, err := w.RunLog.ResumableRun()
	if err != nil || !ok || unfinished.Run != r.ID {
		return err
	}
	return w.RunLog.RemoveResumableRun()
}

func noHeldErr(verb string) error {
	return &ledger.UnknownRunError{Message: verb + " the held night: no night is held; it may have been published, discarded or replaced: see placementsync runs"}
}

// VerifyHeld compares the files of the held night with its manifest, and returns the damaged files and
// the number of compared files. Without readData it compares only sizes.
func (w *Warehouse) VerifyHeld(ctx context.Context, readData bool) (damaged []*DamagedError, fileCount int) {
	run, err := w.heldRun()
	if err != nil {
		return []*DamagedError{{File: heldDir, Problem: err.Error()}}, 0
	}
	if run == "" {
		return nil, 0
	}
	dir := w.Folder.Path(heldDir, run)
	m, err := w.Versions.ReadManifestFile(filepath.Join(dir, ManifestFile), run)
	if err != nil {
		return []*DamagedError{{File: w.Folder.Relative(filepath.Join(dir, ManifestFile)), Problem: err.Error()}}, 1
	}
	cache := checksum.NewCache(ctx)
	for _, want := range m.fileSums() {
		fileCount++
		if problem := cache.Compare(filepath.Join(dir, want.File), want, readData); problem != "" {
			damaged = append(damaged, &DamagedError{File: w.Folder.Relative(filepath.Join(dir, want.File)), Problem: problem})
		}
	}
	return damaged, fileCount
}

// PublishHeld publishes the held night and records it in the ledger. accepted contains the names of the failed
// checks that the user accepted. The caller must have the Lock. PublishHeld returns a *ledger.UnknownRunError
// if no night is held. After an *AfterSwitchError the night is published. After an *UnsyncedSwitchError readers
// see the night, but a power cut may undo the switch. After any other error the night is still held.
func (w *Warehouse) PublishHeld(ctx context.Context, accepted []string, now time.Time) (HeldNight, error) {
	if err := w.Recover(); err != nil {
		return HeldNight{}, err
	}
	h, ok, err := w.Held()
	if err != nil {
		return h, fmt.Errorf("publish the held night: %w", err)
	}
	if !ok {
		return h, noHeldErr("publish")
	}
	latest, _, err := w.Versions.Latest()
	if err != nil {
		return h, err
	}
	if !w.Versions.canReplace(h.Manifest, latest) {
		return h, fmt.Errorf("publish the held night %s: it is based on %s, but readers see %s; nothing was published: discard it with \"placementsync discard\"",
			h.Manifest.RunID, describeVersion(h.Manifest.Previous), describeVersion(latest))
	}
	if damaged, _ := w.VerifyHeld(ctx, true); len(damaged) > 0 {
		return h, fmt.Errorf("publish the held night %s: %w; nothing was published: discard it with \"placementsync discard\"", h.Manifest.RunID, damaged[0])
	}
	h.Run.Accepted, h.Run.AcceptedAt = accepted, now.UTC()
	if err := w.createHeldVersion(&h); err != nil {
		return h, fmt.Errorf("publish the held night %s: %w; readers keep the last snapshot, and the night is still held: repeat the command", h.Manifest.RunID, err)
	}
	run := h.Manifest.RunID
	if err = w.Versions.linkCatalog(); err == nil {
		err = w.Versions.switchTo(run)
	}
	if err != nil {
		return h, w.Versions.switchErr(run, err, "readers keep the last snapshot, and the night is still held")
	}
	// If the process is killed from here on, Recover reads the copied ledger line in the version.
	if err := w.RunLog.Record(h.Run); err != nil {
		return h, &AfterSwitchError{run, err}
	}
	if err := w.finishPublish(run); err != nil {
		return h, &AfterSwitchError{run, err}
	}
	if err := w.Pruner.RemoveUnneededResponses(); err != nil {
		return h, &AfterSwitchError{run, err}
	}
	return h, nil
}

func describeVersion(run string) string {
	if run == "" {
		return "no version"
	}
	return "version " + run
}

// createHeldVersion creates a version from hard links to the files of the held night, and a new copy of the
// ledger line with the accepted checks. The held files are kept until readers see the version.
func (w *Warehouse) createHeldVersion(h *HeldNight) error {
	run, disk := h.Manifest.RunID, w.Folder.disk
	heldNightDir, draftDir := w.Folder.Path(heldDir, run), w.Folder.Path(VersionsDir, "."+run+draftSuffix)
	if err := disk.RemoveAll(draftDir); err != nil {
		return err
	}
	if err := disk.MakeFolder(draftDir, privateDir); err != nil {
		return err
	}
	mode, err := w.Folder.publicMode(draftDir)
	if err != nil {
		return err
	}
	for _, sum := range h.Manifest.fileSums() {
		if err := disk.Link(filepath.Join(heldNightDir, sum.File), filepath.Join(draftDir, sum.File)); err != nil {
			return err
		}
	}
	line, err := w.RunLog.WriteCopy(draftDir, h.Run)
	if err != nil {
		return err
	}
	h.Manifest.LedgerLine = &line
	if err := w.Folder.writeManifest(draftDir, h.Manifest, mode); err != nil {
		return err
	}
	return w.Versions.moveDraft(draftDir, run)
}

// DiscardHeld removes the held night and returns its run. The caller must have the Lock. It returns
// a *ledger.UnknownRunError if no night is held.
func (w *Warehouse) DiscardHeld() (run string, err error) {
	run, err = w.heldRun()
	switch {
	case err != nil:
		return "", fmt.Errorf("discard the held night: %w; nothing was changed: run placementsync verify", err)
	case run == "":
		return "", noHeldErr("discard")
	}
	return run, w.removeHeld()
}

// removeHeld also removes the remaining files of a removal that was killed.
func (w *Warehouse) removeHeld() error {
	return w.discardHeldFolders(w.Folder.Glob(w.Folder.Path(heldDir, "*")))
}

func (w *Warehouse) discardHeldFolders(paths []string) error {
	for _, path := range paths {
		if err := w.Folder.disk.Discard(path); err != nil {
			return fmt.Errorf("remove the held night: %w", err)
		}
	}
	return nil
}

// finishKilledHeldPublish completes a killed publish of the held night. If the publish was killed before it
// switched the link "latest", the new version is removed instead, so that no rollback can publish it.
func (w *Warehouse) finishKilledHeldPublish() error {
	runs, err := listFolders(w.Folder.Path(heldDir))
	if err != nil || len(runs) == 0 {
		return err
	}
	latest, ok, err := w.Versions.Latest()
	if err != nil || !ok {
		return err
	}
	if slices.Contains(runs, latest) {
		return w.removeHeld()
	}
	versions, err := w.Versions.List()
	for _, run := range runs {
		if err == nil && slices.Contains(versions, run) {
			err = w.Folder.disk.Discard(w.Folder.VersionPath(run))
		}
	}
	return err
}

// canReplace reports whether a held night can be published while readers see the version latest: the held
// night is built on latest, or is a replay of the night of latest with the same Previous.
func (v *Versions) canReplace(m Manifest, latest string) bool {
	if m.Previous == latest {
		return true
	}
	if m.Kind != ledger.Replay {
		return false
	}
	latestManifest, err := v.ReadManifest(latest)
	if err != nil || latestManifest.Previous != m.Previous {
		return false
	}
	heldTime, _ := RunTime(m.RunID)
	latestTime, _ := RunTime(latest)
	return heldTime.Equal(latestTime)
}

// staleHeld returns the folder of a held night that is already published, that is older than latest, or for
// which canReplace returns false. It also returns the remaining folder of a killed removal.
func (v *Versions) staleHeld() (paths []string, err error) {
	entries, err := os.ReadDir(v.folder.Path(heldDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	latest, _, latestErr := v.Latest()
	if err = errors.Join(err, latestErr); err != nil {
		return nil, fmt.Errorf("find the held night: %w", err)
	}
	for _, e := range entries {
		run, path := e.Name(), v.folder.Path(heldDir, e.Name())
		isRemainder := strings.HasPrefix(run, ".") // of a killed removal
		m, err := v.ReadManifestFile(filepath.Join(path, ManifestFile), run)
		isUnusable := err == nil && !v.canReplace(m, latest)
		if isRemainder || isUnusable || run <= latest {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
