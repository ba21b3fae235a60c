package transform

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"placementsync/internal/stream"
)

const (
	// maxPaths bounds the distinct drift paths; a service that makes names of
	// ids would otherwise fill the memory.
	maxPaths = 1000
	// manyPaths stands for all paths beyond that.
	manyPaths = "…"
	// maxSample bounds a sample in bytes.
	maxSample = 200
)

// findings collects rejects and drift so that a body or record that is given
// up takes its own back.
type findings struct {
	rejects []pendingReject
	drift   []Drift
	index   map[string]int
	// carrier numbers what is being read; last is, by drift entry, what bore it
	// last, so that it counts once.
	carrier uint64
	last    []uint64
	// at is where that stands.
	at Place
	// journal holds the drift entry of every count since the body began, and
	// samples what was seen.
	journal  []int
	samples  [][]byte
	carriers []stream.DriftCarrier
	sets     [][]int
	setIndex map[string]int
	key      []byte
	// own is room for the entries of one record.
	own []int
}

// pendingReject is a reject whose key and parent may follow when its row is closed.
type pendingReject struct {
	stream.Reject
	keyFollows bool
}

// findingsMark is a place to go back to.
type findingsMark struct{ rejects, counts, carriers int }

func (f *findings) mark() findingsMark {
	return findingsMark{len(f.rejects), len(f.journal), len(f.carriers)}
}

func (f *findings) undoTo(m findingsMark) {
	f.rejects, f.carriers = f.rejects[:m.rejects], f.carriers[:m.carriers]
	for _, i := range f.journal[m.counts:] {
		f.drift[i].Count--
		f.last[i] = 0
	}
	f.journal, f.samples = f.journal[:m.counts], f.samples[:m.counts]
}

// commit forgets how to go back.
func (f *findings) commit() {
	clear(f.samples)
	f.journal, f.samples = f.journal[:0], f.samples[:0]
}

// startCarrier says that what follows is counted once, and where it stands.
func (f *findings) startCarrier(at Place) {
	f.carrier++
	f.at = at
}

// count counts a surprise in what is being read, once.
func (f *findings) count(table, kind string, path, sample []byte) {
	f.key = append(append(append(append(append(f.key[:0], table...), 0), kind...), 0), path...)
	i, ok := f.index[string(f.key)]
	if !ok {
		i = f.addDrift(table, kind, string(path))
	}
	if f.last[i] == f.carrier {
		return
	}
	f.last[i] = f.carrier
	f.drift[i].Count++
	f.journal, f.samples = append(f.journal, i), append(f.samples, sample)
}

// addDrift makes a new entry, or finds the one for all further paths.
func (f *findings) addDrift(table, kind, path string) int {
	key := string(f.key)
	if len(f.drift) >= maxPaths {
		path = manyPaths
		key = table + "\x00" + kind + "\x00" + path
		if i, ok := f.index[key]; ok {
			return i
		}
	}
	f.drift, f.last = append(f.drift, Drift{Drift: stream.Drift{Table: table, Kind: kind, Path: strings.ToValidUTF8(path, "\uFFFD")}}), append(f.last, 0)
	f.index[key] = len(f.drift) - 1
	return len(f.drift) - 1
}

// addCarrier says which record bore what was counted since a mark. Records are alike,
// and so is what they bear: it is kept once, and a record names it.
func (f *findings) addCarrier(since findingsMark, record uint64, key func() string) {
	if len(f.journal) == since.counts {
		return
	}
	f.own = append(f.own[:0], f.journal[since.counts:]...)
	for n, i := range f.own {
		if d := &f.drift[i]; d.Count == 1 || f.at.Before(d.First) {
			d.Sample, d.Key, d.First = clipSample(f.samples[since.counts+n]), key(), f.at
		}
	}
	slices.Sort(f.own)
	f.key = f.key[:0]
	for _, i := range f.own {
		f.key = binary.AppendUvarint(f.key, uint64(i))
	}
	set, ok := f.setIndex[string(f.key)]
	if !ok {
		set = len(f.sets)
		f.sets = append(f.sets, slices.Clone(f.own))
		f.setIndex[string(f.key)] = set
	}
	f.carriers = append(f.carriers, stream.DriftCarrier{Set: set, Record: record})
}

func clipSample(sample []byte) string {
	if len(sample) > maxSample {
		n := maxSample
		for n > 0 && !utf8.RuneStart(sample[n]) {
			n--
		}
		sample = sample[:n]
	}
	return validText(sample)
}

func validText(raw []byte) string { return strings.ToValidUTF8(string(raw), "\uFFFD") }

// takeAll returns what was found, drift in a fixed order, and starts anew.
func (f *findings) takeAll() Findings {
	order := make([]int, 0, len(f.drift))
	for i := range f.drift {
		if f.drift[i].Count > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &f.drift[a], &f.drift[b]
		return cmp.Or(strings.Compare(x.Table, y.Table), strings.Compare(x.Path, y.Path), strings.Compare(x.Kind, y.Kind))
	})
	out := Findings{Carriers: f.carriers, Sets: f.sets}
	for _, r := range f.rejects {
		out.Rejects = append(out.Rejects, r.Reject)
	}
	place := make([]int, len(f.drift))
	for n, i := range order {
		out.Drift = append(out.Drift, f.drift[i])
		place[i] = n
	}
	for _, set := range out.Sets {
		for n, i := range set {
			set[n] = place[i]
		}
	}
	*f = newFindings()
	return out
}

func newFindings() findings {
	return findings{index: map[string]int{}, setIndex: map[string]int{}, carrier: 1}
}
