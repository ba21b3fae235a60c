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

// heldDir contains the held night: a version that was not published because of failed checks.
// There is at most one. Its files are private until it is published.
const heldDir = "held"

// HeldNight is a complete version that was not published because of failed checks.
type HeldNight struct {
	Manifest Manifest
	// Entry is the ledger entry for the run after the publish.
	Entry ledger.Run
}

// FailedChecks returns the names of the checks that hold the night.
func (h HeldNight) FailedChecks() (names []string) {
	for _, c := range h.Entry.Checks {
		if c.Holds() {
			names = append(names, c.Name)
		}
	}
	return names
}

// HeldCatalog returns the path of the DuckDB file of a held night.
func (f *Folder) HeldCatalog(run string) string { return f.Path(heldDir, run, CatalogFile) }

// Hold seals and verifies the draft as Publish does, and keeps it as the held night in place
// of an earlier one. Readers do not see it. tables are those of Publish.
func (d *Draft) Hold(ctx context.Context, tables []ManifestTable) (Manifest, error) {
	m, err := d.seal(ctx, tables)
	if err != nil {
		return m, err
	}
	if err := d.w.dropHeld(); err != nil {
		return m, d.unpublishedErr("hold", err)
	}
	err = os.MkdirAll(d.w.Folder.Path(heldDir), privateDir)
	if err == nil {
		err = d.w.Folder.disk.Rename(d.Dir, d.w.Folder.Path(heldDir, d.Run))
	}
	if err != nil {
		return m, d.unpublishedErr("hold", err)
	}
	return m, nil
}

// Held returns the held night. ok is false if there is none.
func (w *Warehouse) Held() (h HeldNight, ok bool, err error) {
	run, err := w.heldRun()
	if err != nil || run == "" {
		return h, false, err
	}
	if h.Manifest, err = w.Versions.ReadManifestFile(w.Folder.Path(heldDir, run, ManifestFile), run); err != nil {
		return h, false, err
	}
	h.Entry, ok = w.Ledger.readEntry(w.Folder.Path(heldDir, run), run)
	if !ok {
		return h, false, w.Folder.DamagedErr(w.Folder.Path(heldDir, run, runFile), "it is no entry of the run", nil)
	}
	return h, true, nil
}

// heldRun returns the run of the held night, or "". A published night that is not yet removed
// from the folder is not held.
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

// recordHeld writes the ledger entry of a held night if its run was killed before that. It also
// removes the note of the run, because a held night is not resumed.
func (w *Warehouse) recordHeld() error {
	h, ok, err := w.Held()
	if err != nil || !ok {
		return nil // verify names a damaged one
	}
	runs, err := w.Ledger.Runs()
	if err != nil || ledger.Find(runs, h.Entry.ID).Held {
		return err
	}
	entry := h.Entry
	entry.Outcome, entry.ExitCode, entry.SnapshotAt, entry.Held = ledger.Failed, ledger.Failed.ExitCode(), time.Time{}, true
	entry.Error = "held by its checks: " + strings.Join(h.FailedChecks(), ", ")
	if err := w.Ledger.Record(entry); err != nil {
		return err
	}
	waiting, ok, err := w.Ledger.Unfinished()
	if err != nil || !ok || waiting.Run != entry.ID {
		return err
	}
	return w.Ledger.Finish()
}

// noHeldErr returns the error of commands for the held night if there is none.
func noHeldErr(verb string) error {
	return &ledger.UnknownRunError{Problem: verb + " the held night: no night is held; nothing was changed"}
}

// CheckHeld compares the files of the held night with its manifest. Without readData it compares
// only sizes.
func (w *Warehouse) CheckHeld(ctx context.Context, readData bool) (damaged []*DamagedError, files int) {
	run, err := w.heldRun()
	if err != nil || run == "" {
		return nil, 0
	}
	dir := w.Folder.Path(heldDir, run)
	m, err := w.Versions.ReadManifestFile(filepath.Join(dir, ManifestFile), run)
	if err != nil {
		return []*DamagedError{{File: w.Folder.Relative(filepath.Join(dir, ManifestFile)), Problem: err.Error()}}, 1
	}
	known := checksum.NewCache(ctx)
	for _, want := range m.fileSums() {
		files++
		if problem := known.Compare(filepath.Join(dir, want.File), want, readData); problem != "" {
			damaged = append(damaged, &DamagedError{File: w.Folder.Relative(filepath.Join(dir, want.File)), Problem: problem})
		}
	}
	return damaged, files
}

