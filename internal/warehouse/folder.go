package warehouse

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"placementsync/internal/checksum"
	"placementsync/internal/durable"
)

// Folder is the folder of the warehouse: the paths in it, who may read them, and
// whether it can be used.
type Folder struct {
	dir  string
	disk durable.Disk
	mode fs.FileMode // as in Config.PublishedMode
}

// Dir is the folder of the warehouse.
func (f *Folder) Dir() string { return f.dir }

// Disk changes the files of the warehouse, with the hook of Config.Step.
func (f *Folder) Disk() durable.Disk { return f.disk }

// CatalogPath is what readers open: a symlink through "latest" to the newest version.
func (f *Folder) CatalogPath() string { return filepath.Join(f.dir, CatalogFile) }

// VersionPath is the folder of a published version.
func (f *Folder) VersionPath(run string) string {
	return filepath.Join(f.dir, versionsDir, run)
}

// VersionCatalog is the DuckDB file of a published version.
func (f *Folder) VersionCatalog(run string) string {
	return filepath.Join(f.VersionPath(run), CatalogFile)
}

// RawPath is the landing folder of a run.
func (f *Folder) RawPath(run string) string { return filepath.Join(f.dir, rawDir, run) }

// LandedRuns lists the runs that have landed answers, oldest first.
func (f *Folder) LandedRuns() ([]string, error) { return listFolders(f.path(rawDir)) }

// EventsPath is the folder of the deliveries that a run landed from the inbox.
func (f *Folder) EventsPath(run string) string { return f.path(rawDir, run, "webhooks") }

// InboxPath is the folder in which webhook deliveries wait for the next night.
func (f *Folder) InboxPath() string { return f.path(stateDir, "inbox") }

// SeenPath is the folder of what a night remembers of lists. It is a cache.
func (f *Folder) SeenPath() string { return f.path(stateDir, seenDir) }

// MakeInbox makes the folder of InboxPath and returns it.
func (f *Folder) MakeInbox() (string, error) {
	if err := f.makeFolders(); err != nil {
		return "", err
	}
	return f.InboxPath(), os.MkdirAll(f.InboxPath(), privateDir)
}

func (f *Folder) dayManifestPath(day string) string {
	return f.path(seriesDir, manifestsDir, seriesDay+day+manifestSuffix)
}

func (f *Folder) metaPath(run, suffix string) string {
	return f.path(seriesDir, metaDir, run+suffix)
}

func (f *Folder) path(parts ...string) string {
	return filepath.Join(append([]string{f.dir}, parts...)...)
}

func (f *Folder) relativePath(path string) string {
	name, err := filepath.Rel(f.dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(name)
}

// makeFolders creates the folder. Others may read versions and series; answers of the
// service and state are private.
func (f *Folder) makeFolders() error {
	for _, name := range []string{versionsDir, seriesDir} {
		if err := f.makePublic(f.path(name)); err != nil {
			return f.placeErr(err)
		}
	}
	for _, name := range []string{rawDir, stateDir} {
		if err := os.MkdirAll(f.path(name), privateDir); err != nil {
			return f.placeErr(err)
		}
	}
	return nil
}

// makePublic makes a folder for published files, and those above it.
func (f *Folder) makePublic(dir string) error {
	if err := os.MkdirAll(dir, publicDir); err != nil || f.mode == 0 {
		return err
	}
	return os.Chmod(dir, folderMode(f.mode))
}

// makePublicAbove makes the two folders above a published file of the series.
func (f *Folder) makePublicAbove(path string) error {
	if err := f.makePublic(filepath.Dir(filepath.Dir(path))); err != nil {
		return err
	}
	return f.makePublic(filepath.Dir(path))
}

// publicMode returns the rights of a published file. Where the umask decides, it creates
// a file and looks, which works on every system.
func (f *Folder) publicMode(dir string) (mode fs.FileMode, err error) {
	if f.mode != 0 {
		return f.mode, nil
	}
	probe, err := durable.CreateTemp(filepath.Join(dir, "rights"), publicFile)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, probe.Close(), os.Remove(probe.Name())) }()
	info, err := probe.Stat()
	if err != nil {
		return 0, err
	}
	return info.Mode().Perm(), nil
}

// setModeAndSync sets the rights of a file or folder and syncs it.
func (f *Folder) setModeAndSync(path string, mode fs.FileMode) error {
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	return f.disk.Sync(path)
}

// writeSealed replaces a JSON file of the series that does not belong to a version.
func (f *Folder) writeSealed(path string, value any) error {
	data, err := checksum.Seal(value)
	if err != nil {
		return err
	}
	if f.mode != 0 {
		return f.disk.WriteFileExact(path, data, f.mode)
	}
	return f.disk.WriteFile(path, data, publicFile)
}

// folderMode adds to the rights of files the right to enter their folder.
func folderMode(mode fs.FileMode) fs.FileMode { return mode | mode&0o444>>2 }

// stepLabel names a file or folder for trials by what is the same in every run: the
// names of drafts and versions contain their run, those of segments of the inbox a time.
func stepLabel(path string) string {
	name := filepath.Base(path)
	visible := strings.TrimPrefix(name, ".")
	run, _, _ := strings.Cut(visible, ".")
	if _, ok := RunTime(run); ok {
		return "of the version"
	}
	if name == CatalogFile && strings.HasPrefix(filepath.Base(filepath.Dir(path)), ".") {
		return "of the draft"
	}
	if strings.HasPrefix(visible, seriesDay) {
		return "of the day"
	}
	if ext := filepath.Ext(name); ext == ".open" || ext == ".log" {
		return "of the inbox"
	}
	return name
}

// listFolders lists the folders in a folder in the order of their names; none when it
// does not exist.
func listFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
