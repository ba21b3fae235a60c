package command

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"

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
		Tables: stream.Tables(stream.Known())}
}

// BucketConfig is the object storage of the configuration, with its keys.
func BucketConfig(s3 config.S3) (object.Config, error) {
	access, secret, err := s3.ReadKeys(os.ReadFile)
	return object.Config{Endpoint: s3.Endpoint, Region: s3.Region, PathStyle: s3.PathStyle,
		AccessKey: access.Reveal(), SecretKey: secret.Reveal()}, err
}

// NewNotifier sends alerts and heartbeats to whom the configuration names.
func NewNotifier(c config.Notify, version string, log *slog.Logger) *notify.Notifier {
	return notify.New(notify.Config{FailureURL: c.FailureURL.Reveal(), HeartbeatURL: c.HeartbeatURL.Reveal(),
		UserAgent: "placementsync/" + version}, log)
}
