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
	// stateFormat is the format of a state file. A program rejects a later format.
	stateFormat = 1
	// maxEvaluations is the number of remembered evaluations. After a rollback over more nights,
	// findings may be reported as new again.
	maxEvaluations = 5
	// maxPending limits the messages that are kept if a receiver accepts no messages.
	maxPending = 100
)

// state is the content of the state file of a watch.
type state struct {
	Format int    `json:"format"`
	Watch  string `json:"watch"`
	// Definition is Watch.digest at the last evaluation.
	Definition string `json:"definition"`
	// Evaluations are the last evaluations, at most maxEvaluations, oldest first. They are ordered by
	// number and not by time, because the clock may have been wrong.
	Evaluations []evaluation    `json:"looked"`
	Findings    map[string]span `json:"findings"` // of Evaluations, by the hash of their key columns
	// IsUnreadReported is set when a message reported unread tables. It is cleared when the query runs.
	IsUnreadReported bool             `json:"unread"`
	Pending          []pendingMessage `json:"waiting"`
	Sent             time.Time        `json:"sent_at,omitzero"` // when a message last reached all its channels
}

// Status is a summary of the state of a watch.
type Status struct {
	Watch string
	// Evaluated is the snapshot of the last evaluation. Zero means that there was none.
	Evaluated query.Snapshot
	// Found counts the findings of the last evaluation. Pending counts the undelivered messages.
	Found, Pending int
	// Sent is the time when a message last reached all its channels, or zero.
	Sent time.Time
}

func stateFile(f *warehouse.Folder, name string) warehouse.StateFile {
	return f.StateFile("watches", name+".json")
}

// ReadStatus needs no lock, because state files are replaced atomically.
func ReadStatus(folder *warehouse.Folder, name string) (Status, error) {
	s, err := readState(folder, name)
	if err != nil {
		return Status{}, err
	}
	status := Status{Watch: name, Pending: len(s.Pending), Sent: s.Sent}
	if n := len(s.Evaluations); n > 0 {
		last := s.Evaluations[n-1]
		status.Evaluated = last.Snapshot
		for _, f := range s.Findings {
			if f.Last == last.Number {
				status.Found++
			}
		}
	}
	return status, nil
}

type evaluation struct {
	Number int `json:"number"`
	query.Snapshot
}

// span records when a finding existed: the time of the first snapshot with the finding, and the
// number of the last evaluation with it.
type span struct {
	Since time.Time `json:"since"`
	Last  int       `json:"last"`
}

type pendingMessage struct {
	Channels []string `json:"channels"`
	Message  Message  `json:"message"`
}

// readState reads the state of a watch. A missing file means an empty state. A damaged file
// is an error, because an empty state would send all findings again.
func readState(folder *warehouse.Folder, name string) (*state, error) {
	s := &state{}
	ok, err := stateFile(folder, name).Read(s)
	switch {
	case err == nil && !ok:
		return &state{Format: stateFormat, Watch: name, Findings: map[string]span{}}, nil
	case err == nil && s.Format > stateFormat:
		return nil, fmt.Errorf("read the state of the watch %s: the file has format %d of a later placementsync; no message was sent: use that version", name, s.Format)
	case err == nil && (s.Watch != name || s.Format != stateFormat || s.Findings == nil):
		err = fmt.Errorf("the file is not the state of the watch %s", name)
	case err == nil:
		return s, nil
	}
	return nil, fmt.Errorf("read the state of the watch %s: %w; no message was sent: restore state/watches/%[1]s.json from a backup, "+
		"or remove it to send all findings once more", name, err)
}

// digest is a hash of the parts of a watch that decide which findings it has. Findings of
// watches with different digests cannot be compared.
func (w Watch) digest() string {
	limit := ""
	if w.When.Bound != nil {
		limit = w.When.Bound.RatString()
	}
	// Marshal cannot fail for these types, and sorts the keys of the map.
	text, _ := json.Marshal([]any{w.Query, w.Params, w.When.Column, w.When.Over, limit, w.Key, w.querySQL})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (s *state) isEvaluated(w Watch, current query.Snapshot) bool {
	return s.Definition == w.digest() && slices.ContainsFunc(s.Evaluations, func(e evaluation) bool { return e.isAt(current) })
}

func (e evaluation) isAt(s query.Snapshot) bool { return e.Run == s.Run && e.At.Equal(s.At) }

// chooseBase returns the evaluation to compare with: the newest evaluation at an ancestor of the
// current snapshot, or zero. An evaluation at a snapshot that was rolled back is not chosen, but
// its findings still count as known. If the definition of the watch has changed, chooseBase first
// removes all evaluations and findings.
func (s *state) chooseBase(w Watch, ancestors []query.Snapshot) evaluation {
	if digest := w.digest(); s.Definition != digest {
		s.Definition, s.Evaluations, s.Findings, s.IsUnreadReported = digest, nil, map[string]span{}, false
	}
	for _, e := range slices.Backward(s.Evaluations) {
		if slices.ContainsFunc(ancestors, e.isAt) {
			return e
		}
	}
	return evaluation{}
}

// knownSince returns the time of the first snapshot with a finding. isKnown reports whether base or a later
// evaluation had the finding. The later ones count too, although their snapshots were rolled back, because
// their findings were sent.
func (s *state) knownSince(id string, base evaluation) (since time.Time, isKnown bool) {
	f, exists := s.Findings[id]
	return f.Since, exists && f.Last >= base.Number
}

func (s *state) addEvaluation(current query.Snapshot, findings map[string]time.Time) {
	number := 1
	if n := len(s.Evaluations); n > 0 {
		number = s.Evaluations[n-1].Number + 1
	}
	s.IsUnreadReported = false
	s.Evaluations = append(s.Evaluations, evaluation{number, current})
	s.Evaluations = s.Evaluations[max(0, len(s.Evaluations)-maxEvaluations):]
	for id, since := range findings {
		s.Findings[id] = span{Since: since, Last: number}
	}
	for id, f := range s.Findings {
		if f.Last < s.Evaluations[0].Number {
			delete(s.Findings, id)
		}
	}
}

func (s *state) addPending(m Message, channels []string) {
	s.Pending = append(s.Pending, pendingMessage{Channels: slices.Clone(channels), Message: m})
}

// removeChannels removes channels of pending messages, and then the messages without a channel.
func (s *state) removeChannels(isRemoved func(m Message, channel string) bool) (changed bool) {
	for i, p := range s.Pending {
		channels := slices.DeleteFunc(slices.Clone(p.Channels), func(c string) bool { return isRemoved(p.Message, c) })
		changed = changed || len(channels) < len(p.Channels)
		s.Pending[i].Channels = channels
	}
	s.Pending = slices.DeleteFunc(s.Pending, func(p pendingMessage) bool { return len(p.Channels) == 0 })
	return changed
}
