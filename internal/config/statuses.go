package config

import (
	"fmt"
	"slices"
)

// Statuses are the prefixes of the statuses of articles, by their meaning. A prefix is in one list at
// most, except that Revision may contain prefixes of other lists.
type Statuses struct {
	Published         []string `yaml:"published"`
	Ended             []string `yaml:"ended"` // without being published
	WaitsForPartner   []string `yaml:"waits_for_partner"`
	WaitsForApproval  []string `yaml:"waits_for_approval"`
	WaitsForWriter    []string `yaml:"waits_for_writer"`
	WaitsForPublisher []string `yaml:"waits_for_publisher"`
	Revision          []string `yaml:"revision"`
}

// Status is the meaning of one prefix.
type Status struct {
	Prefix string
	// State is open, published or ended.
	State string
	// WaitsFor is partner, approval, writer, publisher or empty.
	WaitsFor   string
	IsRevision bool
}

// statusList is a list that gives its prefixes a state.
type statusList struct {
	path            string
	prefixes        *[]string
	state, waitsFor string
}

func (s *Statuses) lists() []statusList {
	return []statusList{
		{"statuses.published", &s.Published, "published", ""},
		{"statuses.ended", &s.Ended, "ended", ""},
		{"statuses.waits_for_partner", &s.WaitsForPartner, "open", "partner"},
		{"statuses.waits_for_approval", &s.WaitsForApproval, "open", "approval"},
		{"statuses.waits_for_writer", &s.WaitsForWriter, "open", "writer"},
		{"statuses.waits_for_publisher", &s.WaitsForPublisher, "open", "publisher"},
	}
}

// List returns the meaning of each prefix.
func (s Statuses) List() []Status {
	var all []Status
	for _, l := range s.lists() {
		for _, prefix := range *l.prefixes {
			all = append(all, Status{prefix, l.state, l.waitsFor, slices.Contains(s.Revision, prefix)})
		}
	}
	for _, prefix := range s.Revision {
		if !slices.ContainsFunc(all, func(other Status) bool { return other.Prefix == prefix }) {
			all = append(all, Status{Prefix: prefix, State: "open", IsRevision: true})
		}
	}
	return all
}

// releaseStatuses removes the prefixes of the lists that the file contains from the default lists.
func (b *binder) releaseStatuses(s *Statuses) {
	isInFile := func(l statusList) bool { return b.lines[l.path] > 0 }
	var written []string
	for _, l := range s.lists() {
		if isInFile(l) {
			written = append(written, *l.prefixes...)
		}
	}
	for _, l := range s.lists() {
		if !isInFile(l) {
			*l.prefixes = slices.DeleteFunc(*l.prefixes, func(prefix string) bool { return slices.Contains(written, prefix) })
		}
	}
}

func (v *validator) checkStatuses(s Statuses) {
	found := map[string]string{} // the list of each prefix
	for _, l := range s.lists() {
		for i, prefix := range *l.prefixes {
			item := fmt.Sprintf("%s[%d]", l.path, i)
			v.checkPrefix(item, prefix)
			if other := found[prefix]; other != "" {
				v.refuse(item, prefix, "is in "+other+" too: keep one of the two")
			}
			found[prefix] = l.path
		}
	}
	for i, prefix := range s.Revision {
		v.checkPrefix(fmt.Sprintf("statuses.revision[%d]", i), prefix)
	}
}

func (v *validator) checkPrefix(item, prefix string) {
	if prefix == "" {
		v.addProblem(item, "is empty: write the prefix of a status, such as published")
	}
}
