package warehouse

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"placementsync/internal/checksum"
	"placementsync/internal/durable"
)

// Folder is the folder of the warehouse: its paths, the modes of its files, and the disk.
type Folder struct {
	dir  string
	disk durable.Disk
	mode fs.FileMode // as in Config.PublishedMode
}

func (f *Folder) Dir() string { return f.dir }

// Disk changes files and calls Config.Step.
func (f *Folder) Disk() durable.Disk { return f.disk }

// CatalogPath is the file that readers open, a link to latest/catalog.duckdb.
func (f *Folder) CatalogPath() string { return f.Path(CatalogFile) }

// VersionPath is the folder of a published version.
func (f *Folder) VersionPath(run string) string { return f.Path(VersionsDir, run) }

// VersionCatalog is the DuckDB file of a published version.
func (f *Folder) VersionCatalog(run string) string { return f.Path(VersionsDir, run, CatalogFile) }

// RawPath is the folder of the stored responses of a run.
func (f *Folder) RawPath(run string) string { return f.Path(rawDir, run) }

// RunsWithResponses lists the runs that have stored responses, oldest first.
func (f *Folder) RunsWithResponses() ([]string, error) { return listFolders(f.Path(rawDir)) }

// EventsPath is the folder of the webhook events of a run.
func (f *Folder) EventsPath(run string) string { return f.Path(rawDir, run, "webhooks") }

// InboxPath is the folder of the webhook deliveries that are not yet published.
func (f *Folder) InboxPath() string { return f.Path(StateDir, "inbox") }

// MakeInbox creates the folder InboxPath in an existing warehouse.
func (f *Folder) MakeInbox() (string, error) {
	if err := f.CheckExists(); err != nil {
		return "", err
	}
	return f.InboxPath(), f.disk.MakeFolder(f.InboxPath(), privateDir)
}

// DayManifestPath is the manifest of a day of the series. The day has the form 2006-01-02.
func (f *Folder) DayManifestPath(day string) string {
	return f.Path(SeriesDir, manifestsDir, DayPrefix+day+manifestSuffix)
}

// RunManifestPath is the copy of a run's manifest beside the file of ChangesPath.
func (f *Folder) RunManifestPath(run string) string {
	return f.Path(SeriesDir, metaDir, run+manifestSuffix)
}

// ManifestPaths are the paths of the copies of a run's manifest: in the version, beside the file of ChangesPath,
// and the manifest of the day. A later run of the day replaces the manifest of the day by its own.
func (f *Folder) ManifestPaths(run, day string) []string {
	return []string{f.Path(VersionsDir, run, ManifestFile), f.RunManifestPath(run), f.DayManifestPath(day)}
}

// ChangesPath is the file with a run's changes of the schemas meta and past.
func (f *Folder) ChangesPath(run string) string {
	return f.Path(SeriesDir, metaDir, run+changesSuffix)
}

// Path joins names below the folder.
func (f *Folder) Path(names ...string) string {
	return filepath.Join(append([]string{f.dir}, names...)...)
}

// Glob returns the existing paths that match a pattern. The pattern begins with the path of the folder, in which
// characters such as * and [ have no special meaning.
func (f *Folder) Glob(pattern string) []string {
	names, _ := fs.Glob(os.DirFS(f.dir), f.Relative(pattern)) // a bad pattern matches nothing
	for i, name := range names {
		names[i] = f.Path(name)
	}
	return names
}

// Relative is the path of a file relative to the folder, with slashes.
func (f *Folder) Relative(path string) string {
	name, err := filepath.Rel(f.dir, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(name)
}

// Create creates the folders of an empty warehouse. The new folders belong to owner, or to the current user if
// owner is nil.
func (f *Folder) Create(owner *durable.Access) (err error) {
	existing := f.nearestExisting() // read before the folders exist
	if err := f.makeFolders(); err != nil {
		return err
	}
	if owner == nil {
		return nil
	}
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return err
	}
	// The owner could replace a new folder by a link. A change of owner through root does not follow it
	// to another place.
	root, err := os.OpenRoot(existing)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	for _, name := range slices.Concat(publicFolders(), privateFolders()) {
		relative, err := filepath.Rel(existing, filepath.Join(dir, name))
		if err != nil {
			return err
		}
		for ; relative != "."; relative = filepath.Dir(relative) { // the folder, and the folders between it and existing
			if err := root.Lchown(relative, owner.UID, owner.GID); err != nil {
				return err
			}
		}
	}
	return nil
}

func publicFolders() []string { return []string{VersionsDir, SeriesDir} }

func privateFolders() []string { return []string{rawDir, StateDir} }

