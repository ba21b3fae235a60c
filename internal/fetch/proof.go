package fetch

import (
	"slices"

	"placementsync/internal/plural"
)

// What proves that no record is missing that existed all the time, given that
// an answer shows one state of the service, that a deleted id does not come
// back, and that total_records is true:
//
// One answer that holds as many records as its total is that state.
//
// A quiet pass over a list that grows only at its head, confirmed by page 1.
// Whatever was inserted meanwhile and is still there stands above everything
// on page 1; the same ids on it mean that there is nothing. With no insert
// left an equal total means that nothing older was deleted, and so an equal
// total in each answer before means the same for that answer's instant: all
// answers show one state, and its records were all counted.
//
// In any other order a quiet pass proves nothing: a record deleted from the
// pages read already and one inserted into those not read yet leave the total
// alone, and the record between them that moved up a page is never seen. What
// proves it there, and in a list that moves, is an instant: an id seen in an
// answer before it and in one after it existed at it. If as many ids did as
// the total counted at that very instant, they are all there were, and a
// record that existed all the time is one of them. The instants are those of
// page 1 of each pass, when nothing else is in flight. Two quiet passes with
// the same ids are a case of this.
//
// That a last pass brings no new id is weaker and not enough: a delete in
// each of two passes can hide the same record twice.
//
// Without totals the same ids twice in a row are the best there is. Read one
// page after the other, a record is passed over only when another one is
// deleted from the pages read already; that one was then seen, and the next
// pass lacks it - unless it came and went between two pages.

// sightings are the ids seen, sorted, each with the first and the last pass
// that saw it: between the two it existed.
type sightings struct {
	ids []uint64
	// first and last are nil while there has been one pass, only.
	first, last []uint8
	only        uint8
}

// addPass enters the ids of one pass, sorted and each once. It may keep the slice.
func (s *sightings) addPass(pass uint8, ids []uint64) {
	if s.ids == nil {
		s.ids, s.only = ids, pass
		return
	}
	if s.first == nil {
		s.first, s.last = repeatPass(len(s.ids), s.only), repeatPass(len(s.ids), s.only)
	}
	if slices.Equal(s.ids, ids) {
		s.last = repeatPass(len(ids), pass)
		return
	}
	s.merge(pass, ids)
}

func repeatPass(n int, v uint8) []uint8 {
	return slices.Repeat([]uint8{v}, n)
}

func (s *sightings) merge(pass uint8, ids []uint64) {
	n := len(s.ids) + len(ids) - countShared(s.ids, ids)
	next := sightings{ids: make([]uint64, 0, n), first: make([]uint8, 0, n), last: make([]uint8, 0, n)}
	i := 0
	for j := range s.ids {
		for ; i < len(ids) && ids[i] < s.ids[j]; i++ {
			next.put(ids[i], pass, pass)
		}
		last := s.last[j]
		if i < len(ids) && ids[i] == s.ids[j] {
			last = pass
			i++
		}
		next.put(s.ids[j], s.first[j], last)
	}
	for ; i < len(ids); i++ {
		next.put(ids[i], pass, pass)
	}
	*s = next
}

func (s *sightings) put(id uint64, first, last uint8) {
	s.ids, s.first, s.last = append(s.ids, id), append(s.first, first), append(s.last, last)
}

// countAlive counts the ids that are known to have existed when page 1 of the pass
// after boundary was read: seen in or before that answer, and in or after it.
func (s *sightings) countAlive(boundary uint8, page1 []uint64) int {
	n := 0
	for i := range s.first {
		if s.first[i] <= boundary && s.last[i] > boundary {
			n++
		}
	}
	for _, id := range slices.Compact(slices.Clone(page1)) {
		if i, found := slices.BinarySearch(s.ids, id); found && s.first[i] > boundary {
			n++
		}
	}
	return n
}

// countShared counts the ids that two sorted sets have in common.
func countShared(a, b []uint64) int {
	n := 0
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			a, b, n = a[1:], b[1:], n+1
		}
	}
	return n
}

