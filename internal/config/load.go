package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const maxFileSize = 64 << 10 // bytes; the path of a larger file is probably wrong

const byteOrderMark = "\ufeff" // some editors write it at the beginning of a file

// A Validation checks values that this package cannot check, such as names of streams. It calls
// refuse for each invalid value, with the YAML path of the value and a message that contains
// the fault and the fix. A value other than nil is printed before the message.
type Validation func(c Config, refuse func(path string, value any, message string))

// Load reads, expands, decodes and validates the file at path, and runs the validations of
// the caller. It returns an *Error with all problems; errors.Is(err, fs.ErrNotExist) means
// that the file is missing. After an error, only sections for which [Error.Within] returns
// nil may be used.
func Load(path string, lookupEnv func(string) (string, bool), validations ...Validation) (Config, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		return parse(path, data, lookupEnv, true, validations)
	}
	message := fmt.Sprintf("cannot be read: %v: give the path of a readable file", errors.Unwrap(err))
	if errors.Is(err, fs.ErrNotExist) {
		message = "does not exist: write it with placementsync init --config " + QuoteWord(path)
	}
	return Default(), &Error{File: path, Problems: []Problem{{Message: message}}, cause: err}
}

// Parse is like [Load] for data in memory. Problems show name as the path of the file,
// and relative paths are resolved against the folder of name. ${VAR} in a scalar value is
// replaced through lookupEnv after the YAML was parsed, so that no variable can add keys. A VAR that
// is not set is a problem even for an optional key, because it may be misspelt.
func Parse(name string, data []byte, lookupEnv func(string) (string, bool)) (Config, error) {
	return parse(name, data, lookupEnv, false, nil)
}

// parse checks file modes only if isFile is set: name is then the path of a file.
func parse(name string, data []byte, lookupEnv func(string) (string, bool), isFile bool, validations []Validation) (Config, error) {
	if lookupEnv == nil {
		lookupEnv = func(string) (string, bool) { return "", false }
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	b := &binder{lookupEnv: lookupEnv, validator: validator{lines: map[string]int{}, broken: map[string]bool{}, written: map[string]string{}}}
	cfg := Default()
	if !b.bindDocument(data, &cfg) {
		return Default(), newError(name, b.problems)
	}
	hashKey, _, err := b.readVariable(HashKeyVar, valueFile{key: "privacy.hash", isSecret: true})
	if err != nil {
		b.addBroken(b.lines["privacy.hash"], "privacy.hash", "%v", err)
	}
	cfg.Privacy.HashKey = Secret(hashKey)
	for _, group := range cfg.Statuses.groups() {
		b.releaseStatuses(group)
	}
	b.checkConfig(cfg)
	// Under cron or systemd the working directory is not the folder of the file.
	paths := []*string{&cfg.Warehouse.Dir, &cfg.Queries.Dir, &cfg.Checks.Dir, &cfg.Lake.Warehouse}
	for _, f := range cfg.secretFiles() {
		paths = append(paths, f.path)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) && !strings.Contains(*path, "://") {
			*path = filepath.Join(filepath.Dir(name), *path)
		}
	}
	if file, ok := strings.CutPrefix(cfg.Lake.Catalog, LakeSQLite+":"); ok && file != "" && !filepath.IsAbs(file) {
		cfg.Lake.Catalog = LakeSQLite + ":" + filepath.Join(filepath.Dir(name), file)
	}
	for _, validate := range validations {
		validate(cfg, b.refuse)
	}
	if isFile {
		b.checkFile(name, &cfg)
		b.checkSecretFiles(&cfg)
	}
	return cfg, newError(name, b.problems)
}
