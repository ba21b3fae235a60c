package transform

import (
	"slices"
	"strings"
	"unicode/utf8"
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
	rejects []Reject
	drift   []Drift
	index   map[string]int
	// journal holds the drift entry of every count since the body began.
	journal []int
	key     []byte
}

// marks is a place to go back to.
type marks struct{ rejects, counts int }

func (f *findings) mark() marks { return marks{len(f.rejects), len(f.journal)} }

func (f *findings) undo(m marks) {
	f.rejects = f.rejects[:m.rejects]
	for _, i := range f.journal[m.counts:] {
		f.drift[i].Count--
	}
	f.journal = f.journal[:m.counts]
}

// commit forgets how to go back.
func (f *findings) commit() { f.journal = f.journal[:0] }

func (f *findings) count(table, kind string, path, sample []byte) {
	f.key = append(append(append(append(append(f.key[:0], table...), 0), kind...), 0), path...)
	i, ok := f.index[string(f.key)]
	if !ok {
		i = f.enter(table, kind, string(path))
	}
	d := &f.drift[i]
	if d.Count == 0 {
		d.Sample = clip(sample)
	}
	d.Count++
	f.journal = append(f.journal, i)
}

// enter makes a new entry, or finds the one for all further paths.
func (f *findings) enter(table, kind, path string) int {
	key := string(f.key)
	if len(f.drift) >= maxPaths {
		path = manyPaths
		key = table + "\x00" + kind + "\x00" + path
		if i, ok := f.index[key]; ok {
			return i
		}
	}
	f.drift = append(f.drift, Drift{Table: table, Kind: kind, Path: strings.ToValidUTF8(path, "\uFFFD")})
	f.index[key] = len(f.drift) - 1
	return len(f.drift) - 1
}

func clip(sample []byte) string {
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

// take returns what was found, drift in a fixed order, and starts anew.
func (f *findings) take() Findings {
	drift := slices.DeleteFunc(f.drift, func(d Drift) bool { return d.Count == 0 })
	slices.SortFunc(drift, func(a, b Drift) int {
		if c := strings.Compare(a.Table, b.Table); c != 0 {
			return c
		}
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	out := Findings{Rejects: f.rejects, Drift: drift}
	*f = findings{index: map[string]int{}, key: f.key, journal: f.journal[:0]}
	return out
}
