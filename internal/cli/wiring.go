package cli

import (
	"errors"
	"io/fs"
	"log/slog"
	"net/http"

	"placementsync/internal/bucket"
	"placementsync/internal/config"
	"placementsync/internal/notify"
	"placementsync/internal/stream"
	"placementsync/internal/warehouse"
)

// LoadConfig reads the configuration. If sections are given, problems of other sections are
// ignored. For example, a command that needs no token runs even if the variable of the token is
// not set.
func (f *Flags) LoadConfig(lookupEnv func(string) (string, bool), sections ...string) (config.Config, error) {
	cfg, err := config.Load(f.Config, lookupEnv, refuseUnknownNames)
	var problems *config.Error
	if len(sections) > 0 && errors.As(err, &problems) && !errors.Is(err, fs.ErrNotExist) {
		err = problems.Within(sections...)
	}
	return cfg, err
}

// WarehouseConfig returns the options of [warehouse.New] for a program of the given version.
func WarehouseConfig(c config.Config, version string) warehouse.Config {
	var statuses []warehouse.Status
	for _, s := range c.Statuses.List() {
		statuses = append(statuses, warehouse.Status(s))
	}
	return warehouse.Config{Dir: c.Warehouse.Dir, KeepVersions: c.Warehouse.KeepVersions,
		MemoryLimit: c.Warehouse.MemoryLimit, Threads: c.Warehouse.Threads, Program: version,
		PublishedMode: c.Warehouse.Mode(), DiscardRaw: c.Privacy.Raw == config.RawDiscard,
		Tables: stream.Tables(stream.AllWithEvents()), Statuses: statuses}
}

// BucketConfig returns the options of object storage. It reads the key files.
func BucketConfig(s3 config.S3) (bucket.Config, error) {
	access, secret, err := s3.ReadKeys()
	return bucket.Config{Endpoint: s3.Endpoint, Region: s3.Region, PathStyle: s3.PathStyle,
		AccessKey: access.Reveal(), SecretKey: secret.Reveal()}, err
}

// NewNotifier returns a notifier for the configured addresses. The notifier uses the proxy that the
// environment variables name.
func NewNotifier(c config.Notify, version string, log *slog.Logger) *notify.Notifier {
	return notify.New(notify.Config{FailureURL: c.FailureURL.Reveal(), HeartbeatURL: c.HeartbeatURL.Reveal(),
		UserAgent: "placementsync/" + version, Proxy: http.ProxyFromEnvironment}, log)
}
