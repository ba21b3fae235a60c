package cli_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"placementsync/internal/bucket"
	"placementsync/internal/cli"
	"placementsync/internal/config"
	"placementsync/internal/notify"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
	"placementsync/internal/warehouse"
)

// TestOptionsComeFromTheConfiguration compares the options of the warehouse and of object storage with a configuration that
// differs from the defaults in each setting.
func TestOptionsComeFromTheConfiguration(t *testing.T) {
	c := config.Default()
	c.Warehouse.Dir, c.Warehouse.KeepVersions, c.Warehouse.MemoryLimit, c.Warehouse.Threads, c.Warehouse.PublishedMode = "w", 7, "1GB", 3, "0640"
	c.Privacy.Raw = config.RawDiscard
	c.Statuses = config.Statuses{Published: []string{"done"}}
	want := warehouse.Config{Dir: "w", KeepVersions: 7, MemoryLimit: "1GB", Threads: 3, Program: "1.0.0", PublishedMode: fs.FileMode(0o640), DiscardRaw: true,
		Tables: stream.Tables(stream.AllWithEvents()), Statuses: []warehouse.Status{{Prefix: "done", State: "published"}}}
	if got := cli.WarehouseConfig(c, "1.0.0"); !reflect.DeepEqual(got, want) {
		t.Errorf("the options of the warehouse are %+v, want %+v", got, want)
	}

	dir := t.TempDir()
	access, secret := filepath.Join(dir, "access"), filepath.Join(dir, "secret")
	for file, key := range map[string]string{access: "AK\n", secret: "SK\n"} {
		harness.Must(t, os.WriteFile(file, []byte(key), 0o600))
	}
	s3 := config.S3{Endpoint: "http://localhost:9000", Region: "eu-1", PathStyle: true, AccessKeyFile: access, SecretKeyFile: secret}
	wantBucket := bucket.Config{Endpoint: "http://localhost:9000", Region: "eu-1", PathStyle: true, AccessKey: "AK", SecretKey: "SK"}
	if got, err := cli.BucketConfig(s3); err != nil || got != wantBucket {
		t.Errorf("the options of object storage are %+v (%v), want %+v", got, err, wantBucket)
	}
	s3.SecretKeyFile += "-missing"
	if _, err := cli.BucketConfig(s3); err == nil {
		t.Error("a missing key file is no error, want one")
	}
}

// TestAlertsUseTheProxy sends an alert from a child process, because a process reads the variables of proxies once.
func TestAlertsUseTheProxy(t *testing.T) {
	if os.Getenv("SENDS_ALERT") != "" {
		addresses := config.Notify{FailureURL: "http://receiver.test/alerts"}
		sender := cli.NewNotifier(addresses, "test", slog.New(slog.DiscardHandler))
		sender.Alert(t.Context(), notify.Alert{Event: notify.Failed})
		return
	}
	requested := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		requested <- r.URL.String()
	}))
	defer proxy.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAlertsUseTheProxy$")
	cmd.Env = append(os.Environ(), "SENDS_ALERT=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=")
	if err := cmd.Run(); err != nil || len(requested) != 1 || <-requested != "http://receiver.test/alerts" {
		t.Errorf("the child process ended with %v, and %d more requests reached the proxy, want the alert",
			err, len(requested))
	}
}

// TestLevelsOfTheLog writes a line of each level.
func TestLevelsOfTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		flags cli.Flags
		want  string
	}{
		"default": {cli.Flags{}, "INFO WARN ERROR"}, "quiet": {cli.Flags{Quiet: true}, "WARN ERROR"}, "verbose": {cli.Flags{Verbose: true}, "DEBUG INFO WARN ERROR"},
	} {
		var text bytes.Buffer
		log := c.flags.NewLogger(&text)
		log.Debug("a")
		log.Info("b")
		log.Warn("c")
		log.Error("d")
		var levels []string
		for line := range strings.Lines(text.String()) {
			at, level, _ := strings.Cut(line, "level=")
			if !strings.HasPrefix(at, "time=") {
				t.Errorf("the line %q has no time", line)
			}
			levels = append(levels, strings.Fields(level)[0])
		}
		if got := strings.Join(levels, " "); got != c.want {
			t.Errorf("%s: the log has the levels %s, want %s", name, got, c.want)
		}
	}
}
