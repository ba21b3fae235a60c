package trials_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
)

// seasonNights is the number of nights of a long season.
const seasonNights = 30

// seasonPlan is a season as data, which can be printed, replayed and shrunk. The seed determines
// the world and, through drawSeason, the events.
type seasonPlan struct {
	Seed uint64
	// Upgrade begins with the warehouse that release 1.0.0 wrote in three nights.
	Upgrade bool
	Details pipeline.Details
	Nights  []seasonNight
}

// seasonNight is a night with the events before and during it.
type seasonNight struct {
	// Day is the simulated day. On days between the nights no night runs.
	Day    int
	Events []seasonEvent
}

// seasonEvent is an operation before a night, or a fault during it. The method of season with the
// name of the kind gives the parameters their meaning.
type seasonEvent struct {
	Kind   string
	Name   string   `json:",omitempty"`
	Number int      `json:",omitempty"`
	Step   stepCall `json:",omitzero"`
}

func (e seasonEvent) String() string {
	text := e.Kind
	if e.Name != "" {
		text += " " + e.Name
	}
	if e.Number != 0 {
		text += fmt.Sprint(" ", e.Number)
	}
	if e.Step.Step != "" {
		text += " at " + e.Step.String()
	}
	return text
}

func (p seasonPlan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, details %s, upgrade %t\n", p.Seed, p.Details, p.Upgrade)
	for _, n := range p.Nights {
		fmt.Fprintf(&b, "  day %d: %v\n", n.Day, n.Events)
	}
	return b.String()
}

// Kinds of events.
const (
	rollbackEvent = "rollback"
	rebuildEvent  = "rebuild"
	backupEvent   = "backup"
	restoreEvent  = "restore"
	webhookEvent  = "webhooks"
	readerEvent   = "reader"
	clockEvent    = "clock jump"
	faultEvent    = "fault"
	endpointEvent = "fault of an endpoint"
	movingEvent   = "moving lists"
	valueEvent    = "wrong values"
	tokenEvent    = "token revoked"
	killEvent     = "kill"
	powerEvent    = "power cut"
	diskEvent     = "disk error"
	againEvent    = "run again"
)

// draw is an event that a night has with a probability in percent.
type draw struct {
	kind    string
	percent int
}

// seasonDraws returns groups of events. A night has at most one event of each group.
func seasonDraws() [][]draw {
	accidents := []draw{{killEvent, 20}, {powerEvent, 10}, {diskEvent, 12}}
	return [][]draw{
		{{backupEvent, 12}, {restoreEvent, 4}, {rollbackEvent, 6}, {rebuildEvent, 5}},
		{{webhookEvent, 30}},
		{{readerEvent, 8}},
		{{clockEvent, 6}},
		{{faultEvent, 18}, {endpointEvent, 12}, {movingEvent, 12}, {valueEvent, 12}, {tokenEvent, 5}},
		accidents,
		accidents,
		{{againEvent, 50}},
	}
}

// wrongValues are the faults of values of a season. Wrong prices are held by a check, zero prices
// are reported by another one, and no check of the season finds wrong amounts.
func wrongValues() map[string]sim.ValueFault {
	return map[string]sim.ValueFault{
		"cents": {Kind: sim.ValueCents}, "hundredths": {Kind: sim.ValueHundredths}, "zero prices": {Kind: sim.ValueZeroPrices, Share: 0.3},
		"amounts": {Kind: sim.ValueAmounts},
	}
}

// drawSeason returns the plan of a seed. steps are the steps at which a night can be stopped.
func drawSeason(seed uint64, nights int, steps []string) seasonPlan {
	random := rand.New(rand.NewPCG(seed, 34))
	p := seasonPlan{Seed: seed, Upgrade: random.IntN(5) == 0, Details: pipeline.ChangedDetails}
	if random.IntN(3) == 0 {
		p.Details = pipeline.AllDetails
	}
	first := 1
	if p.Upgrade {
		first = 4
	}
	for day := first; day < first+nights; day++ {
		night := seasonNight{Day: day}
		for _, group := range seasonDraws() {
			n := random.IntN(100)
			for _, d := range group {
				if n -= d.percent; n < 0 {
					night.Events = append(night.Events, drawEvent(random, d.kind, steps))
					break
				}
			}
		}
		p.Nights = append(p.Nights, night)
	}
	return p
}

