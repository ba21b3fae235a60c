package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/prometheus/client_golang/prometheus"

	"placementsync/internal/config"
	"placementsync/internal/daemon"
	"placementsync/internal/ledger"
	"placementsync/internal/testing/harness"
)

const (
	programInImage = "/placementsync"
	imageSource    = "../../deploy/image/"
	composeFile    = "../../deploy/compose.yaml"
)

// kubernetesObject contains the tested fields of an object in a file for Kubernetes.
type kubernetesObject struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Secrets  map[string]string `yaml:"stringData"`
	Spec     struct {
		Template pod
		Job      struct{ Spec struct{ Template pod } } `yaml:"jobTemplate"`
	}
}

type pod struct {
	Spec struct {
		SharesProcesses bool `yaml:"shareProcessNamespace"`
		Security        struct {
			User    int  `yaml:"runAsUser"`
			Group   int  `yaml:"runAsGroup"`
			NonRoot bool `yaml:"runAsNonRoot"`
		} `yaml:"securityContext"`
		Containers []container
		Volumes    []struct {
			Name      string
			ConfigMap struct{ Name string } `yaml:"configMap"`
			Secret    struct {
				Name string `yaml:"secretName"`
			}
			Claim struct {
				Name string `yaml:"claimName"`
			} `yaml:"persistentVolumeClaim"`
		}
	}
}

type container struct {
	Image     string
	Args      []string
	Env       []struct{ Name, Value string }
	Ports     []port
	Startup   probe `yaml:"startupProbe"`
	Liveness  probe `yaml:"livenessProbe"`
	Readiness probe `yaml:"readinessProbe"`
	Mounts    []struct {
		Name string
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type port struct {
	Name   string
	Number int `yaml:"containerPort"`
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	Exec    struct{ Command []string }
}

// readDocuments reads the documents of a YAML file.
func readDocuments[T any](t *testing.T, file string) []T {
	t.Helper()
	var all []T
	decoder := yaml.NewDecoder(strings.NewReader(read(t, file)))
	for {
		var one T
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, one)
	}
}

// readKubernetes reads the documents of all files for Kubernetes, by file.
func readKubernetes[T any](t *testing.T) map[string][]T {
	t.Helper()
	files, err := filepath.Glob("../../deploy/kubernetes/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("found the files %v (%v), want at least 4", files, err)
	}
	all := map[string][]T{}
	for _, file := range files {
		all[file] = readDocuments[T](t, file)
	}
	return all
}

// TestContainerFileSchemas checks the files for containers against deploy/schemas.
func TestContainerFileSchemas(t *testing.T) {
	harness.Slow(t)
	t.Parallel()
	check := func(file, schema string, object map[string]any) {
		t.Helper()
		// Marshal and unmarshal, so that numbers have the types of JSON.
		text, err := json.Marshal(object)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var instance any
		if err := json.Unmarshal(text, &instance); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var s jsonschema.Schema
		if err := json.Unmarshal([]byte(read(t, "../../deploy/schemas/"+schema+".json")), &s); err != nil {
			t.Fatalf("schema of %s: %v", schema, err)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			t.Fatalf("schema of %s: %v", schema, err)
		}
		if err := resolved.Validate(instance); err != nil {
			t.Errorf("%s: %s: %v", file, schema, err)
		}
	}
	for file, objectsInFile := range readKubernetes[map[string]any](t) {
		for _, object := range objectsInFile {
			check(file, strings.ToLower(object["kind"].(string)), object)
		}
	}
	check(composeFile, "compose", readDocuments[map[string]any](t, composeFile)[0])
}

// isServed reports whether the daemon serves the path.
func isServed(t *testing.T, path string) bool {
	t.Helper()
	recorder := httptest.NewRecorder()
	newProbedDaemon("").Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "http://10.0.0.7:8080"+path, nil))
	return recorder.Code != http.StatusNotFound && recorder.Code != http.StatusMisdirectedRequest
}

// newProbedDaemon returns a daemon with an empty ledger.
func newProbedDaemon(token string) *daemon.Daemon {
	return daemon.New(daemon.Config{Program: idleProgram{}, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler), Now: time.Now},
		daemon.Settings{AuthToken: token})
}

// idleProgram implements daemon.Program without nights.
type idleProgram struct{}

