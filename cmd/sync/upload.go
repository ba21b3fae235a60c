package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"placementsync/internal/command"
	"placementsync/internal/durable"
	"placementsync/internal/object"
	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

// remoteExport is the manifest of an export in a bucket: that of a folder, whose name it
// adds. Readers find the files through it, since the folder is another one each time.
type remoteExport struct {
	query.ExportManifest
	// Folder holds the files, below the place of the manifest.
	Folder string `json:"folder"`
	// Before is the export that this one replaced; its files stay for those who read
	// them, until the next one.
	Before *pastExport `json:"before,omitempty"`
}

type pastExport struct {
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
}

// exportFolder is the form of the name of a folder: when its export was made.
const exportFolder = "20060102T150405.000000000Z"

// mostExportManifest bounds a manifest in bytes.
const mostExportManifest = 16 << 20

// exportToBucket writes the export into a temporary folder and sends its files, then the
// manifest that names them. Until that is there, readers see the export before.
func exportToBucket(ctx context.Context, g *globals, db *query.DB, address string, e query.Export) (m query.ExportManifest, err error) {
	cfg, err := g.loadConfig("warehouse", "retention", "s3")
	if err != nil {
		return m, err
	}
	b, err := openBucket(ctx, cfg, address)
	if err != nil {
		return m, err
	}
	before, err := readRemoteExport(ctx, b)
	if err != nil {
		return m, err
	}
	temp, err := durable.MakeTemp("placementsync-export-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }()
	dir := filepath.Join(temp.Dir, "files")
	if m, err = db.Export(ctx, dir, e); err != nil {
		return m, err
	}
	next := remoteExport{ExportManifest: m, Folder: g.now().UTC().Format(exportFolder)}
	if before.Folder != "" {
		next.Before = &pastExport{before.Folder, filesOf(before.ExportManifest)}
	}
	if err := sendFolder(ctx, b, dir, next); err != nil {
		return m, fmt.Errorf("%w; readers of %s find the export before", err, b.Address(""))
	}
	text, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return m, err
	}
	// A request that failed may have arrived, and then readers need the files.
	if err := b.PutBytes(ctx, warehouse.ManifestFile, append(text, '\n')); err != nil {
		return m, fmt.Errorf("%w; the files of the export stay in %s", err, b.Address(next.Folder))
	}
	if err := removeOldExports(ctx, b, next, orEmpty(before.Before)); err != nil {
		g.newLogger().Warn("files of old exports not removed", "error", err)
	}
	return m, nil
}

// removeOldExports removes the files of the export that the one before replaced, and what
// killed exports have sent: folders of their form that the manifest does not name. Files
// that are less than a day older than those of this export, by the clock of the server, may
// be of an export at work.
func removeOldExports(ctx context.Context, b *object.Bucket, e remoteExport, past pastExport) error {
	const century, restTime = "2", 24 * time.Hour // by which the folders begin
	objects, err := b.List(ctx, century)
	if err != nil {
		return err
	}
	doomed := past.names()
	var now time.Time
	for _, o := range objects {
		if strings.HasPrefix(o.Name, e.Folder+"/") && o.StoredAt.After(now) {
			now = o.StoredAt
		}
	}
	for _, o := range objects {
		folder, _, _ := strings.Cut(o.Name, "/")
		_, err := time.Parse(exportFolder, folder)
		isNamed := folder == e.Folder || folder == orEmpty(e.Before).Folder
		if err == nil && !isNamed && !o.StoredAt.IsZero() && o.StoredAt.Before(now.Add(-restTime)) {
			doomed = append(doomed, o.Name)
		}
	}
	return b.Delete(ctx, doomed...)
}

// names are those of the objects.
func (p pastExport) names() []string {
	names := make([]string, len(p.Files))
	for i, file := range p.Files {
		names[i] = path.Join(p.Folder, file)
	}
	return names
}

// sendFolder sends the files of an export, and removes them when one fails: no later
// export knows of them.
func sendFolder(ctx context.Context, b *object.Bucket, dir string, e remoteExport) (err error) {
	for i, f := range e.Files {
		name := path.Join(e.Folder, f.File)
		if err := sendExported(ctx, b, filepath.Join(dir, filepath.FromSlash(f.File)), name, object.Sum{Bytes: f.Bytes, SHA256: f.SHA256}); err != nil {
			return errors.Join(err, removeSent(ctx, b, pastExport{e.Folder, filesOf(e.ExportManifest)[:i+1]}))
		}
	}
	return nil
}

// removeSent removes what a failed export has sent, also when the command is being stopped.
func removeSent(ctx context.Context, b *object.Bucket, sent pastExport) error {
	const most = 3 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	if err := b.Delete(ctx, sent.names()...); err != nil {
		return fmt.Errorf("remove what was sent of the export, which stays in %s: %w", b.Address(sent.Folder), err)
	}
	return nil
}

func filesOf(m query.ExportManifest) []string {
	files := make([]string, len(m.Files))
	for i, f := range m.Files {
		files[i] = f.File
	}
	return files
}

func sendExported(ctx context.Context, b *object.Bucket, file, name string, sum object.Sum) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return b.Put(ctx, name, f, sum)
}

// readRemoteExport reads the manifest of the export that is there; empty: there is none.
// What another program wrote under its name is not replaced.
func readRemoteExport(ctx context.Context, b *object.Bucket) (m remoteExport, err error) {
	text, err := b.Read(ctx, warehouse.ManifestFile, mostExportManifest)
	if errors.Is(err, object.ErrMissing) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if json.Unmarshal(text, &m) != nil || !m.IsExport() || m.Folder == "" {
		return m, command.UsageErr("%s was not written by an export: name another prefix", b.Address(warehouse.ManifestFile))
	}
	// Names lead to what is removed later.
	for _, past := range []pastExport{{m.Folder, filesOf(m.ExportManifest)}, orEmpty(m.Before)} {
		for _, file := range past.Files {
			if !filepath.IsLocal(past.Folder) || !filepath.IsLocal(file) {
				return m, command.UsageErr("%s names files elsewhere: name another prefix", b.Address(warehouse.ManifestFile))
			}
		}
	}
	return m, nil
}

func orEmpty(p *pastExport) pastExport {
	if p == nil {
		return pastExport{}
	}
	return *p
}
