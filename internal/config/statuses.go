package config

import (
	"fmt"
	"slices"
	"strings"
)

// Statuses are the meanings of statuses. The first lists contain prefixes of the statuses of articles. A
// prefix is in one of them at most, except that Revision may contain prefixes of other lists.
type Statuses struct {
	Published         []string `yaml:"published"`
	Ended             []string `yaml:"ended"` // without being published
	WaitsForPartner   []string `yaml:"waits_for_partner"`
	WaitsForApproval  []string `yaml:"waits_for_approval"`
	WaitsForWriter    []string `yaml:"waits_for_writer"`
	WaitsForPublisher []string `yaml:"waits_for_publisher"`
	Revision          []string `yaml:"revision"`

	// The lists of orders and campaigns contain whole statuses, in upper or lower case.
	OrdersFulfilled []string `yaml:"orders_fulfilled"`
	OrdersEnded     []string `yaml:"orders_ended"` // without being fulfilled
	CampaignsEnded  []string `yaml:"campaigns_ended"`
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

func (s *Statuses) ofOrdersAndCampaigns() (orders, campaigns []statusList) {
	orders = []statusList{
		{path: "statuses.orders_fulfilled", prefixes: &s.OrdersFulfilled},
		{path: "statuses.orders_ended", prefixes: &s.OrdersEnded},
	}
	return orders, []statusList{{path: "statuses.campaigns_ended", prefixes: &s.CampaignsEnded}}
}

// groups returns all lists. Those of a group have no status in common.
func (s *Statuses) groups() [][]statusList {
	orders, campaigns := s.ofOrdersAndCampaigns()
	revision := []statusList{{path: "statuses.revision", prefixes: &s.Revision}}
	return [][]statusList{s.lists(), revision, orders, campaigns}
}

// QuerySettings returns the settings that parameters of queries may name, by their keys. The items of lists
// are separated by commas.
func (c Config) QuerySettings() map[string]string {
	settings := map[string]string{"schedule.timezone": c.Schedule.Timezone}
	orders, campaigns := c.Statuses.ofOrdersAndCampaigns()
	for _, l := range slices.Concat(orders, campaigns) {
		settings[l.path] = strings.Join(*l.prefixes, ",")
	}
	return settings
}

// List returns the meaning of each prefix of the statuses of articles.
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

// removeFromDefaults removes a status that the file puts into one list from the lists that keep their defaults.
func (b *binder) removeFromDefaults(lists []statusList) {
	isInFile := func(l statusList) bool { return b.lines[l.path] > 0 }
	var written []string
	for _, l := range lists {
		if isInFile(l) {
			written = append(written, *l.prefixes...)
		}
	}
	for _, l := range lists {
		if !isInFile(l) {
			*l.prefixes = slices.DeleteFunc(*l.prefixes, func(prefix string) bool { return slices.Contains(written, prefix) })
		}
	}
}

func (v *validator) checkStatuses(s Statuses) {
	for _, group := range s.groups() {
		v.checkStatusGroup(group)
	}
}

func (v *validator) checkStatusGroup(lists []statusList) {
	found := map[string]string{} // the list of each status
	for _, l := range lists {
		for i, status := range *l.prefixes {
			item := fmt.Sprintf("%s[%d]", l.path, i)
			switch other := found[status]; {
			case status == "":
				v.addProblem(item, "is empty: write a status such as published")
			case strings.Contains(status, ","):
				v.refuse(item, status, "contains a comma: write one status per item")
			case other != "":
				v.refuse(item, status, "is in "+other+" too: keep one of the two")
			}
			found[status] = l.path
		}
	}
}
