package warehouse

import (
	"bufio"
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

// errSeen says that a file is not the one that its version names.
var errSeen = errors.New("its checksum is not the one of its version")

// Read passes the content of a file in parts that are multiples of a unit. What
// was passed may be used when it returns no error.
func (s SeenFolder) Read(stream string, named SeenFile, unit int, pass func(part []byte)) error {
	file, err := os.Open(s.path(stream, named.Run))
	if err != nil {
		return err
	}
	defer file.Close()
	sum := xxh3.New()
	content := io.LimitReader(file, named.Bytes) // there is space for so much
	part := make([]byte, unit*(256<<10/unit))
	for {
		n, err := io.ReadFull(content, part)
		_, _ = sum.Write(part[:n])
		pass(part[:n-n%unit])
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if sumText(sum) != named.Sum {
		return fmt.Errorf("read %s: %w", s.folder.relativePath(file.Name()), errSeen)
	}
	return nil
}

func sumText(sum *xxh3.Hasher) string {
	b := sum.Sum128().Bytes()
	return fmt.Sprintf("%x", b[:])
}

// SeenWriter writes what a night sees of a list. It is for one goroutine at a time.
type SeenWriter struct {
	in     SeenFolder
	stream string
	run    string
	file   *os.File
	to     *bufio.Writer
	sum    *xxh3.Hasher
	bytes  int64
}

// Create begins a file for a run.
func (s SeenFolder) Create(stream, run string) (*SeenWriter, error) {
	path := s.path(stream, run)
	if err := os.MkdirAll(filepath.Dir(path), privateDir); err != nil {
		return nil, err
	}
	file, err := durable.CreateTemp(path, privateFile)
	if err != nil {
		return nil, err
	}
	return &SeenWriter{s, stream, run, file, bufio.NewWriterSize(file, 256<<10), xxh3.New(), 0}, nil
}

// Add adds to the file.
func (w *SeenWriter) Add(part []byte) error {
	w.bytes += int64(len(part))
	_, _ = w.sum.Write(part)
	_, err := w.to.Write(part)
	return err
}

// Seal ends the file. It is not synced: the checksum tells what a power cut leaves of it.
func (w *SeenWriter) Seal() (SeenFile, error) {
	err := errors.Join(w.to.Flush(), w.file.Close())
	if err == nil {
		err = w.in.folder.disk.Rename(w.file.Name(), w.in.path(w.stream, w.run))
	}
	if err != nil {
		return SeenFile{}, errors.Join(err, os.Remove(w.file.Name()))
	}
	return SeenFile{w.run, w.bytes, sumText(w.sum)}, nil
}

// Discard removes the file.
func (w *SeenWriter) Discard() {
	_ = w.file.Close()
	_ = os.Remove(w.file.Name()) // the next publish removes what stays
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
