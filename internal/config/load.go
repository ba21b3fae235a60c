package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFileSize is in bytes. It keeps a wrong path (a dump, a device) from being read
// completely.
const maxFileSize = 64 << 10

// Load reads, expands, decodes and validates the file at path. The *Error that it
// returns contains all problems; errors.Is(err, fs.ErrNotExist) means that the file is
// missing. Of a Config with an error, use only sections for which [Error.Within] is
// nil.
func Load(path string, lookupEnv func(string) (string, bool)) (Config, error) {
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Default(), unreadableErr(path, "does not exist: create it with cp config.example.yaml "+path+" and fill in api.base_url", err)
	case err != nil:
		return Default(), unreadableErr(path, fmt.Sprintf("cannot be read: %v: give the path of a readable file", errors.Unwrap(err)), err)
	}
	return Parse(path, data, lookupEnv)
}

func unreadableErr(path, message string, cause error) error {
	return &Error{File: path, Problems: []Problem{{Message: message}}, cause: cause}
}

// Parse is [Load] for data that was read already. Problems show name; relative paths
// are relative to its folder. ${VAR} in a scalar value is replaced through lookupEnv
// after the YAML was parsed, so that no value can add keys; $$ stands for a dollar
// sign. A variable that is not set is always a problem, also for an optional key: a
// misspelt name must not silently mean empty. A variable that is set to nothing is an
// empty value. If VAR_FILE is set instead, the value is the content of that file.
func Parse(name string, data []byte, lookupEnv func(string) (string, bool)) (Config, error) {
	if lookupEnv == nil {
		lookupEnv = func(string) (string, bool) { return "", false }
	}
	b := newBinder(lookupEnv)
	cfg := Default()
	if !b.bindDocument(data, &cfg) {
		return Default(), newError(name, b.problems)
	}
	key, ok, message := readVariable(HashKeyVar, lookupEnv)
	if message != "" {
		b.addProblem(0, "privacy.hash", "%s", message)
	}
	if ok {
		cfg.Privacy.HashKey = Secret(key)
	}
	v := validator{broken: b.broken, written: b.written}
	v.checkConfig(cfg)
	cfg.resolvePaths(filepath.Dir(name))
	return cfg, newError(name, append(b.problems, b.addLines(v.problems)...))
}

// resolvePaths makes paths relative to the folder of the file: under cron or systemd
// the process works in another one.
func (c *Config) resolvePaths(dir string) {
	for _, path := range []*string{&c.Warehouse.Dir, &c.API.TokenFile} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}

// addLines sets the line of each problem: that of its key or, if the key is not in
// the file, of its section.
func (b *binder) addLines(problems []Problem) []Problem {
	for i, p := range problems {
		for path := p.Path; path != "" && problems[i].Line == 0; path = parentPath(path) {
			problems[i].Line = b.lines[path]
		}
	}
	return problems
}

func parentPath(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}
