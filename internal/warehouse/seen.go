package warehouse

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"placementsync/internal/durable"
)

// SeenFile is a file with what a night saw of the records of a list, so that the next one
// can pass over what did not change. It describes the version whose manifest names it and
// no other. It is a cache: lost or damaged, it only costs time.
type SeenFile struct {
	Run   string `json:"run"`
	Bytes int64  `json:"bytes"`
	Sum   string `json:"xxh3"`
}

// SeenFolder is where such files are.
type SeenFolder struct{ folder *Folder }

// Seen is the folder with what the last night saw.
func (w *Warehouse) Seen() SeenFolder { return SeenFolder{w.Folder} }

func (s SeenFolder) path(stream, run string) string {
	return s.folder.path(stateDir, seenDir, run+"."+stream)
}

// SeenFiles returns the files that a version names, by stream.
func (v *Versions) SeenFiles(run string) map[string]SeenFile { return v.manifestOrNone(run).Seen }

// NameSeen makes the version name what was seen of a list.
func (d *Draft) NameSeen(stream string, file SeenFile) {
	if d.Seen == nil {
		d.Seen = map[string]SeenFile{}
	}
	d.Seen[stream] = file
}

// Read passes the content of a file in parts that are multiples of a unit. What
// was passed may be used when it returns no error.
func (s SeenFolder) Read(stream string, named SeenFile, unit int, pass func(part []byte)) error {
	path := s.path(stream, named.Run)
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	sum, part := xxh3.New(), make([]byte, unit<<14)
	for rest := named.Bytes; rest > 0; rest -= int64(len(part)) {
		part = part[:min(rest, int64(len(part)))]
		if _, err := io.ReadFull(file, part); err != nil {
			return fmt.Errorf("read %s: %w", s.folder.relativePath(path), err)
		}
		_, _ = sum.Write(part)
		pass(part)
	}
	if sumText(sum) != named.Sum {
		return fmt.Errorf("read %s: its checksum is not the one of its version", s.folder.relativePath(path))
	}
	return nil
}

func sumText(sum *xxh3.Hasher) string { return fmt.Sprintf("%x", sum.Sum128().Bytes()) }

// SeenWriter writes what a night sees of a list. It is for one goroutine at a time.
type SeenWriter struct {
	SeenFile
	disk durable.Disk
	path string
	file *os.File
	sum  *xxh3.Hasher
	err  error // the first one
}

// CreateSeen begins the file of a list. Seal reports what went wrong since. A file that is
// not sealed goes with the draft.
func (d *Draft) CreateSeen(stream string) *SeenWriter {
	w := &SeenWriter{SeenFile: SeenFile{Run: d.Run}, disk: d.w.Folder.disk, path: d.w.Seen().path(stream, d.Run), sum: xxh3.New()}
	if w.err = os.MkdirAll(filepath.Dir(w.path), privateDir); w.err == nil {
		w.file, w.err = durable.CreateTemp(w.path, privateFile)
	}
	d.seenMu.Lock()
	defer d.seenMu.Unlock()
	d.seenWriters = append(d.seenWriters, w)
	return w
}

// Add adds to the file.
func (w *SeenWriter) Add(part []byte) {
	w.Bytes += int64(len(part))
	_, _ = w.sum.Write(part)
	if w.err == nil {
		_, w.err = w.file.Write(part)
	}
}

// Seal ends the file. It is not synced: the checksum tells what a power cut leaves of it.
func (w *SeenWriter) Seal() (SeenFile, error) {
	if w.err == nil {
		w.err = w.file.Close()
	}
	if w.err == nil {
		w.err = w.disk.Rename(w.file.Name(), w.path)
	}
	if w.err != nil {
		w.Discard()
		return SeenFile{}, w.err
	}
	w.file, w.Sum = nil, sumText(w.sum)
	return w.SeenFile, nil
}

// Discard removes the file, unless it is sealed.
func (w *SeenWriter) Discard() {
	if w.file != nil {
		_ = w.file.Close()
		_ = os.Remove(w.file.Name()) // the next publish removes what stays
		w.file = nil
	}
}

// removeUnnamed removes the files that a version does not name.
func (s SeenFolder) removeUnnamed(named map[string]SeenFile) error {
	dir := s.folder.path(stateDir, seenDir)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what earlier nights saw: %w", err)
	}
	kept := map[string]bool{}
	for stream, file := range named {
		kept[filepath.Base(s.path(stream, file.Run))] = true
	}
	for _, e := range entries {
		if kept[e.Name()] || e.IsDir() {
			continue
		}
		if err := s.folder.disk.Remove(filepath.Join(dir, e.Name())); err != nil {
			return fmt.Errorf("remove what an earlier night saw: %w", err)
		}
	}
	return nil
}