// PublishHeld switches readers to the held night. accepted must name each check that holds it.
// The ledger entry records them with the time. It needs the Lock. Without a held night it returns
// a *ledger.UnknownRunError. After an *AfterSwitchError the night is published. After any other
// error it is still held.
func (w *Warehouse) PublishHeld(ctx context.Context, accepted []string, now time.Time) (HeldNight, error) {
	if err := w.Recover(); err != nil {
		return HeldNight{}, err
	}
	h, ok, err := w.Held()
	if err != nil {
		return h, fmt.Errorf("publish the held night: %w; it is kept, readers keep the last snapshot", err)
	}
	if !ok {
		return h, noHeldErr("publish")
	}
	latest, _, err := w.Versions.Latest()
	if err != nil {
		return h, err
	}
	if latest != h.Manifest.Previous {
		return h, fmt.Errorf("publish the held night %s: it was built on %s and readers see %s: drop it with placementsync discard --held; nothing was changed",
			h.Manifest.RunID, orNothing(h.Manifest.Previous), orNothing(latest))
	}
	if damaged, _ := w.CheckHeld(ctx, true); len(damaged) > 0 {
		return h, fmt.Errorf("publish the held night %s: %w; nothing was changed: drop it with placementsync discard --held", h.Manifest.RunID, damaged[0])
	}
	h.Entry.Accepted, h.Entry.AcceptedAt = accepted, now.UTC()
	if err := w.copyHeld(&h); err != nil {
		return h, fmt.Errorf("publish the held night %s: %w; readers keep the last snapshot", h.Manifest.RunID, err)
	}
	run := h.Manifest.RunID
	if err := errors.Join(w.Versions.linkCatalog(), w.Versions.switchTo(run)); err != nil {
		return h, fmt.Errorf("switch to version %s: %w", run, err)
	}
	// If the process is killed after this, Recover reads the entry in the version.
	if err := w.Ledger.Record(h.Entry); err != nil {
		return h, &AfterSwitchError{run, err}
	}
	if err := w.finishPublish(run); err != nil {
		return h, &AfterSwitchError{run, err}
	}
	if err := w.Pruner.DiscardSpent(); err != nil {
		return h, &AfterSwitchError{run, err}
	}
	return h, nil
}

func orNothing(run string) string {
	if run == "" {
		return "no version"
	}
	return "version " + run
}

// copyHeld links the files of the held night below versions/, so that it is still held until the
// switch. It writes a new entry of the run, with the accepted checks.
func (w *Warehouse) copyHeld(h *HeldNight) error {
	run := h.Manifest.RunID
	from, draft := w.Folder.Path(heldDir, run), w.Folder.Path(VersionsDir, "."+run+draftSuffix)
	if err := w.Folder.disk.RemoveAll(draft); err != nil {
		return err
	}
	if err := os.MkdirAll(draft, privateDir); err != nil {
		return err
	}
	mode, err := w.Folder.publicMode(draft)
	if err != nil {
		return err
	}
	for _, f := range h.Manifest.fileSums() {
		if f.File == runFile {
			continue
		}
		if err := w.Folder.disk.Link(filepath.Join(from, f.File), filepath.Join(draft, f.File)); err != nil {
			return err
		}
	}
	entry, err := checksum.SealLine(h.Entry)
	if err == nil {
		err = w.Folder.disk.WriteFile(filepath.Join(draft, runFile), append(entry, '\n'), privateFile)
	}
	if err != nil {
		return err
	}
	sum, err := checksum.SumFile(context.Background(), draft, runFile)
	if err != nil {
		return err
	}
	h.Manifest.Entry = &sum
	data, err := checksum.Seal(h.Manifest)
	if err == nil {
		err = w.Folder.disk.WriteFileExact(filepath.Join(draft, ManifestFile), data, mode)
	}
	if err == nil {
		err = w.Folder.setModeAndSync(draft, folderMode(mode))
	}
	if err == nil {
		err = w.Folder.disk.RemoveAll(w.Folder.VersionPath(run))
	}
	if err == nil {
		err = w.Folder.disk.Rename(draft, w.Folder.VersionPath(run))
	}
	return err
}

// DiscardHeld removes the held night. It needs the Lock. Without a held night it returns a
// *ledger.UnknownRunError.
func (w *Warehouse) DiscardHeld() (run string, err error) {
	run, err = w.heldRun()
	switch {
	case err != nil:
		return "", fmt.Errorf("discard the held night: %w; nothing was changed", err)
	case run == "":
		return "", noHeldErr("discard")
	}
	return run, w.dropHeld()
}

// dropHeld removes the held night. If its publish was killed before the switch, it also removes
// the incomplete version.
func (w *Warehouse) dropHeld() error {
	entries, err := os.ReadDir(w.Folder.Path(heldDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the held night: %w", err)
	}
	if err := w.dropHalfPublished(); err != nil {
		return err
	}
	for _, e := range entries {
		remove := w.Folder.disk.Discard
		if strings.HasPrefix(e.Name(), ".") { // an earlier removal was killed
			remove = w.Folder.disk.RemoveAll
		}
		if err := remove(w.Folder.Path(heldDir, e.Name())); err != nil {
			return fmt.Errorf("remove the held night: %w", err)
		}
	}
	return nil
}

// dropHalfPublished removes the version of a held night whose publish was killed before the
// switch. It keeps the held night.
func (w *Warehouse) dropHalfPublished() error {
	run, err := w.heldRun()
	if err != nil || run == "" {
		return err
	}
	versions, err := w.Versions.List()
	if err != nil || !slices.Contains(versions, run) {
		return err
	}
	return w.Folder.disk.Discard(w.Folder.VersionPath(run))
}

// dropStaleHeld removes a held night that cannot be published any more, because it was already
// published, or because readers no longer see the version that it was built on.
func (w *Warehouse) dropStaleHeld(latest string) error {
	h, ok, err := w.Held()
	if err == nil && ok && h.Manifest.Previous == latest {
		return nil
	}
	if errors.As(err, new(*DamagedError)) {
		return nil // verify names it, and the next night replaces it
	}
	if err != nil {
		return err
	}
	return w.dropHeld()
}
