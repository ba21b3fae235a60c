package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/testing/harness"
)

// browser is one tab of a headless Chromium. It is controlled over two pipes with the
// DevTools protocol, and records problems of the page.
type browser struct {
	t        *testing.T
	commands io.Writer
	messages *bufio.Reader
	session  string
	// origin is the server of the page. Empty means that the page is a file.
	origin string
	calls  int
	// problems are errors on the console, requests to other addresses, and violations of the
	// page's content security policy.
	problems []string
}

// startBrowser starts Chromium. If Chromium is not installed, it skips the test.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program := findChromium()
	if program == "" {
		t.Skip("no chromium was found: install it with apt-get install chromium")
	}
	commandReader, commandWriter := pipe(t)
	messageReader, messageWriter := pipe(t)
	// The timeout also ends a test whose page does not draw its charts.
	const timeout = 10 * time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--hide-scrollbars", "--disable-dev-shm-usage",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{commandReader, messageWriter} // file descriptors 3 and 4 of the program
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	commandReader.Close()
	messageWriter.Close()
	b := &browser{t: t, commands: commandWriter, messages: bufio.NewReader(messageReader)}
	t.Cleanup(func() {
		cancel()
		t.Logf("chromium ended: %v", cmd.Wait())
	})
	b.openTab()
	return b
}

func findChromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	return ""
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	harness.Must(t, err)
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func (b *browser) openTab() {
	b.t.Helper()
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
}

// protocolMessage is a response or an event of the DevTools protocol.
type protocolMessage struct {
	ID     int
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct{ Message string }
}

// call sends a command and waits for its response.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.calls++
	text, err := json.Marshal(map[string]any{"id": b.calls, "method": method, "params": params, "sessionId": b.session})
	if b.session == "" {
		text, err = json.Marshal(map[string]any{"id": b.calls, "method": method, "params": params})
	}
	if err == nil {
		_, err = b.commands.Write(append(text, 0))
	}
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	for {
		m := b.next()
		switch {
		case m.ID != b.calls:
		case m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		default:
			if result != nil {
				if err := json.Unmarshal(m.Result, result); err != nil {
					b.t.Fatalf("%s: %v", method, err)
				}
			}
			return
		}
	}
}

// next reads one message and records problems of the page.
func (b *browser) next() protocolMessage {
	b.t.Helper()
	text, err := b.messages.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("read from chromium: %v", err)
	}
	var m protocolMessage
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatalf("read from chromium: %v", err)
	}
	switch m.Method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		b.problems = append(b.problems, string(m.Params))
	case "Network.requestWillBeSent":
		var sent struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &sent); err != nil || !b.isAllowed(sent.Request.URL) {
			b.problems = append(b.problems, "a request for "+sent.Request.URL)
		}
	}
	return m
}

func (b *browser) isAllowed(url string) bool {
	return strings.HasPrefix(url, "data:image/svg") || // the icon of a date field, which is part of the browser
		b.origin == "" && strings.HasPrefix(url, "file:") || b.origin != "" && strings.HasPrefix(url, b.origin+"/")
}

// visitURL opens a URL in a window of the given size and color scheme.
func (b *browser) visitURL(url string, width, height int, colorScheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": colorScheme}}}, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	for b.next().Method != "Page.loadEventFired" {
	}
}

// visitReport opens the file of a report, as visitURL does, and waits until the page has drawn its
// charts.
func (b *browser) visitReport(file string, width, height int, colorScheme string) {
	b.t.Helper()
	b.visitURL("file://"+filepath.ToSlash(file), width, height, colorScheme)
	b.eval(`new Promise((done) => {
		const root = document.documentElement, drawn = () => "drawn" in root.dataset && done(true);
		new MutationObserver(drawn).observe(root, {attributes: true});
		drawn();
	})`, nil)
}

// eval evaluates an expression into value. If the result is a promise, eval waits for it.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var evaluated struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct{ Text string }
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &evaluated)
	if evaluated.ExceptionDetails != nil {
		b.t.Fatalf("evaluate %s: %s", expression, evaluated.ExceptionDetails.Text)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(evaluated.Result.Value, value); err != nil {
		b.t.Fatalf("evaluate %s: %v", expression, err)
	}
}
