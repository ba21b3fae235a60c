package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"placementsync/internal/bucket"
	"placementsync/internal/checksum"
	"placementsync/internal/durable"
)

// BucketManifest is the manifest of an export in a bucket. Each export has its own folder. Readers
// find the folder through the manifest.
type BucketManifest struct {
	ExportManifest
	// Folder contains the files. Its path is relative to the manifest.
	Folder string `json:"folder"`
	// Previous is the export before this one. Its files are kept until the next export, for readers
	// that have already read its manifest.
	Previous *PreviousExport `json:"before,omitempty"`
}

// PreviousExport lists the files of a replaced export.
type PreviousExport struct {
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
}

// exportFolderLayout is the layout of folder names, which are the times of the exports.
const exportFolderLayout = "20060102T150405.000000000Z"

const maxManifestBytes = 16 << 20

// ExportToBucket writes an export into a temporary folder and uploads its files, and then the
// manifest. Until the manifest is uploaded, readers find the previous export. If the bucket contains
// a manifest of another program, ExportToBucket keeps it and returns a *UsageError.
func (db *DB) ExportToBucket(ctx context.Context, b *bucket.Bucket, e Export, now time.Time, log *slog.Logger) (m ExportManifest, err error) {
	previous, err := readBucketManifest(ctx, b)
	if err != nil {
		return m, err
	}
	temp, err := durable.MakeTempFolder("placementsync-export-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }()
	dir := filepath.Join(temp.Dir, "files")
	if m, err = db.Export(ctx, dir, e); err != nil {
		return m, err
	}
	manifest := BucketManifest{ExportManifest: m, Folder: now.UTC().Format(exportFolderLayout)}
	if previous.Folder != "" {
		manifest.Previous = &PreviousExport{Folder: previous.Folder, Files: []string{}}
		for _, f := range previous.Files {
			manifest.Previous.Files = append(manifest.Previous.Files, f.File)
		}
	}
	if err := uploadFiles(ctx, b, dir, manifest); err != nil {
		return m, fmt.Errorf("%w; readers of %s keep the previous export", err, b.Address(""))
	}
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return m, err
	}
	// The server may have stored the manifest although the request failed. The uploaded files are
	// kept, because readers then need them.
	if err := b.PutBytes(ctx, exportManifestFile, append(text, '\n')); err != nil {
		return m, fmt.Errorf("%w; the files of the export are kept in %s", err, b.Address(manifest.Folder))
	}
	if err := removeOldExports(ctx, b, manifest, previous.Previous); err != nil {
		log.Warn("files of old exports not removed", "error", err)
	}
	return m, nil
}

// readBucketManifest returns the current manifest, or an empty one before the first export.
func readBucketManifest(ctx context.Context, b *bucket.Bucket) (m BucketManifest, err error) {
	text, err := b.Read(ctx, exportManifestFile, maxManifestBytes)
	if errors.Is(err, bucket.ErrMissing) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if json.Unmarshal(text, &m) != nil || m.Kind != exportKind || m.Folder == "" {
		return m, &UsageError{Problem: b.Address(exportManifestFile) + " was not written by an export: name another prefix"}
	}
	return m, nil
}

// uploadFiles uploads the files of m. After an error it removes them, because no manifest lists them.
func uploadFiles(ctx context.Context, b *bucket.Bucket, dir string, m BucketManifest) error {
	upload := func(f ExportFile) (err error) {
		file, err := os.Open(filepath.Join(dir, f.File))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		return b.Put(ctx, path.Join(m.Folder, f.File), file, checksum.FileSum{Bytes: f.Bytes, SHA256: f.SHA256})
	}
	var names []string
	for _, f := range m.Files {
		names = append(names, path.Join(m.Folder, f.File))
		err := upload(f)
		if err == nil {
			continue
		}
		// The files are removed even if ctx is cancelled.
		const timeout = 3 * time.Second
		cleanupCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
		defer cancel()
		if removeErr := b.Delete(cleanupCtx, names...); removeErr != nil {
			err = errors.Join(err, fmt.Errorf("remove the uploaded files of the export from %s, which still contains them: %w", b.Address(m.Folder), removeErr))
		}
		return err
	}
	return nil
}

// removeOldExports removes the files of old, which is the export before the previous one. It also
// removes files of interrupted exports, which are in folders that m does not name. Such a folder may
// belong to a running export, so a file is removed only if it is a day older than the files of m, by
// the clock of the server.
func removeOldExports(ctx context.Context, b *bucket.Bucket, m BucketManifest, old *PreviousExport) error {
	const folderPrefix, minAge = "2", 24 * time.Hour // folder names begin with a year
	objects, err := b.List(ctx, folderPrefix)
	if err != nil {
		return err
	}
	namedFolders := []string{m.Folder}
	if m.Previous != nil {
		namedFolders = append(namedFolders, m.Previous.Folder)
	}
	var newestUpload time.Time
	for _, o := range objects {
		if strings.HasPrefix(o.Name, m.Folder+"/") && o.StoredAt.After(newestUpload) {
			newestUpload = o.StoredAt
		}
	}
	var obsolete []string
	for _, o := range objects {
		folder, _, _ := strings.Cut(o.Name, "/")
		_, err := time.Parse(exportFolderLayout, folder)
		isStale := !o.StoredAt.IsZero() && o.StoredAt.Before(newestUpload.Add(-minAge))
		if err == nil && !slices.Contains(namedFolders, folder) && (old != nil && folder == old.Folder || isStale) {
			obsolete = append(obsolete, o.Name)
		}
	}
	return b.Delete(ctx, obsolete...)
}
