package command

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpproxy"

	"placementsync/internal/config"
	"placementsync/internal/notify"
	"placementsync/internal/object"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// LoadConfig reads the configuration. Where sections are named, problems elsewhere in the
// file, such as a token that only the operator's environment has, do not matter.
func (f *Flags) LoadConfig(lookupEnv func(string) (string, bool), sections ...string) (config.Config, error) {
	cfg, err := config.Load(f.Config, lookupEnv, RefuseUnknownNames)
	var bad *config.Error
	if len(sections) > 0 && errors.As(err, &bad) && !errors.Is(err, fs.ErrNotExist) {
		err = bad.Within(sections...)
	}
	return cfg, err
}

// WarehouseConfig is the warehouse of the configuration, for a program of a version.
func WarehouseConfig(c config.Config, version string) warehouse.Config {
	return warehouse.Config{Dir: c.Warehouse.Dir, KeepVersions: c.Warehouse.KeepVersions,
		MemoryLimit: c.Warehouse.MemoryLimit, Threads: c.Warehouse.Threads, Program: version,
		PublishedMode: c.Warehouse.Mode(), DiscardRaw: c.Privacy.Raw == config.RawDiscard,
		Tables: stream.Tables(stream.AllWithEvents())}
}

// BucketConfig is the object storage of the configuration, with its keys.
func BucketConfig(s3 config.S3) (object.Config, error) {
	access, secret, err := s3.ReadKeys(os.ReadFile)
	return object.Config{Endpoint: s3.Endpoint, Region: s3.Region, PathStyle: s3.PathStyle,
		AccessKey: access.Reveal(), SecretKey: secret.Reveal()}, err
}

// ChooseProxy finds the proxy for a request as the environment says, in the variables that
// most programs read; nil: there is none for it.
func ChooseProxy(lookupEnv func(string) (string, bool)) func(*http.Request) (*url.URL, error) {
	read := func(name string) string {
		value, _ := lookupEnv(name)
		if value == "" {
			value, _ = lookupEnv(strings.ToLower(name))
		}
		return value
	}
	choose := (&httpproxy.Config{HTTPProxy: read("HTTP_PROXY"), HTTPSProxy: read("HTTPS_PROXY"), NoProxy: read("NO_PROXY")}).ProxyFunc()
	return func(r *http.Request) (*url.URL, error) { return choose(r.URL) }
}

// NewNotifier sends alerts and heartbeats to whom the configuration names, through the
// proxies of the process.
func NewNotifier(c config.Notify, version string, log *slog.Logger) *notify.Notifier {
	return notify.New(notify.Config{FailureURL: c.FailureURL.Reveal(), HeartbeatURL: c.HeartbeatURL.Reveal(),
		UserAgent: "placementsync/" + version, Proxy: http.ProxyFromEnvironment}, log)
}