func sortedCopy(ids []uint64) []uint64 {
	ids = slices.Clone(ids)
	slices.Sort(ids)
	return ids
}

// provenByFirstPage judges what page 1 of a pass proves: of itself, and as the
// confirmation of the pass before, if there was one.
func (w *walk) provenByFirstPage(last, p *pass) bool {
	e := &w.evidence
	e.Requests++
	if last == nil {
		e.TotalFirst = p.total
	}
	e.TotalLast = p.total
	w.firstPages = append(w.firstPages, firstPage{p.total, p.firstIDs})
	confirmed := last != nil && last.total == p.total && slices.Equal(last.firstIDs, p.firstIDs)
	switch {
	case confirmed && last.isSinglePage():
		w.gradeProven(last.refused, "page 2 is empty and page 1, read again, has the same ids")
		return true
	case confirmed && last.isConfirmable():
		w.gradeProven(last.refused, "newest first; no total moved, no id repeated, page 1 read again has the same ids")
		return true
	}
	w.moved = w.moved || last != nil && !confirmed
	if !p.isWhole() {
		return false
	}
	p.sortIDs()
	e.Passes, e.Pages = p.number, max(e.Pages, 1)
	w.seen.addPass(uint8(p.number), p.ids)
	w.gradeProven(p.refused, "answered whole in one response")
	return true
}

// provenByPass judges what a pass read to its end and sorted proves together with those
// before, or finds that no further pass can prove more.
func (w *walk) provenByPass(last, p *pass) bool {
	w.seen.addPass(uint8(p.number), p.ids)
	e := &w.evidence
	e.Passes = p.number
	e.Pages = max(e.Pages, p.countFilled())
	e.Requests += len(p.pages) - 1
	e.Repeated += p.repeated
	e.Refused = p.refused
	e.TotalLast = p.lastTotal
	again := last != nil && slices.Equal(last.ids, p.ids)
	w.moved = w.moved || !p.isQuiet() || last != nil && !again
	switch {
	case p.isUnpaged():
		w.gradeProven(p.refused, "answered whole in one response: the service does not page it")
	case w.provesInstant(last, p):
		w.gradeProven(p.refused, "as many ids as total_records were seen both before and after one instant")
	case p.total < 0 && again && last.isQuiet() && p.isQuiet():
		w.gradeProven(p.refused, "no totals stated; two passes in a row read the same ids")
	case again && last.total == p.total && !last.moving && !p.moving:
		e.setGrade(BestEffort, "two passes read the same and a third would not help: %s", p.whyUnproven())
	default:
		return false
	}
	return true
}

// provesInstant looks for an instant at which everything was seen. Records without
// an id and copies can only be counted, so they count in a list that did not
// move alone.
func (w *walk) provesInstant(last, p *pass) bool {
	uncounted := p.anonymous + p.copies
	if last == nil || uncounted > 0 && (w.moved || last.anonymous+last.copies != uncounted) {
		return false
	}
	for boundary := 1; boundary < p.number; boundary++ {
		at := w.firstPages[boundary]
		if at.total >= 0 && int64(w.seen.countAlive(uint8(boundary), at.ids)+uncounted) == at.total {
			return true
		}
	}
	return false
}

// gradeProven grades a list of which no record is missing. If records were refused,
// rows are missing nevertheless, and it is not known which.
func (w *walk) gradeProven(refused int, reason string) {
	w.evidence.Refused = refused
	switch {
	case refused > 0:
		w.evidence.setGrade(BestEffort, "%s refused (meta.rejects); apart from that: %s", plural.Count(refused, "record"), reason)
	case w.moved:
		w.evidence.setGrade(Repaired, "the list changed while it was read; %s", reason)
	default:
		w.evidence.setGrade(Exact, "%s", reason)
	}
}

// gradeUnproven grades a list that is not proven within the allowed passes.
func (w *walk) gradeUnproven(p *pass) {
	w.evidence.setGrade(BestEffort, "not proven within %s: %s", plural.Count(w.c.cfg.MaxPasses, "pass"), p.whyUnproven())
}
