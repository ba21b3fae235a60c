package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"placementsync/internal/ledger"
	"placementsync/internal/sim"
	"placementsync/internal/testing/harness"
)

// worldSize is the size of the demo service of a trial.
type worldSize struct{ Listings, Campaigns, Orders int }

// service returns a demo service of this size. Its clock starts a week ago, so that some of its
// data is live.
func (w worldSize) service() *sim.Service {
	return sim.New(sim.Options{Listings: w.Listings, Campaigns: w.Campaigns, Orders: w.Orders, Token: demoToken,
		Start: time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -7)})
}

// articleIDs returns the ids of the articles of the first day. The events refer to these articles.
func (w worldSize) articleIDs(t *testing.T) []string {
	t.Helper()
	type record struct {
		ID string `json:"id"`
	}
	service := w.service()
	var ids []string
	for _, raw := range service.Records("/campaigns") {
		var campaign, article record
		harness.Must(t, json.Unmarshal(raw, &campaign))
		for _, raw := range service.Records("/campaigns/" + campaign.ID + "/articles") {
			harness.Must(t, json.Unmarshal(raw, &article))
			ids = append(ids, article.ID)
		}
	}
	if len(ids) == 0 {
		t.Fatal("the world has no articles")
	}
	return ids
}

// mainService is a program that runs the demo service. It prints the address of the service. Each line
// on standard input advances the service by a day. The program ends when its input ends.
func mainService() {
	var size worldSize
	err := json.Unmarshal([]byte(os.Args[1]), &size)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(ledger.Misused.ExitCode())
	}
	service := size.service()
	url, stop, err := service.Serve()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(ledger.Failed.ExitCode())
	}
	fmt.Println(url)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		service.Advance(1)
	}
	_ = stop() // the parent has closed the input
}

// demoService is a process that runs mainService.
type demoService struct {
	url   string
	input io.WriteCloser
}

func startService(t *testing.T, size worldSize) *demoService {
	t.Helper()
	text, err := json.Marshal(size)
	harness.Must(t, err)
	cmd := exec.Command("placementsync-service", string(text))
	s := &demoService{}
	s.input, err = cmd.StdinPipe()
	harness.Must(t, err)
	out, err := cmd.StdoutPipe()
	harness.Must(t, err)
	cmd.Stderr = os.Stderr
	harness.Must(t, cmd.Start())
	t.Cleanup(func() {
		harness.Must(t, s.input.Close())
		harness.Must(t, cmd.Wait())
	})
	if s.url, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("the demo service did not start: %v", err)
	}
	s.url = strings.TrimSpace(s.url)
	return s
}

// advanceRepeatedly advances the service by a day at each interval until ctx ends. wait returns
// after the last day.
func (s *demoService) advanceRepeatedly(ctx context.Context, every time.Duration) (wait func()) {
	return runUntilDone(ctx, func(ctx context.Context) {
		repeat(ctx, every, func() { _, _ = fmt.Fprintln(s.input) }) // an error is ignored: if the service has ended, the nights fail
	})
}

// runUntilDone runs work until ctx ends. wait waits for the end of the work.
func runUntilDone(ctx context.Context, work func(context.Context)) (wait func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(ctx)
	}()
	return func() { <-done }
}

func repeat(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-ctx.Done():
			return
		}
	}
}

// serveProcess is a process that runs the command "serve".
type serveProcess struct {
	cmd    *exec.Cmd
	dir    string
	url    string
	stderr output
	done   chan struct{}
}

// loadSecret signs the deliveries of a trial.
const loadSecret = "whsec-of-the-trial"

// startServe starts "serve" on an empty warehouse. A night is due every second.
func startServe(t *testing.T, serviceURL string) *serveProcess {
	t.Helper()
	p := &serveProcess{dir: t.TempDir(), stderr: output{more: make(chan struct{}, 1)}, done: make(chan struct{})}
	config := fmt.Sprintf("api: {base_url: %q, token: %s, requests_per_second: 0}\nschedule: {cron: '@every 1s'}\n"+
		"serve: {listen: '127.0.0.1:0', webhook_secrets: [%s]}\n", serviceURL, demoToken, loadSecret)
	harness.Must(t, os.WriteFile(filepath.Join(p.dir, "config.yaml"), []byte(config), 0o600))
	createWarehouse(t, filepath.Join(p.dir, "warehouse"))
	p.cmd = p.command("serve", "--verbose")
	p.cmd.Stderr = &p.stderr
	harness.Must(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // stop checks the exit code
	}()
	t.Cleanup(func() { // a test that failed before stop leaves "serve" running
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	p.url = "http://" + p.await(t, `msg=serving address=(\S+)`)
	return p
}

// command returns a command of the program with the configuration of this warehouse.
func (p *serveProcess) command(args ...string) *exec.Cmd {
	cmd := exec.Command("placementsync", args...)
	cmd.Dir = p.dir
	return cmd
}

// await waits until the log matches the expression, and returns the last group of the match.
func (p *serveProcess) await(t *testing.T, expression string) (group string) {
	t.Helper()
	pattern := regexp.MustCompile("(?m)" + expression)
	p.waitUntil(t, expression, func(log string) bool {
		match := pattern.FindStringSubmatch(log)
		if match != nil {
			group = match[len(match)-1]
		}
		return match != nil
	})
	return group
}

// awaitNights waits until n nights have ended.
func (p *serveProcess) awaitNights(t *testing.T, n int) {
	t.Helper()
	p.waitUntil(t, fmt.Sprintf("%d nights", n), func(log string) bool { return strings.Count(log, `msg="night ended"`) >= n })
}

func (p *serveProcess) waitUntil(t *testing.T, condition string, isMet func(log string) bool) {
	t.Helper()
	for !isMet(p.stderr.String()) {
		select {
		case <-p.stderr.more:
		case <-p.done:
			t.Fatalf("serve ended without %s:\n%s", condition, &p.stderr)
		}
	}
}

func (p *serveProcess) startedNights() int {
	return strings.Count(p.stderr.String(), `msg="night started"`)
}

// checkMetrics compares the metrics of "serve" with the sent deliveries.
func (p *serveProcess) checkMetrics(t *testing.T, s *senders) {
	t.Helper()
	response, err := http.Get(p.url + "/metrics")
	harness.Must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	harness.Must(t, err)
	for result, want := range s.wantMetrics() {
		if line := fmt.Sprintf("placementsync_webhook_results_total{result=%q} %d\n", result, want); !strings.Contains(string(text), line) {
			t.Errorf("the metrics do not contain %s", line)
		}
	}
}

// stop stops the process gracefully and checks its exit code and its log.
func (p *serveProcess) stop(t *testing.T) {
	t.Helper()
	harness.Must(t, p.cmd.Process.Signal(os.Interrupt))
	<-p.done
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("serve ended with %d, want 0", code)
	}
	for line := range strings.Lines(p.stderr.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "outcome=partial") || strings.Contains(line, "panic") {
			t.Errorf("serve logged %s, want no error and no partial night", line)
		}
	}
}

// run runs the program and returns its output.
func (p *serveProcess) run(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, &stderr)
	}
	return stdout.Bytes()
}

// eventRows returns the number of rows of each event in the warehouse.
func (p *serveProcess) eventRows(t *testing.T) map[string]int {
	t.Helper()
	text := p.run(t, "query", "--format", "csv", "SELECT event_id, count(*) FROM meta.webhook_events GROUP BY 1")
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	harness.Must(t, err)
	count := map[string]int{}
	for _, r := range records[1:] {
		count[r[0]], err = strconv.Atoi(r[1])
		harness.Must(t, err)
	}
	return count
}
