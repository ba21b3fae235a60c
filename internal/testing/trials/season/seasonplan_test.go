package season_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"placementsync/internal/pipeline"
	"placementsync/internal/sim"
	"placementsync/internal/testing/trials"
)

// seasonNights is the number of nights of a long season.
const seasonNights = 30

// seasonPlan describes a season. The seed determines the data of the service. drawSeason also derives the events from the seed.
type seasonPlan struct {
	Seed    uint64
	Details pipeline.Details
	Nights  []seasonNight
}

// seasonNight is a night and its events.
type seasonNight struct {
	// Day is the simulated day. A plan may skip days.
	Day    int
	Events []seasonEvent
}

// seasonEvent is an operation before a night, or a fault during the night. season.begin and
// season.runWith define the meaning of Name, Number and Step for each kind.
type seasonEvent struct {
	Kind   string
	Name   string
	Number int
	Step   trials.StepCall
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
	fmt.Fprintf(&b, "seed %d, details %s\n", p.Seed, p.Details)
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
	clockEvent    = "clock jump"
	faultEvent    = "fault"
	endpointEvent = "fault of an endpoint"
	movingEvent   = "moving lists"
	valueEvent    = "wrong values"
	killEvent     = "kill"
	powerEvent    = "power cut"
	diskEvent     = "disk error"
	againEvent    = "run again"
)

// draw is a kind of event and its probability in a night.
type draw struct {
	kind    string
	percent int
}

// seasonDraws returns groups of kinds of events. A night has at most one event of each group.
func seasonDraws() [][]draw {
	accidents := []draw{{killEvent, 20}, {powerEvent, 10}, {diskEvent, 12}}
	return [][]draw{
		{{backupEvent, 12}, {restoreEvent, 4}, {rollbackEvent, 6}, {rebuildEvent, 5}},
		{{webhookEvent, 30}},
		{{clockEvent, 6}},
		{{faultEvent, 18}, {endpointEvent, 12}, {movingEvent, 12}, {valueEvent, 12}},
		accidents,
		accidents,
		{{againEvent, 50}},
	}
}

// valueFaults returns the faults in values, by name. A check holds nights whose prices are multiplied or divided by 100.
func valueFaults() map[string]sim.ValueFault {
	return map[string]sim.ValueFault{
		"prices times 100": {Change: trials.PricesTimes(100, 1)}, "prices divided by 100": {Change: trials.PricesTimes(1, 100)},
		"zero prices": {Change: trials.PricesTimes(0, 1), Share: 0.3}, "amounts times 100": {Change: trials.FieldsTimes(100, 1, "total", "sale_price")},
	}
}

// drawSeason returns the plan for a seed. steps are the steps at which an accident can occur.
func drawSeason(seed uint64, nights int, steps []string) seasonPlan {
	random := rand.New(rand.NewPCG(seed, 34))
	p := seasonPlan{Seed: seed, Details: pipeline.ChangedDetails}
	if random.IntN(3) == 0 {
		p.Details = pipeline.AllDetails
	}
	for day := 1; day <= nights; day++ {
		night := seasonNight{Day: day}
		for _, group := range seasonDraws() {
			n := random.IntN(100)
			for _, d := range group {
				n -= d.percent
				if n < 0 {
					night.Events = append(night.Events, drawEvent(random, d.kind, steps))
					break
				}
			}
		}
		p.Nights = append(p.Nights, night)
	}
	return p
}

// drawEvent returns an event with random parameters.
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
		e.Name, e.Number = faults[random.IntN(len(faults))].Name, []int{1, 5, 20, 50}[random.IntN(4)]
	case endpointEvent:
		e.Name, e.Number = faults[random.IntN(len(faults))].Name, random.IntN(len(trials.Endpoints()))
	case movingEvent:
		e.Number = 1 + random.IntN(8)
	case valueEvent:
		e.Name = pick([]string{"prices times 100", "prices divided by 100", "zero prices", "amounts times 100"})
		e.Number = random.IntN(len(decisions()))
	case killEvent, diskEvent, powerEvent:
		e.Step = trials.StepCall{Step: pick(steps), Nth: 1 + random.IntN(3)}
		if kind == powerEvent {
			e.Number = random.IntN(1000)
		}
	}
	return e
}

// decisions returns the possible decisions about a held night.
func decisions() []string { return []string{"leave", "publish", "discard"} }

// seasonFaults returns the faults of the service that do not depend on time. It leaves out faults that
// add a field which a night can store.
func seasonFaults() []trials.FaultKind {
	return slices.DeleteFunc(trials.FaultKinds(), func(k trials.FaultKind) bool {
		return k.Fault == nil || k.Fault.Kind == sim.FaultSlow || k.IsNoise != nil
	})
}