func (idleProgram) Runs() ([]ledger.Run, error)       { return nil, nil }
func (idleProgram) Progress() (ledger.Progress, bool) { return ledger.Progress{}, false }
func (idleProgram) HookResults() map[string]uint64    { return nil }
func (idleProgram) Reload() (daemon.Settings, error)  { return daemon.Settings{}, nil }

// readCommand parses a command line of a container. It returns the name of the command and the file
// of --config.
func readCommand(t *testing.T, file string, args []string) (name, configFile string) {
	t.Helper()
	g := &globals{}
	root := newRoot(g)
	cmd, rest, err := root.Find(args)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		t.Errorf("%s calls %q, which is not a command: %v", file, args, err)
		return "", ""
	}
	if probe := cmd.Flags().Lookup("probe"); probe != nil && probe.Changed &&
		!slices.Contains([]string{daemon.ProbeHealth, daemon.ProbeReady}, probe.Value.String()) {
		t.Errorf("%s has an unknown probe %q", file, probe.Value)
	}
	return cmd.Name(), g.Config
}

// parseConfig parses the configuration of a container. A variable with the suffix AUTH_TOKEN_FILE gets
// the path of a file of the test.
func parseConfig(t *testing.T, file, text string, env map[string]string) config.Config {
	t.Helper()
	secretFile := filepath.Join(t.TempDir(), "secret")
	harness.Must(t, os.WriteFile(secretFile, []byte("s3cret-of-16-characters"), 0o600))
	cfg, err := config.Parse("/etc/placementsync/config.yaml", []byte(text), func(name string) (string, bool) {
		value, ok := env[name]
		if ok && strings.HasSuffix(name, "AUTH_TOKEN_FILE") {
			value = secretFile
		}
		return value, ok
	})
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return cfg
}

// imageUser returns the user id under which the image runs.
func imageUser(t *testing.T) int {
	t.Helper()
	match := regexp.MustCompile(`(?m)^const userID = (\d+)$`).FindStringSubmatch(read(t, imageSource+"layers.go"))
	if match == nil {
		t.Fatal("layers.go defines no userID")
	}
	n, err := strconv.Atoi(match[1])
	harness.Must(t, err)
	return n
}

// newestRelease returns the newest version in CHANGELOG.md, or "" before the first release.
func newestRelease(t *testing.T) string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^## \[?(\d+\.\d+\.\d+)`).FindStringSubmatch(read(t, "../../CHANGELOG.md"))
	if match == nil {
		return ""
	}
	return match[1]
}

