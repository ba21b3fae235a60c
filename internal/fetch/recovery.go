package fetch

import (
	"bufio"
	"os"
	"path/filepath"
)

// restore reads the journal of an interrupted run into the index. A line
// counts if it is whole and its body's bytes are there; the bodies that may
// have landed after the last sync are unpacked to see whether they are.
func (l *Landing) restore() error {
	end, err := size(l.journal)
	if err != nil {
		return err
	}
	r := restoring{l: l, ends: make([]int64, len(l.segments)), replaced: map[uint64]bool{}}
	for _, f := range l.segments {
		n, err := size(f)
		if err != nil {
			return err
		}
		r.sizes = append(r.sizes, n)
		r.doubtful += n
	}
	// Before two groups back everything was synced, since one may have been in the making
	// while the next one landed. Where nothing ever is, all of it is in doubt.
	if r.doubtful -= 2 * l.options.SyncBytes; l.options.SyncBytes < 0 {
		r.doubtful = 0
	}
	for s, err := range l.readLines(end) {
		if err != nil {
			return err
		}
		r.addLine(s)
		if !s.ok && !s.isTorn(end) {
			l.damaged++
		}
	}
	l.offset = r.ends[len(r.ends)-1]
	// What lies behind the last good frame is overwritten, but a later reader
	// of the folder should not wonder about it.
	if err := l.segments[len(l.segments)-1].Truncate(l.offset); err != nil {
		return err
	}
	if l.forgetReplaced(r.replaced) || r.holes {
		return l.rewrite(end)
	}
	l.end = r.end
	return l.journal.Truncate(l.end)
}

// restoring is the state of one reading of the journal.
type restoring struct {
	l        *Landing
	sizes    []int64
	doubtful int64   // global offset from which bodies are unpacked
	ends     []int64 // of the good frames, per segment
	end      int64   // of the journal up to its last good line
	replaced map[uint64]bool
	skipped  bool
	holes    bool
	buffer   []byte
}

func (r *restoring) addLine(s scanned) {
	r.replaced[s.Replaces], r.replaced[s.LastReplaces] = true, true
	if !s.ok || !r.hasBody(s.toEntry()) {
		r.skipped = true
		return
	}
	r.holes = r.holes || r.skipped
	r.end = s.end
	r.ends[s.Segment] = max(r.ends[s.Segment], s.Offset+int64(s.Stored))
	r.l.seq, r.l.replaces = max(r.l.seq, s.Seq), s.Replaces
	r.l.index[s.toRequest().indexKey()] = s.toEntry()
}

// hasBody reports whether a body is there, unpacking it if that is in doubt.
func (r *restoring) hasBody(e entry) bool {
	if int(e.segment) >= len(r.sizes) || e.offset < 0 || e.offset+int64(e.stored) > r.sizes[e.segment] {
		return false
	}
	at := e.offset
	for _, n := range r.sizes[:e.segment] {
		at += n
	}
	if at < r.doubtful {
		return true
	}
	body, err := r.l.loadBody(e, r.buffer)
	r.buffer = body
	return err == nil
}

func size(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// rewrite replaces a journal that has holes by one of the lines that the index holds,
// whole or not at all, so that later lines cannot be taken for the missing ones.
func (l *Landing) rewrite(end int64) error {
	path := filepath.Join(l.dir, journalName)
	err := l.disk().WriteAtomically(path, 0o600, func(next *os.File) error {
		out := bufio.NewWriter(next)
		for s, err := range l.readLines(end) {
			if err != nil {
				return err
			}
			if s.ok && l.isLatest(&s.line) {
				if _, err := out.Write(s.text); err != nil {
					return err
				}
			}
		}
		return out.Flush()
	})
	if err != nil {
		return err
	}
	if err := l.journal.Close(); err != nil {
		return err
	}
	if l.journal, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return err
	}
	l.end, err = size(l.journal)
	return err
}
