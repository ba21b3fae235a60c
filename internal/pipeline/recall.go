package pipeline

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// Most records of a list have the text of the night before. The decoders make an entry of
// each record, with the hash of its text, and the next night leaves out the records whose
// entries it has. The entries of a list are a file of state/seen, which is named after the
// run whose version stores these records. A draft begins by removing the files of all runs
// but its base, so that no file describes another version than that of its name. The files
// are a cache: without one, or with a damaged one, all records are decoded.

// knownRecords is how many records a list needs for entries to be written, unless the
// configuration says otherwise.
const knownRecords = 1_000

// recall is what a sink leaves out, and what it remembers for the next night.
type recall struct {
	// base is the version in which left out records are stored. It is empty if all records
	// are decoded.
	base string
	// writes is set when entries are kept for the next night.
	writes bool

	mu      sync.Mutex // guards entries
	entries [][]byte
}

func (c *recall) add(entries []byte) {
	if c.writes && len(entries) > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.entries = append(c.entries, bytes.Clone(entries))
	}
}

// recallRecords lets the decoders leave out the records that the last night stored with the
// same text. It is called before the first body is decoded.
func (k *sink) recallRecords() {
	n := k.night
	if k.stream.IsEvents() || !k.binding.CanRecall() || !load.FillsAlone(n.cfg.Streams, k.stream) {
		return
	}
	k.recall.writes = !n.mode.dryRun
	base := n.mode.base
	if n.mode.asksService() {
		base, _, _ = n.wh.Versions.Latest() // the draft reports the error
	}
	known, err := n.readEntries(k.stream.Name, base)
	switch {
	case err == nil:
		k.recall.base = base
	case !errors.Is(err, fs.ErrNotExist):
		n.cfg.Log.Warn("unchanged records cannot be left out: all records are decoded", "stream", k.stream.Name, "error", err)
	}
	shared := transform.NewMemory(n.seedOf(k.stream), known)
	for _, d := range k.all {
		d.Remember(shared)
	}
}

// leaveOutRecords prepares the stage for records that are left out.
func (k *sink) leaveOutRecords() error {
	n, base := k.night, k.recall.base
	if base == "" {
		return nil
	}
	if n.draft.Previous != base {
		return fmt.Errorf("leave out unchanged records of %s: the draft is built on version %q and not on %q: run again", k.stream.Name, n.draft.Previous, base)
	}
	n.stage.Rows.SkipUnchanged(k.stream)
	return nil
}

// writeEntries writes the entries of a list of which all rows were stored, if it is large.
func (k *sink) writeEntries() {
	n, size := k.night, 0
	for _, part := range k.recall.entries {
		size += len(part)
	}
	if size == 0 || size/transform.EntrySize < cmp.Or(n.cfg.KnownRecords, knownRecords) {
		return
	}
	path := n.entriesPath(k.stream.Name, n.run.ID)
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = n.wh.Folder.Disk().WriteAtomically(path, 0o600, k.recall.write)
	}
	if err != nil {
		n.cfg.Log.Warn("entries cannot be written: the next night decodes all records", "stream", k.stream.Name, "error", err)
	}
	k.recall.entries = nil
}

// write writes the entries and their checksum.
func (c *recall) write(f *os.File) error {
	sum := xxh3.New()
	for _, part := range c.entries {
		_, _ = sum.Write(part) // a hash takes everything
		if _, err := f.Write(part); err != nil {
			return err
		}
	}
	digest := sum.Sum128().Bytes()
	_, err := f.Write(digest[:])
	return err
}

// digestSize is the size of the checksum at the end of a file of entries, in bytes.
const digestSize = 16

func (n *night) entriesPath(stream, run string) string {
	return filepath.Join(n.wh.Folder.SeenPath(), stream+"."+run)
}

func (n *night) readEntries(stream, run string) (*transform.Known, error) {
	path := n.entriesPath(stream, run)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	end := len(text) - digestSize
	if end < 0 || end%transform.EntrySize != 0 || xxh3.Hash128(text[:end]).Bytes() != [digestSize]byte(text[end:]) {
		return nil, fmt.Errorf("read %s: it does not have its checksum", path)
	}
	known := transform.NewKnown(end / transform.EntrySize)
	known.Add(text[:end])
	return known, nil
}

// carryEntries gives the entries of lists whose rows stay as they are to tonight's version.
func (n *night) carryEntries(cover map[string]load.Coverage) {
	for name, covered := range cover {
		if covered != load.Carried {
			continue
		}
		err := n.wh.Folder.Disk().Link(n.entriesPath(name, n.draft.Previous), n.entriesPath(name, n.run.ID))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			n.cfg.Log.Warn("entries cannot be carried: the next night decodes all records", "stream", name, "error", err)
		}
	}
}

// removeEntries removes the entries of all runs but one, also those of an earlier attempt at
// this run and those that 1.0.0 wrote.
func (n *night) removeEntries(kept string) error {
	files, err := os.ReadDir(n.wh.Folder.SeenPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the entries of earlier nights: %w", err)
	}
	for _, f := range files {
		if kept != "" && strings.HasSuffix(f.Name(), "."+kept) {
			continue
		}
		if err := n.wh.Folder.Disk().Remove(filepath.Join(n.wh.Folder.SeenPath(), f.Name())); err != nil {
			return fmt.Errorf("remove the entries of an earlier night: %w", err)
		}
	}
	return nil
}

// seedOf starts the hashes of the records of a stream. Another program, build, schema or
// rule of privacy has another seed, so that it leaves out nothing that this one stored.
func (n *night) seedOf(s stream.Stream) uint64 {
	p := n.privacyOf(s)
	mac := hmac.New(sha256.New, p.Key)
	fmt.Fprintf(mac, "%s\n%s\n%+v\n%q %q\n", n.cfg.Warehouse.Program, n.cfg.Build, s, p.Drop, p.Hash)
	defs := n.wh.Catalog.Definitions()
	for _, t := range s.Tables {
		fmt.Fprintf(mac, "%+v\n", defs[t.Name])
	}
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}
