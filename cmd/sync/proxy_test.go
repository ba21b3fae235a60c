package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"placementsync/internal/command"
)

// TestProxy checks that requests use the proxy of the environment.
func TestProxy(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.URL.Host:
		default:
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(proxy.Close)
	var out, problems bytes.Buffer
	env := map[string]string{"HTTP_PROXY": proxy.URL, usualTokenEnv: "pc_demo"}
	p := process{stdout: &out, stderr: &problems, Host: command.Host{LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Now: time.Now}}
	code := executeArgs(t.Context(), []string{"init", "--config", filepath.Join(t.TempDir(), "config.yaml"), "--base-url", "http://api.example.invalid", "--allow-insecure"}, p)
	if code != 1 || !strings.Contains(problems.String(), "answered 401") {
		t.Errorf("init ended with %d: %s; want 1 and the status 401 of the proxy", code, &problems)
	}
	if len(asked) == 0 || <-asked != "api.example.invalid" {
		t.Error("the proxy received no request for the service")
	}
}
