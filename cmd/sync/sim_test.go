package main

import (
	"flag"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"placementsync/internal/sim"
)

// scriptEnv is the environment of a script: at most one demo service, one program in the
// background and one receiver of notifications.
type scriptEnv struct {
	service  *sim.Service
	program  *backgroundProgram
	receiver *receiver
	token    string // the token of the service

	mu             sync.Mutex               // guards requestSignals
	requestSignals map[string]chan struct{} // by path; closed at the first request
}

// requestSignal returns a channel that is closed when the path is requested.
func (s *scriptEnv) requestSignal(path string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.requestSignals[path] == nil {
		s.requestSignals[path] = make(chan struct{})
	}
	return s.requestSignals[path]
}

// forgetRequests lets sim-await wait for a request after the last sim-fault.
func (s *scriptEnv) forgetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.requestSignals)
}

// recordRequest records a request. It is a sim.Options.FaultFunc that returns no faults.
func (s *scriptEnv) recordRequest(r *http.Request) *sim.Fault {
	signal := s.requestSignal(r.URL.Path)
	select {
	case <-signal:
	default:
		close(signal)
	}
	return nil
}

// simServe starts a small demo service. The default of its token is the token of the demo.
func simServe(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptEnvOf(ts)
	o := smallWorld
	o.FaultFunc = s.recordRequest
	flags := flag.NewFlagSet("sim-serve", flag.ContinueOnError)
	flags.Uint64Var(&o.Seed, "seed", 1, "seed of the world")
	flags.StringVar(&o.Token, "token", demoToken, "the token that is accepted")
	flags.StringVar(&o.TokenType, "token-type", "read_only", "type of the token")
	encodings := flags.String("encodings", "", "encodings of compressed responses, separated by commas; empty means none")
	scopes := flags.String("scopes", "", "scopes of the token, separated by commas; empty means all reading scopes")
	flags.SetOutput(ts.Stderr())
	ts.Check(flags.Parse(args))
	requireUsage(ts, !neg && flags.NArg() == 0, "sim-serve [FLAG...]")
	if *scopes != "" {
		o.Scopes = strings.Split(*scopes, ",")
	}
	o.Encodings = strings.Split(*encodings, ",")
	s.service, s.token = sim.New(o), o.Token
	baseURL, stop, err := s.service.Serve()
	ts.Check(err)
	ts.Defer(func() { ts.Check(stop()) })
	ts.Setenv("SIM_URL", baseURL)
}

func simFault(ts *testscript.TestScript, neg bool, args []string) {
	s := scriptEnvOf(ts)
	requireUsage(ts, !neg && s.service != nil, "sim-fault [KIND[@ROUTE]...] (after sim-serve)")
	var faults []sim.Fault
	for _, arg := range args {
		name, route, _ := strings.Cut(arg, "@")
		fault, ok := parseFault(name)
		if name == "echo" {
			fault, ok = sim.Fault{Kind: sim.FaultRewrite, Rewrite: s.echoToken}, true
		}
		requireUsage(ts, ok, "sim-fault html|truncate|broken|slow|echo|STATUS")
		fault.Route = route
		faults = append(faults, fault)
	}
	s.service.SetFaults(faults...)
	s.forgetRequests()
}

func parseFault(name string) (sim.Fault, bool) {
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
	s := scriptEnvOf(ts)
	requireUsage(ts, !neg && len(args) == 1 && s.service != nil, "sim-advance DAYS (after sim-serve)")
	days, err := strconv.Atoi(args[0])
	ts.Check(err)
	s.service.Advance(days)
}

// simCount counts records of the script's service. With a day it counts the records of the demo
// command's service, which depend only on seed and day; --strange does not change their number.
func simCount(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && (len(args) == 2 || len(args) == 3), "sim-count PATH VAR [DAY of the demo]")
	service := scriptEnvOf(ts).service
	if len(args) == 3 {
		day, err := strconv.Atoi(args[2])
		ts.Check(err)
		service = sim.New(sim.Options{Seed: 1, Realistic: true})
		service.Advance(day)
	}
	requireUsage(ts, service != nil, "sim-count PATH VAR (after sim-serve)")
	ts.Setenv(args[1], strconv.Itoa(len(service.Records(args[0]))))
}

func simAwait(ts *testscript.TestScript, neg bool, args []string) {
	requireUsage(ts, !neg && len(args) == 1, "sim-await PATH")
	s := scriptEnvOf(ts)
	if s.program == nil {
		<-s.requestSignal(args[0])
		return
	}
	select {
	case <-s.requestSignal(args[0]):
	case <-s.program.done:
		ts.Fatalf("the program ended before it requested %s:\n%s%s", args[0], &s.program.stdout, &s.program.stderr)
	}
}