// TestKubernetesFiles checks that the commands, flags, configuration keys and probed paths in the files
// for Kubernetes exist in the program, and that the ports, secrets and volumes in these files match.
func TestKubernetesFiles(t *testing.T) {
	t.Parallel()
	configs, secrets, claims := map[string]map[string]string{}, map[string]map[string]string{}, map[string]bool{}
	for _, objectsInFile := range readKubernetes[kubernetesObject](t) {
		for _, object := range objectsInFile {
			switch object.Kind {
			case "ConfigMap":
				configs[object.Metadata.Name] = object.Data
			case "Secret":
				secrets[object.Metadata.Name] = object.Secrets
			case "PersistentVolumeClaim":
				claims[object.Metadata.Name] = true
			}
		}
	}
	commands := map[string]int{}
	for file, objectsInFile := range readKubernetes[kubernetesObject](t) {
		for _, object := range objectsInFile {
			template := object.Spec.Template
			if object.Kind == "CronJob" {
				template = object.Spec.Job.Spec.Template
			}
			for _, c := range template.Spec.Containers {
				if isOnce := object.Kind == "Job"; slices.Contains(c.Args, "--new") != isOnce {
					t.Errorf("%s: %v is run with %q, but only a job that is started once may create a warehouse", file, object.Metadata.Name, c.Args)
				}
				p := podContainer{t: t, label: file + " " + object.Metadata.Name, pod: template, container: c, configs: configs, secrets: secrets, claims: claims}
				commands[p.check()]++
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"serve": 1, "run": 2, "prune": 1}, commands); diff != "" {
		t.Errorf("number of containers by command (-want +got):\n%s", diff)
	}
}

// podContainer is a container with its pod, and with the ConfigMaps, Secrets and claims of all files.
type podContainer struct {
	t         *testing.T
	label     string // the file and the name of the object
	pod       pod
	container container
	configs   map[string]map[string]string
	secrets   map[string]map[string]string
	claims    map[string]bool
}

// check checks the container and returns the name of its command.
func (p podContainer) check() string {
	t, security := p.t, p.pod.Spec.Security
	if user := imageUser(t); security.User != user || security.Group != user || !security.NonRoot {
		t.Errorf("%s runs as %d:%d, want %d:%[4]d as in the image", p.label, security.User, security.Group, user)
	}
	if version := newestRelease(t); version != "" && !strings.HasSuffix(p.container.Image, "placementsync:"+version) {
		t.Errorf("%s runs %s, want the newest release %s", p.label, p.container.Image, version)
	}
	if !p.pod.Spec.SharesProcesses {
		t.Errorf("%s runs as process 1: a crash would end with exit code 2, like a wrong configuration; set shareProcessNamespace", p.label)
	}
	name, configFile := readCommand(t, p.label, p.container.Args)
	text, ok := p.readMounted(configFile)
	if !ok {
		t.Errorf("%s: --config %s is in no ConfigMap", p.label, configFile)
		return name
	}
	env := map[string]string{}
	for _, e := range p.container.Env {
		env[e.Name] = e.Value
		if _, ok := p.readMounted(e.Value); !ok && strings.HasSuffix(e.Name, "_FILE") {
			t.Errorf("%s: %s=%s is in no Secret", p.label, e.Name, e.Value)
		}
	}
	cfg := parseConfig(t, p.label, text, env)
	if _, ok := p.readMounted(cfg.API.TokenFile); !ok && name != "prune" {
		t.Errorf("%s: api.token_file %s is in no Secret", p.label, cfg.API.TokenFile)
	}
	if _, ok := p.fileInVolume(cfg.Warehouse.Dir); !ok {
		t.Errorf("%s: warehouse.dir %s is on no volume", p.label, cfg.Warehouse.Dir)
	}
	for _, probe := range []probe{p.container.Startup, p.container.Liveness, p.container.Readiness} {
		p.checkProbe(probe, cfg)
	}
	return name
}

func (p podContainer) checkProbe(probe probe, cfg config.Config) {
	_, listenPort, err := net.SplitHostPort(cfg.Serve.Listen)
	if err != nil {
		p.t.Errorf("%s: %v", p.label, err)
	}
	if get := probe.HTTPGet; get.Path != "" {
		if !isServed(p.t, get.Path) {
			p.t.Errorf("%s probes %s, which is not served", p.label, get.Path)
		}
		index := slices.IndexFunc(p.container.Ports, func(port port) bool { return port.Name == get.Port })
		if index < 0 || strconv.Itoa(p.container.Ports[index].Number) != listenPort {
			p.t.Errorf("%s probes port %q, want the port of serve.listen %s", p.label, get.Port, cfg.Serve.Listen)
		}
	}
	if command := probe.Exec.Command; len(command) > 0 {
		if command[0] != programInImage {
			p.t.Errorf("%s runs %s, which is not in the image", p.label, command[0])
		}
		_, configFile := readCommand(p.t, p.label, command[1:])
		if _, ok := p.readMounted(configFile); !ok {
			p.t.Errorf("%s: --config %s of a probe is in no ConfigMap", p.label, configFile)
		}
	}
}

// fileInVolume returns the path of a file within its volume. ok is false if the file is on no volume or
// the claim of the volume is not defined.
func (p podContainer) fileInVolume(file string) (inside string, ok bool) {
	for _, mount := range p.container.Mounts {
		rest, below := strings.CutPrefix(file+"/", mount.Path+"/")
		for _, volume := range p.pod.Spec.Volumes {
			if below && volume.Name == mount.Name {
				claim := volume.Claim.Name
				return path.Clean(rest), claim == "" || p.claims[claim]
			}
		}
	}
	return "", false
}

// readMounted reads a file of a ConfigMap or a Secret.
func (p podContainer) readMounted(file string) (text string, ok bool) {
	inside, _ := p.fileInVolume(file)
	for _, mount := range p.container.Mounts {
		if mount.Path != path.Dir(file) {
			continue
		}
		for _, volume := range p.pod.Spec.Volumes {
			if volume.Name == mount.Name {
				if text, ok = p.configs[volume.ConfigMap.Name][inside]; !ok {
					text, ok = p.secrets[volume.Secret.Name][inside]
				}
			}
		}
	}
	return text, ok
}

// TestComposeFile checks that the command, port, paths, secrets and volume of the file for Docker
// Compose match the image and its configuration.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	type service struct {
		Init        bool
		Environment map[string]string
		Secrets     []string
		Volumes     []string
		Ports       []string
		Healthcheck struct{ Test []string }
	}
	file := readDocuments[struct {
		Services map[string]service
		Secrets  map[string]any
		Volumes  map[string]any
	}](t, composeFile)[0]
	s, ok := file.Services["serve"]
	if !ok || len(file.Services) != 1 {
		t.Fatalf("the services are %v, want only serve", file.Services)
	}
	if !s.Init {
		t.Error("the program runs as process 1: a crash would end with exit code 2, like a wrong configuration; set init")
	}
	env := map[string]string{"PLACEMENTSYNC_BASE_URL": "https://api.example.com"}
	if len(s.Environment) != 1 || s.Environment["PLACEMENTSYNC_BASE_URL"] == "" {
		t.Errorf("the environment is %v, want only PLACEMENTSYNC_BASE_URL", s.Environment)
	}
	// The image expects these secrets.
	var expected []string
	for _, pair := range regexp.MustCompile(`"(PLACEMENTSYNC_\w+_FILE)=/run/secrets/(\w+)"`).FindAllStringSubmatch(read(t, imageSource+"image.go"), -1) {
		env[pair[1]] = "/run/secrets/" + pair[2]
		expected = append(expected, pair[2])
		if _, ok := file.Secrets[pair[2]]; !ok {
			t.Errorf("the secret %s is not defined", pair[2])
		}
	}
	if len(expected) != 2 || !slices.Equal(s.Secrets, expected) {
		t.Errorf("the secrets are %v, want %v as in the image", s.Secrets, expected)
	}
	cfg := parseConfig(t, "deploy/image/config.yaml", read(t, imageSource+"config.yaml"), env)
	_, port, _ := net.SplitHostPort(cfg.Serve.Listen)
	if len(s.Ports) != 1 || !strings.HasSuffix(s.Ports[0], ":"+port) {
		t.Errorf("the ports are %v, want only the port of serve.listen %s", s.Ports, cfg.Serve.Listen)
	}
	if !slices.Contains(s.Volumes, "warehouse:"+cfg.Warehouse.Dir) {
		t.Errorf("the volumes are %v, want the volume warehouse at %s", s.Volumes, cfg.Warehouse.Dir)
	}
	if test := s.Healthcheck.Test; len(test) < 3 || test[0] != "CMD" || test[1] != programInImage {
		t.Errorf("the health check is %v, want a CMD that runs %s", test, programInImage)
	} else if name, _ := readCommand(t, composeFile, test[2:]); name != "serve" {
		t.Errorf("the health check runs the command %s, want serve", name)
	}
}

