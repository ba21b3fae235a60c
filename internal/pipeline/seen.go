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
	mu sync.Mutex // guards what follows
	// create begins the file; nil: there is none at all.
	create func() (*warehouse.SeenWriter, error)
	// least is the number of records from which on there is one, few what there is before.
	least int
	few   []byte
	file  *warehouse.SeenWriter
	err   error
	// base is the version that recalled records are stored in; empty: none were recalled.
	base string
}

// add enters records.
func (s *seen) add(entries []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.create == nil || s.err != nil:
	case s.file != nil:
		s.err = s.file.Add(entries)
	case (len(s.few)+len(entries))/transform.EntrySize < s.least:
		s.few = append(s.few, entries...)
	default:
		if s.file, s.err = s.create(); s.err == nil {
			s.err = errors.Join(s.file.Add(s.few), s.file.Add(entries))
		}
		s.few = nil
	}
}

// seal ends the file, if there is one; ok is false when nothing is to be named.
func (s *seen) seal(useful bool) (named warehouse.SeenFile, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return named, false, s.err
	}
	if s.err != nil || !useful {
		s.file.Discard()
		return named, false, s.err
	}
	named, err = s.file.Seal()
	return named, err == nil, err
}

// recallRecords lets the decoders enter their records, and pass over those that the last
// night stored with the same text. No decoder is at work yet.
func (k *sink) recallRecords() {
	n, s := k.night, &k.seen
	if k.stream.IsEvents() || !k.binding.Flat() || !load.FillsAlone(n.cfg.Streams, k.stream) {
		return
	}
	s.least = cmp.Or(n.cfg.KnownRecords, knownRecords)
	if !n.mode.dryRun {
		s.create = func() (*warehouse.SeenWriter, error) { return n.wh.Seen().Create(k.stream.Name, n.run.ID) }
	}
	shared := transform.NewMemory(n.seedOf(k.stream), k.loadKnown())
	for _, d := range k.all {
		d.Remember(shared)
	}
}

// loadKnown reads what the last night saw; nil: nothing that could be used.
func (k *sink) loadKnown() *transform.Known {
	n, s := k.night, &k.seen
	base := n.mode.base
	if n.mode.asksService() {
		base, _, _ = n.wh.Versions.Latest() // the draft reports the error
	}
	named, ok := n.wh.Versions.SeenFiles(base)[k.stream.Name]
	records := int(named.Bytes / transform.EntrySize)
	if !ok || records < s.least {
		return nil
	}
	known := transform.NewKnown(records)
	err := n.wh.Seen().Read(k.stream.Name, named, transform.EntrySize, known.Add)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			n.cfg.Log.Warn("what the last night saw cannot be used: all records are decoded", "stream", k.stream.Name, "error", err)
		}
		return nil
	}
	s.base = base
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

// sealSeen names what was entered of a stream in the draft, if its rows are as entered.
func (k *sink) sealSeen(useful bool) {
	n := k.night
	named, ok, err := k.seen.seal(useful)
	if err != nil {
		n.cfg.Log.Warn("what was seen cannot be kept: the next night decodes all records", "stream", k.stream.Name, "error", err)
	}
	if !ok {
		return
	}
	if n.draft.Seen == nil {
		n.draft.Seen = map[string]warehouse.SeenFile{}
	}
	n.draft.Seen[k.stream.Name] = named
}

// carrySeen names again what was seen of lists whose rows stay as they are.
func (n *night) carrySeen(cover map[string]load.Coverage) {
	for name, named := range n.wh.Versions.SeenFiles(n.draft.Previous) {
		if cover[name] != load.Carried {
			continue
		}
		if n.draft.Seen == nil {
			n.draft.Seen = map[string]warehouse.SeenFile{}
		}
		n.draft.Seen[name] = named
	}
}

// seedOf starts the hashes of the records of a stream. Another program, schema or rule of
// privacy has another seed, so that it recalls nothing of this one.
func (n *night) seedOf(s stream.Stream) uint64 {
	p := n.privacyOf(s)
	mac := hmac.New(sha256.New, p.Key)
	fmt.Fprintf(mac, "%s\n%+v\n%q %q\n", n.cfg.Warehouse.Program, s, p.Drop, p.Hash)
	defs := n.wh.Catalog.Definitions()
	for _, t := range s.Tables {
		fmt.Fprintf(mac, "%+v\n", defs[t.Name])
	}
	return binary.LittleEndian.Uint64(mac.Sum(nil))
}
