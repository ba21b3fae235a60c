package pipeline

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"placementsync/internal/load"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
	"placementsync/internal/warehouse"
)

// knownRecords is how many records of a list make it worth while to enter what was seen
// of them, unless the configuration says otherwise.
const knownRecords = 1_000

// seen is what a night enters of the records of a list. It is a cache: when it cannot be
// written there is none.
type seen struct {
	mu sync.Mutex // guards file
	// create begins the file, once the draft is open, which removes what no version names;
	// nil: there is none.
	create func() *warehouse.SeenWriter
	file   *warehouse.SeenWriter
	// base is the version that recalled records are stored in; empty: none were recalled.
	base string
}

// add enters records.
func (s *seen) add(entries []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.create == nil {
		return
	}
	if s.file == nil {
		s.file = s.create()
	}
	s.file.Add(entries)
}

// recallRecords lets the decoders enter their records, and pass over those that the last
// night stored with the same text. No decoder is at work yet.
func (k *sink) recallRecords() {
	n := k.night
	if k.stream.IsEvents() || !k.binding.CanRecall() || !load.FillsAlone(n.cfg.Streams, k.stream) {
		return
	}
	if !n.mode.dryRun {
		k.seen.create = func() *warehouse.SeenWriter { return n.draft.CreateSeen(k.stream.Name) }
	}
	shared := transform.NewMemory(n.seedOf(k.stream), k.loadKnown())
	for _, d := range k.all {
		d.Remember(shared)
	}
}

// loadKnown reads what the last night saw; nil: nothing that could be used.
func (k *sink) loadKnown() *transform.Known {
	n, base := k.night, k.night.mode.base
	if n.mode.asksService() {
		base, _, _ = n.wh.Versions.Latest() // the draft reports the error
	}
	named, ok := n.wh.Versions.SeenFiles(base)[k.stream.Name]
	if !ok {
		return nil
	}
	known := transform.NewKnown(int(named.Bytes / transform.EntrySize))
	if err := n.wh.Seen().Read(k.stream.Name, named, transform.EntrySize, known.Add); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			n.cfg.Log.Warn("what the last night saw cannot be used: all records are decoded", "stream", k.stream.Name, "error", err)
		}
		return nil
	}
	k.seen.base = base
	return known
}

// leaveOutRecords prepares the stage for records that are recalled and not staged.
func (k *sink) leaveOutRecords() error {
	n, base := k.night, k.seen.base
	if base == "" {
		return nil
	}
	if n.draft.Previous != base {
		return fmt.Errorf("recall the records of %s: the draft is built on version %q and not on %q: run again", k.stream.Name, n.draft.Previous, base)
	}
	n.stage.Rows.LeaveOut(k.stream)
	return nil
}

// sealSeen names what was entered of a stream in the draft, if its rows are as entered and
// enough of them.
func (k *sink) sealSeen(stored bool) {
	n, file := k.night, k.seen.file
	switch {
	case file == nil:
	case !stored || file.Bytes/transform.EntrySize < int64(cmp.Or(n.cfg.KnownRecords, knownRecords)):
		file.Discard()
	default:
		named, err := file.Seal()
		if err != nil {
			n.cfg.Log.Warn("what was seen cannot be kept: the next night decodes all records", "stream", k.stream.Name, "error", err)
			return
		}
		n.draft.NameSeen(k.stream.Name, named)
	}
}

// carrySeen names again what was seen of lists whose rows stay as they are.
func (n *night) carrySeen(cover map[string]load.Coverage) {
	for name, named := range n.wh.Versions.SeenFiles(n.draft.Previous) {
		if cover[name] == load.Carried {
			n.draft.NameSeen(name, named)
		}
	}
}

// seedOf starts the hashes of the records of a stream. Another program, build, schema or
// rule of privacy has another seed, so that it recalls nothing of this one.
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