// TestServeProbe checks "serve --probe" with a configuration that has only the section "serve".
func TestServeProbe(t *testing.T) {
	harness.Concurrent(t)
	t.Parallel()
	server := httptest.NewServer(newProbedDaemon("opensesame-opensesame").Handler())
	defer server.Close()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := "serve: {listen: '" + server.Listener.Addr().String() + "', auth_token: opensesame-opensesame}\n"
	harness.Must(t, os.WriteFile(file, []byte(text), 0o600))
	for _, c := range []struct {
		kind   string
		code   int
		stdout string
		stderr string
	}{
		{"health", 0, "ok\n", ""},
		{"ready", 1, "", "returned status 503: not ready: no night has succeeded yet"},
		{"live", 2, "", `--probe is "live": use health or ready`},
		{"", 2, "", `--probe is "": use health or ready`},
	} {
		var stdout, stderr bytes.Buffer
		code := executeArgs(t.Context(), []string{"serve", "--config", file, "--probe", c.kind}, processWithoutEnvironment(&stdout, &stderr))
		if code != c.code || stdout.String() != c.stdout || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("serve --probe %q: got exit code %d, stdout %q and stderr %q, want %d, %q and %q", c.kind, code, &stdout, &stderr, c.code, c.stdout, c.stderr)
		}
	}
}
