package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"placementsync/internal/query"
	"placementsync/internal/warehouse"
)

const (
	// stateFormat is the form of a state. A program refuses that of a later one.
	stateFormat = 1
	// mostLooked is how many snapshots back a rollback is understood.
	mostLooked = 5
	// mostWaiting bounds what is kept for a receiver that takes nothing.
	mostWaiting = 100
)

// state is what is remembered of a watch.
type state struct {
	Format int    `json:"format"`
	Watch  string `json:"watch"`
	// Definition is the digest of the watch that the findings are of.
	Definition string `json:"definition"`
	// Looked are the last looks, oldest first. They are numbered, since the clock of a
	// machine may have been wrong.
	Looked []look `json:"looked"`
	// Findings are those of the snapshots in Looked.
	Findings map[string]span `json:"findings"`
	// Unread is set after a message that tables were not read, until they are.
	Unread bool `json:"unread"`
	// Waiting are the messages that are not delivered yet.
	Waiting []waiting `json:"waiting"`
	// Sent is when a message last reached all its channels.
	Sent time.Time `json:"sent_at,omitzero"`
}

// Status is what is remembered of a watch.
type Status struct {
	Watch string
	// Looked is the snapshot of its last look; zero: there was none.
	Looked query.Snapshot
	// Found counts the findings of that look, Waiting the messages that are not delivered
	// yet.
	Found, Waiting int
	// Sent is when a message last reached all its channels; zero: none has.
	Sent time.Time
}

// stateFile is the file of a watch.
func stateFile(f *warehouse.Folder, name string) warehouse.StateFile {
	return f.StateFile("watches", name+".json")
}

// ReadStatus reads what is remembered of a watch. It takes no lock: states appear whole.
func ReadStatus(from *warehouse.Folder, name string) (Status, error) {
	s, err := readState(from, Watch{Name: name})
	if err != nil {
		return Status{}, err
	}
	status := Status{Watch: name, Waiting: len(s.Waiting), Sent: s.Sent}
	if n := len(s.Looked); n > 0 {
		last := s.Looked[n-1]
		status.Looked = last.Snapshot
		for _, f := range s.Findings {
			if f.Last == last.Number {
				status.Found++
			}
		}
	}
	return status, nil
}

// look is a look at a snapshot.
type look struct {
	Number int `json:"number"`
	query.Snapshot
}

// span is from which snapshot until which look a finding was there.
type span struct {
	Since time.Time `json:"since"`
	Last  int       `json:"last"`
}

// waiting is a message, and the channels that it is still owed to.
type waiting struct {
	Channels []string `json:"channels"`
	Message  Message  `json:"message"`
}

// readState reads the state of a watch; that of a new one is empty. A damaged state is
// not taken for an empty one: that would send everything again.
func readState(from *warehouse.Folder, w Watch) (*state, error) {
	s := &state{}
	ok, err := stateFile(from, w.Name).Read(s)
	switch {
	case err == nil && !ok:
		return &state{Format: stateFormat, Watch: w.Name, Findings: map[string]span{}}, nil
	case err == nil && s.Format > stateFormat:
		err = fmt.Errorf("a later program wrote it (format %d): use that one", s.Format)
	case err == nil && (s.Watch != w.Name || s.Format != stateFormat || s.Findings == nil):
		err = fmt.Errorf("it is not that of the watch %s", w.Name)
	case err == nil:
		return s, nil
	}
	return nil, fmt.Errorf("read what %s has sent: %w; nothing was sent: bring state/watches/%[1]s.json back from a backup, "+
		"or remove it, and all that is found is sent once more", w.Name, err)
}

// digest tells definitions apart whose findings cannot be compared.
func (w Watch) digest() string {
	limit := ""
	if w.When.number != nil {
		limit = w.When.number.RatString()
	}
	// Texts, a bool and a map, whose keys are sorted, always become JSON.
	text, _ := json.Marshal([]any{w.Query, w.Params, w.When.Column, w.When.over, limit, w.Key, w.text})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// hasLooked reports whether the watch, as it is, has looked at a snapshot.
func (s *state) hasLooked(w Watch, now query.Snapshot) bool {
	return s.Definition == w.digest() && slices.ContainsFunc(s.Looked, func(l look) bool { return l.isAt(now) })
}

func (l look) isAt(s query.Snapshot) bool { return l.Run == s.Run && l.At.Equal(s.At) }

// begin returns the look that a new one is compared with: the newest one at a snapshot
// that led to the present one. One that was rolled back did not; what was found in it
// counts as known all the same. It is zero when there is none.
func (s *state) begin(w Watch, line []query.Snapshot) look {
	if digest := w.digest(); s.Definition != digest {
		s.Definition, s.Looked, s.Findings, s.Unread = digest, nil, map[string]span{}, false
	}
	for _, l := range slices.Backward(s.Looked) {
		if slices.ContainsFunc(line, l.isAt) {
			return l
		}
	}
	return look{}
}

// knownSince returns since when a finding has been there; ok is false when it was not at
// the look base, nor at a later one that was rolled back.
func (s *state) knownSince(id string, base look) (since time.Time, ok bool) {
	f, found := s.Findings[id]
	return f.Since, found && f.Last >= base.Number
}

// end records what was found in a snapshot.
func (s *state) end(now query.Snapshot, found map[string]time.Time) {
	number := 1
	if n := len(s.Looked); n > 0 {
		number = s.Looked[n-1].Number + 1
	}
	s.Unread = false
	s.Looked = append(s.Looked, look{number, now})
	s.Looked = s.Looked[max(0, len(s.Looked)-mostLooked):]
	for id, since := range found {
		s.Findings[id] = span{Since: since, Last: number}
	}
	for id, f := range s.Findings {
		if f.Last < s.Looked[0].Number {
			delete(s.Findings, id)
		}
	}
}

// owe adds a message to those that are sent.
func (s *state) owe(m Message, channels []string) {
	s.Waiting = append(s.Waiting, waiting{Channels: slices.Clone(channels), Message: m})
}

// dropChannels forgets what is owed to channels that the watch no longer names.
func (s *state) dropChannels(named []string) (dropped bool) {
	for i := range s.Waiting {
		before := len(s.Waiting[i].Channels)
		s.Waiting[i].Channels = slices.DeleteFunc(s.Waiting[i].Channels, func(c string) bool { return !slices.Contains(named, c) })
		dropped = dropped || len(s.Waiting[i].Channels) < before
	}
	s.Waiting = slices.DeleteFunc(s.Waiting, func(o waiting) bool { return len(o.Channels) == 0 })
	return dropped
}

// settle forgets that a message is owed to a channel, and reports whether all have it.
func (s *state) settle(id, channel string) (all bool) {
	for i := range s.Waiting {
		owed := &s.Waiting[i]
		at := slices.Index(owed.Channels, channel)
		if owed.Message.ID != id || at < 0 {
			continue
		}
		owed.Channels = slices.Delete(slices.Clone(owed.Channels), at, at+1)
		if all = len(owed.Channels) == 0; all {
			s.Waiting = slices.Delete(slices.Clone(s.Waiting), i, i+1)
		}
		return all
	}
	return false
}