func (f *Folder) makeFolders() error {
	for _, name := range publicFolders() {
		if err := f.MakePublic(f.Path(name)); err != nil {
			return f.folderErr(err)
		}
	}
	for _, name := range privateFolders() {
		if err := f.disk.MakeFolder(f.Path(name), privateDir); err != nil {
			return f.folderErr(err)
		}
	}
	return nil
}

// MakePublic creates a folder for published files, and the missing folders above it.
func (f *Folder) MakePublic(dir string) error {
	if err := f.disk.MakeFolder(dir, publicDir); err != nil {
		return err
	}
	if f.mode == 0 {
		return nil
	}
	return os.Chmod(dir, FolderMode(f.mode))
}

// MakePublicAbove creates the two folders above a published file, such as a Parquet file of the series.
func (f *Folder) MakePublicAbove(path string) error {
	if err := f.MakePublic(filepath.Dir(filepath.Dir(path))); err != nil {
		return err
	}
	return f.MakePublic(filepath.Dir(path))
}

// publicMode returns the mode of published files. Without Config.PublishedMode, this is the mode that a new
// file gets. A file is created in dir to find it, because not every system can report the umask.
func (f *Folder) publicMode(dir string) (mode fs.FileMode, err error) {
	if f.mode != 0 {
		return f.mode, nil
	}
	probe, err := f.disk.CreateTempFile(filepath.Join(dir, "rights"), publicFile)
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

// SetPublicMode gives a file the mode of published files and syncs it.
func (f *Folder) SetPublicMode(path string) error {
	mode, err := f.publicMode(filepath.Dir(path))
	if err != nil {
		return err
	}
	return f.setModeAndSync(path, mode)
}

func (f *Folder) setModeAndSync(path string, mode fs.FileMode) error {
	if err := os.Chmod(path, mode); err != nil {
		return err
	}
	return f.disk.Sync(path)
}

// copyIntact copies a file, and compares it with want while it is copied, so that the file is read only once.
// It returns a *DamagedError if the file is missing or has another checksum.
func (f *Folder) copyIntact(from, to string, want checksum.FileSum) error {
	err := f.disk.CopyWith(from, to, func(dst, src *os.File) error {
		sum, err := checksum.Copy(dst, src)
		if err == nil && sum != want.SHA256 {
			err = f.DamagedErr(from, checksum.WrongSum, nil)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return f.DamagedErr(from, "it is missing", err)
	}
	return err
}

// WriteSealed writes a public JSON file that contains its own checksum. It replaces an existing file
// and creates missing folders.
func (f *Folder) WriteSealed(path string, value any) error {
	data, err := checksum.Seal(value)
	if err == nil {
		err = f.MakePublic(filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	if f.mode != 0 {
		return f.disk.WriteFileExactMode(path, data, f.mode)
	}
	return f.disk.WriteFile(path, data, publicFile)
}

// StateFile is a JSON file below state/ that contains its own checksum.
type StateFile struct {
	folder *Folder
	path   string
}

// StateFile returns the file below state/ whose path has the given elements.
func (f *Folder) StateFile(names ...string) StateFile {
	return StateFile{f, f.Path(append([]string{StateDir}, names...)...)}
}

// Read reads the file. ok is false if the file does not exist. If the file is damaged, Read returns a
// *DamagedError.
func (s StateFile) Read(into any) (ok bool, err error) {
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", s.path, err)
	}
	if err := checksum.Unseal(data, into); err != nil {
		return false, s.folder.DamagedErr(s.path, err.Error(), nil)
	}
	return true, nil
}

// Write replaces the file atomically.
func (s StateFile) Write(value any) error {
	data, err := checksum.Seal(value)
	if err == nil {
		err = s.folder.disk.MakeFolder(filepath.Dir(s.path), privateDir)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", s.path, err)
	}
	return s.folder.disk.WriteFile(s.path, data, privateFile)
}

// FolderMode returns the mode of a folder for files with mode: users who can read the files can open the folder.
func FolderMode(mode fs.FileMode) fs.FileMode {
	readBits := mode & 0o444
	return mode | readBits>>2 // the bit that opens a folder is two places lower than the bit that reads it
}

// stepLabel returns the label of a file for Config.Step. It replaces names that contain a run or a time,
// so that the labels are the same in every run. A step is an operation and a label, such as "rename of the version".
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
	if strings.HasPrefix(visible, DayPrefix) {
		return "of the day"
	}
	if filepath.Ext(name) == ".log" {
		return "of the inbox"
	}
	return name
}

// listFolders lists the visible folders in dir, sorted by name. The list is empty if dir does not exist.
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