// drawEvent draws the parameters of an event.
func drawEvent(random *rand.Rand, kind string, steps []string) seasonEvent {
	e := seasonEvent{Kind: kind}
	pick := func(names []string) string { return names[random.IntN(len(names))] }
	faults := seasonFaults()
	switch kind {
	case rollbackEvent:
		e.Number = random.IntN(3)
	case webhookEvent:
		e.Number = 1 + random.IntN(4)
	case clockEvent:
		e.Number = []int{-30, -5, 20, 75}[random.IntN(4)]
	case faultEvent:
		e.Name, e.Number = faults[random.IntN(len(faults))].name, []int{1, 5, 20, 50}[random.IntN(4)]
	case endpointEvent:
		e.Name, e.Number = faults[random.IntN(len(faults))].name, random.IntN(len(endpoints()))
	case movingEvent:
		e.Number = 1 + random.IntN(8)
	case valueEvent:
		e.Name = pick([]string{"cents", "hundredths", "zero prices", "amounts"})
		e.Number = random.IntN(len(decisions()))
	case tokenEvent:
		e.Number = random.IntN(40)
	case killEvent, diskEvent, powerEvent:
		e.Step = stepCall{Step: pick(steps), Nth: 1 + random.IntN(3)}
		if kind == powerEvent {
			e.Number = random.IntN(1000)
		}
	}
	return e
}

// decisions are the ways to treat a night that a check has held.
func decisions() []string { return []string{"leave", "publish", "discard"} }

// seasonFaults returns the faults of the service that do not depend on time and add nothing to
// records.
func seasonFaults() []faultKind {
	return slices.DeleteFunc(slices.Concat(refusalFaults(), connectionFaults(), bodyFaults()), func(k faultKind) bool {
		return k.fault == nil || k.fault.Kind == sim.FaultSlow || k.noise != nil
	})
}

// shrink removes elements while the rest still fails: halves first, single elements last.
func shrink[T any](all []T, fails func([]T) bool) []T {
	for size := (len(all) + 1) / 2; size > 0; size /= 2 {
		for from := 0; from < len(all); {
			rest := slices.Delete(slices.Clone(all), from, min(from+size, len(all)))
			if fails(rest) {
				all = rest
			} else {
				from += size
			}
		}
	}
	return all
}

// shrunk returns the nights and events of a failing plan without which it does not fail.
func (p seasonPlan) shrunk(fails func(seasonPlan) bool) seasonPlan {
	all := p
	all.Nights = slices.Clone(shrink(p.Nights, func(nights []seasonNight) bool {
		part := p
		part.Nights = nights
		return fails(part)
	}))
	for i := range all.Nights {
		all.Nights[i].Events = shrink(all.Nights[i].Events, func(events []seasonEvent) bool {
			part := all
			part.Nights = slices.Clone(all.Nights)
			part.Nights[i].Events = events
			return fails(part)
		})
	}
	return all
}

func TestShrunkSeasonKeepsItsCause(t *testing.T) {
	t.Parallel()
	whole := drawSeason(1, seasonNights, []string{"merged"})
	has := func(p seasonPlan, day int, kind string) bool {
		return slices.ContainsFunc(p.Nights, func(n seasonNight) bool {
			return n.Day == day && slices.ContainsFunc(n.Events, func(e seasonEvent) bool { return e.Kind == kind })
		})
	}
	whole.Nights[4].Events = append(whole.Nights[4].Events, seasonEvent{Kind: backupEvent})
	whole.Nights[20].Events = append(whole.Nights[20].Events, seasonEvent{Kind: restoreEvent})
	first, second := whole.Nights[4].Day, whole.Nights[20].Day
	got := whole.shrunk(func(p seasonPlan) bool { return has(p, first, backupEvent) && has(p, second, restoreEvent) })
	want := fmt.Sprintf("seed 1, details %s, upgrade %t\n  day %d: [backup]\n  day %d: [restore]\n", whole.Details, whole.Upgrade, first, second)
	if got.String() != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSeasonOfASeedIsTheSame(t *testing.T) {
	t.Parallel()
	steps := []string{"merged", "audited"}
	if a, b := drawSeason(7, seasonNights, steps), drawSeason(7, seasonNights, steps); a.String() != b.String() {
		t.Errorf("a seed has two plans:\n%s%s", a, b)
	}
}
