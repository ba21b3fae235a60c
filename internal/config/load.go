package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxFileSize keeps a wrong path (a dump, a device) from being read whole.
const maxFileSize = 64 << 10

// Load reads, expands, decodes and validates the file at path. Every problem of
// the file is in the one *Error returned; errors.Is(err, fs.ErrNotExist) tells a
// missing file. The Config that comes with an error is good for those sections
// alone that [Error.Within] finds nothing in.
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

// Parse is [Load] for data already read. name is shown in problems, and its folder
// is what relative paths are resolved against. ${VAR} in a scalar value is replaced
// through lookupEnv after the YAML has been parsed, so that no value can add keys;
// $$ stands for a dollar sign. A variable that is not set is a problem wherever it
// is used, also for a key that may be left out: a misspelt name must not quietly
// mean empty. One that is set to nothing is an empty value. Where VAR_FILE is set
// instead, the value is what the file of that name holds.
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

// resolvePaths makes paths independent of the working directory of the process, which
// under cron or systemd is not the folder of the file.
func (c *Config) resolvePaths(dir string) {
	for _, path := range []*string{&c.Warehouse.Dir, &c.API.TokenFile} {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
}

// addLines gives each problem of the validator the line of its key, or for a key
// that is not written that of the section it belongs in.
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
