package warehouse

import (
	"context"
	"time"

	"placementsync/internal/durable"
	"placementsync/internal/stream"
)

// The methods of Warehouse that its parts have now, for the callers that still use them here.

// SetAside is Mender.SetAside.
func (w *Warehouse) SetAside(run string, found []Damage) error {
	return w.Mender.SetAside(run, found)
}

// Meta is Catalog.MetaDefinitions.
func (w *Warehouse) Meta() []stream.Definition {
	return w.Catalog.MetaDefinitions()
}

// Tables is Catalog.Tables.
func (w *Warehouse) Tables() []stream.Table {
	return w.Catalog.Tables()
}

// Definition is Catalog.Definition.
func (w *Warehouse) Definition(table string) stream.Definition {
	return w.Catalog.Definition(table)
}

// Definitions is Catalog.Definitions.
func (w *Warehouse) Definitions() map[string]stream.Definition {
	return w.Catalog.Definitions()
}

// WithRemedy is Examiner.WithRemedy.
func (w *Warehouse) WithRemedy(err error, broken string) error {
	return w.Examiner.WithRemedy(err, broken)
}

// Suspect is Examiner.Suspect.
func (w *Warehouse) Suspect(err error) error {
	return w.Examiner.ExplainErr(err)
}

// Examine is Examiner.Examine.
func (w *Warehouse) Examine(ctx context.Context, readData bool) (Examined, error) {
	return w.Examiner.Examine(ctx, readData)
}

// Dir is Folder.Dir.
func (w *Warehouse) Dir() string {
	return w.Folder.Dir()
}

// Disk is Folder.Disk.
func (w *Warehouse) Disk() durable.Disk {
	return w.Folder.Disk()
}

// CatalogPath is Folder.CatalogPath.
func (w *Warehouse) CatalogPath() string {
	return w.Folder.CatalogPath()
}

// VersionPath is Folder.VersionPath.
func (w *Warehouse) VersionPath(run string) string {
	return w.Folder.VersionPath(run)
}

// VersionCatalog is Folder.VersionCatalog.
func (w *Warehouse) VersionCatalog(run string) string {
	return w.Folder.VersionCatalog(run)
}

// RawPath is Folder.RawPath.
func (w *Warehouse) RawPath(run string) string {
	return w.Folder.RawPath(run)
}

// Landed is Folder.LandedRuns.
func (w *Warehouse) Landed() ([]string, error) {
	return w.Folder.LandedRuns()
}

// LandedEvents is Folder.EventsPath.
func (w *Warehouse) LandedEvents(run string) string {
	return w.Folder.EventsPath(run)
}

// InboxPath is Folder.InboxPath.
func (w *Warehouse) InboxPath() string {
	return w.Folder.InboxPath()
}

// MakeInbox is Folder.MakeInbox.
func (w *Warehouse) MakeInbox() (string, error) {
	return w.Folder.MakeInbox()
}

// CheckIdentity is Identity.Check.
func (w *Warehouse) CheckIdentity() error {
	return w.Identity.Check()
}

// Record is Ledger.Record.
func (w *Warehouse) Record(r Run) error {
	return w.Ledger.Record(r)
}

// Runs is Ledger.Runs.
func (w *Warehouse) Runs() ([]Run, error) {
	return w.Ledger.Runs()
}

// Told is Ledger.AllRuns.
func (w *Warehouse) Told() ([]Run, error) {
	return w.Ledger.AllRuns()
}

// Held is Folder.Held.
func (w *Warehouse) Held() error {
	return w.Folder.Held()
}

// CheckFormat is Versions.CheckFormat.
func (w *Warehouse) CheckFormat() error {
	return w.Versions.CheckFormat()
}

// ReadManifest is Versions.ReadManifest.
func (w *Warehouse) ReadManifest(run string) (Manifest, error) {
	return w.Versions.ReadManifest(run)
}

// MendCopies is Mender.MendCopies.
func (w *Warehouse) MendCopies() (mended []string, left []Mending, err error) {
	return w.Mender.MendCopies()
}

// Mend is Mender.Replace.
func (w *Warehouse) Mend(one Mending, file string) error {
	return w.Mender.Replace(one, file)
}

// MetaChanges is MetaLog.Files.
func (w *Warehouse) MetaChanges(run string) (files []string, found []Damage) {
	return w.MetaLog.Files(run)
}

// HasMetaChanges is MetaLog.HasChanges.
func (w *Warehouse) HasMetaChanges() bool {
	return w.MetaLog.HasChanges()
}

// Exists is Folder.Exists.
func (w *Warehouse) Exists() error {
	return w.Folder.Exists()
}

// CheckWritable is Folder.CheckWritable.
func (w *Warehouse) CheckWritable() error {
	return w.Folder.CheckWritable()
}

// NewRunID is Folder.NewRunID.
func (w *Warehouse) NewRunID(at time.Time) (string, error) {
	return w.Folder.NewRunID(at)
}

// Free is Folder.FreeBytes.
func (w *Warehouse) Free() (int64, error) {
	return w.Folder.FreeBytes()
}

// Full is Folder.FullErr.
func (w *Warehouse) Full(err error) error {
	return w.Folder.FullErr(err)
}

// Start is Ledger.Start.
func (w *Warehouse) Start(u Unfinished) error {
	return w.Ledger.Start(u)
}

// StartAside is Ledger.StartAside.
func (w *Warehouse) StartAside(u Unfinished) error {
	return w.Ledger.StartAside(u)
}

// Finished is Ledger.Finish.
func (w *Warehouse) Finished() error {
	return w.Ledger.Finish()
}

// FinishedAside is Ledger.FinishAside.
func (w *Warehouse) FinishedAside() error {
	return w.Ledger.FinishAside()
}

// Unfinished is Ledger.Unfinished.
func (w *Warehouse) Unfinished() (u Unfinished, ok bool, err error) {
	return w.Ledger.Unfinished()
}

// Prune is Pruner.Prune.
func (w *Warehouse) Prune(r Retention, now time.Time, dryRun bool) ([]Pruned, error) {
	return w.Pruner.Prune(r, now, dryRun)
}

// Spent is Pruner.IsSpent.
func (w *Warehouse) Spent(run string) (bool, error) {
	return w.Pruner.IsSpent(run)
}

// DiscardSpent is Pruner.DiscardSpent.
func (w *Warehouse) DiscardSpent() error {
	return w.Pruner.DiscardSpent()
}

// NoteVerified is Examiner.SaveVerified.
func (w *Warehouse) NoteVerified(v Verified) error {
	return w.Examiner.SaveVerified(v)
}

// LastVerified is Examiner.LastVerified.
func (w *Warehouse) LastVerified() (v Verified, ok bool, err error) {
	return w.Examiner.LastVerified()
}

// Latest is Versions.Latest.
func (w *Warehouse) Latest() (run string, ok bool, err error) {
	return w.Versions.Latest()
}

// CheckCatalog is Versions.CheckCatalog.
func (w *Warehouse) CheckCatalog(run string) error {
	return w.Versions.CheckCatalog(run)
}

// DropVersion is Versions.Drop.
func (w *Warehouse) DropVersion(run string) error {
	return w.Versions.Drop(run)
}
