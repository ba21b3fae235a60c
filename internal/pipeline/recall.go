package pipeline

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zeebo/xxh3"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// The entries of a list are in a file in state/seen. The name of the file contains the run that published
// the records. A new run removes the files of all runs except the run on whose version it is built. So
// the files always describe the records in main. The files are a cache: if a file is missing or damaged,
// all records of its list are decoded.

const minRecallRecords = 1_000 // default of Config.MinRecallRecords

func (k *sink) loadEntries() {
	n := k.night
	entries, err := n.readEntries(k.stream.Name, n.draft.Previous)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		n.cfg.Log.Warn("unchanged records cannot be skipped: all records are decoded", "stream", k.stream.Name, "error", err)
	}
	memory := transform.NewMemory(n.seedOf(k.stream), entries)
	for _, d := range k.decoders {
		d.Remember(memory)
	}
}

// After an error of addEntries, the next night decodes all records of the list.
func (k *sink) addEntries(entries []byte) {
	if len(entries) == 0 || k.night.mode.dryRun {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.entriesErr != nil {
		return
	}
	f, err := os.OpenFile(k.unfinishedEntriesPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(entries)
		err = errors.Join(err, f.Close())
	}
	k.entriesSize, k.entriesErr = k.entriesSize+len(entries), err
}

// unfinishedEntriesPath is a file in the draft's folder. In memory, the entries of 4,000,000 records added
// 260 MiB to the memory of a night.
func (k *sink) unfinishedEntriesPath() string {
	return filepath.Join(k.night.draft.Dir, k.stream.Name+".entries")
}

// removeUnfinishedEntries must be called before the draft is published.
func (k *sink) removeUnfinishedEntries() error {
	if err := os.Remove(k.unfinishedEntriesPath()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// All rows of the list must have been staged.
func (k *sink) writeEntries() {
	n := k.night
	if k.entriesErr == nil && k.entriesSize/transform.EntrySize < cmp.Or(n.cfg.MinRecallRecords, minRecallRecords) {
		return
	}
	path, err := n.entriesPath(k.stream.Name, n.run.ID), k.entriesErr
	if err == nil {
		err = n.wh.Folder.Disk().MakeFolder(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = n.wh.Folder.Disk().WriteAtomically(path, 0o600, k.writeEntriesTo)
	}
	if err != nil {
		n.cfg.Log.Warn("record hashes not written: the next night decodes all records", "stream", k.stream.Name, "error", err)
	}
}

func (k *sink) writeEntriesTo(f *os.File) error {
	entries, err := os.Open(k.unfinishedEntriesPath())
	if err != nil {
		return err
	}
	defer entries.Close()
	sum := xxh3.New()
	if _, err := io.Copy(io.MultiWriter(f, sum), entries); err != nil {
		return err
	}
	checksum := sum.Sum128().Bytes()
	_, err = f.Write(checksum[:])
	return err
}

const checksumSize = 16 // at the end of a file of entries

func (n *night) entriesPath(stream, run string) string {
	return filepath.Join(n.wh.Folder.SeenPath(), stream+"."+run)
}

// readEntries returns the entries that a run wrote for a stream. If the size of the file shows that another
// version of the program wrote it, readEntries returns fs.ErrNotExist.
func (n *night) readEntries(stream, run string) ([]byte, error) {
	path := n.entriesPath(stream, run)
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	end := len(content) - checksumSize
	if end < 0 || xxh3.Hash128(content[:end]).Bytes() != [checksumSize]byte(content[end:]) {
		return nil, fmt.Errorf("read %s: wrong checksum", path)
	}
	if end%transform.EntrySize != 0 {
		return nil, fs.ErrNotExist
	}
	return content[:end], nil
}

// carryEntries keeps the entries of carried lists: it links their files under names with the id of this run.
func (n *night) carryEntries(coverage map[string]load.Coverage) {
	for name, c := range coverage {
		if c != load.Carried {
			continue
		}
		err := n.wh.Folder.Disk().Link(n.entriesPath(name, n.draft.Previous), n.entriesPath(name, n.run.ID))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			n.cfg.Log.Warn("record hashes not kept: the next night decodes all records", "stream", name, "error", err)
		}
	}
}

// removeEntries removes the files of entries of all runs except keptRun. It also removes the files of an
// earlier attempt at this run, and the files of version 1.0.0 of the program.
func (n *night) removeEntries(keptRun string) error {
	files, err := os.ReadDir(n.wh.Folder.SeenPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the record hashes of earlier nights: %w", err)
	}
	for _, f := range files {
		if keptRun != "" && strings.HasSuffix(f.Name(), "."+keptRun) {
			continue
		}
		if err := n.wh.Folder.Disk().Remove(filepath.Join(n.wh.Folder.SeenPath(), f.Name())); err != nil {
			return fmt.Errorf("remove the record hashes of an earlier night: %w", err)
		}
	}
	return nil
}

// After a change of the program, the build, the stream, the schema or the private columns, the seed
// changes and no record is recalled.
func (n *night) seedOf(s stream.Stream) uint64 {
	p := n.privacyOf(s)
	mac := hmac.New(sha256.New, p.Key)
	fmt.Fprintf(mac, "%s\n%s\n%+v\n%q %q\n", n.cfg.Warehouse.Program, n.cfg.Build, s, p.Drop, p.Hash)
	defs := n.wh.Schema.Definitions
	for _, t := range s.Tables {
		fmt.Fprintf(mac, "%+v\n", defs[t.Name])
	}
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}
