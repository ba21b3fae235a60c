package main

import (
	"context"
	"flag"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"placementsync/internal/sim"
)

// stage is the environment of a script: at most one demo service and one program in the
// background.
type stage struct {
	service  *sim.Service
	program  *background
	receiver *receiver
	token    string // that of the service

	mu   sync.Mutex // guards seen
	seen map[string]chan struct{}
}

// asked is closed when a path has been asked for.
func (s *stage) asked(path string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[path] == nil {
		s.seen[path] = make(chan struct{})
	}
	return s.seen[path]
}

// see records a request. It is a sim.Options.FaultFunc without faults.
func (s *stage) see(r *http.Request, _ int) *sim.Fault {
	asked := s.asked(r.URL.Path)
	select {
	case <-asked:
	default:
		close(asked)
	}
	return nil
}

// simServe starts a small demo service with the token of the demo.
func simServe(ts *testscript.TestScript, neg bool, args []string) {
	s := stageOf(ts)
	o := sim.Options{Outlets: 6, Listings: 60, Profiles: 2, Campaigns: 3, Orders: 8, HistoryDays: 30, Token: demoToken, FaultFunc: s.see}
	flags := flag.NewFlagSet("sim-serve", flag.ContinueOnError)
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the world")
	flags.StringVar(&o.Token, "token", demoToken, "the token that is accepted")
	flags.StringVar(&o.TokenType, "token-type", "read_only", "type of the token")
	encodings := flags.String("encodings", "", "codings of packed answers, separated by commas; empty means none")
	scopes := flags.String("scopes", "", "scopes of the token, separated by commas; empty means all reading scopes")
	flags.SetOutput(ts.Stderr())
	ts.Check(flags.Parse(args))
	demand(ts, !neg && flags.NArg() == 0, "sim-serve [FLAG...]")
	if *scopes != "" {
		o.Scopes = strings.Split(*scopes, ",")
	}
	o.Encodings = strings.Split(*encodings, ",")
	s.service, s.token = sim.New(o), o.Token
	base, stop, err := s.service.Serve(context.Background(), "")
	ts.Check(err)
	ts.Defer(func() { ts.Check(stop()) })
	ts.Setenv("SIM_URL", base)
}

func simFault(ts *testscript.TestScript, neg bool, args []string) {
	s := stageOf(ts)
	demand(ts, !neg && s.service != nil, "sim-fault [KIND[@ROUTE]...] (after sim-serve)")
	var rules []sim.Fault
	for _, arg := range args {
		name, route, _ := strings.Cut(arg, "@")
		rule, ok := faultRule(name)
		if name == "echo" {
			rule, ok = sim.Fault{Kind: sim.FaultRewrite, Rewrite: s.echo}, true
		}
		demand(ts, ok, "sim-fault html|truncate|broken|slow|echo|STATUS")
		rule.Route = route
		rules = append(rules, rule)
	}
	s.service.SetFaults(rules...)
}

func faultRule(name string) (sim.Fault, bool) {
	switch name {
	case "html":
		return sim.Fault{Kind: sim.FaultHTML}, true
	case "truncate":
		return sim.Fault{Kind: sim.FaultTruncate}, true
	case "broken":
		return sim.Fault{Kind: sim.FaultBrokenJSON}, true
	case "slow":
		return sim.Fault{Kind: sim.FaultSlow, Delay: time.Hour}, true
	}
	status, err := strconv.Atoi(name)
	return sim.Fault{Kind: sim.FaultStatus, Status: status}, err == nil
}

func simAdvance(ts *testscript.TestScript, neg bool, args []string) {
	s := stageOf(ts)
	demand(ts, !neg && len(args) == 1 && s.service != nil, "sim-advance DAYS (after sim-serve)")
	days, err := strconv.Atoi(args[0])
	ts.Check(err)
	s.service.Advance(days)
}

// simCount counts records of the script's service or, before sim-serve, of the service of
// the demo command, which depends only on seed and day.
func simCount(ts *testscript.TestScript, neg bool, args []string) {
	demand(ts, !neg && (len(args) == 2 || len(args) == 3), "sim-count PATH VAR [DAY of the demo]")
	service := stageOf(ts).service
	if len(args) == 3 {
		day, err := strconv.Atoi(args[2])
		ts.Check(err)
		service = sim.New(sim.Options{Seed: 1})
		service.Advance(day)
	}
	demand(ts, service != nil, "sim-count PATH VAR (after sim-serve)")
	ts.Setenv(args[1], strconv.Itoa(len(service.Records(args[0]))))
}

func simAwait(ts *testscript.TestScript, neg bool, args []string) {
	demand(ts, !neg && len(args) == 1, "sim-await PATH")
	s := stageOf(ts)
	if s.program == nil {
		<-s.asked(args[0])
		return
	}
	select {
	case <-s.asked(args[0]):
	case <-s.program.done:
		ts.Fatalf("the program ended before it asked for %s:\n%s%s", args[0], &s.program.stdout, &s.program.stderr)
	}
}
