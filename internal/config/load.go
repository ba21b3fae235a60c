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

// Rule is a rule of the components, which know names that this package does not. It calls
// refuse for each value that breaks it, with the path of the value and what is wrong with
// it and what to do; the message begins with the value unless that is nil.
type Rule func(c Config, refuse func(path string, value any, message string))

// Load reads, expands, decodes and validates the file at path, also by rules of the
// caller. The *Error that it returns contains all problems; errors.Is(err,
// fs.ErrNotExist) means that the file is missing. Of a Config with an error, use only
// sections for which [Error.Within] is nil.
func Load(path string, lookupEnv func(string) (string, bool), rules ...Rule) (Config, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		return parse(path, data, lookupEnv, true, rules)
	}
	message := fmt.Sprintf("cannot be read: %v: give the path of a readable file", errors.Unwrap(err))
	if errors.Is(err, fs.ErrNotExist) {
		message = "does not exist: write it with placementsync init --config " + QuoteWord(path)
	}
	return Default(), &Error{File: path, Problems: []Problem{{Message: message}}, cause: err}
}

// Parse is [Load] for data that was read already. Problems show name; relative paths
// are relative to its folder. ${VAR} in a scalar value is replaced through lookupEnv
// after the YAML was parsed, so that no value can add keys; $$ stands for a dollar
// sign. A variable that is not set is always a problem, also for an optional key: a
// misspelt name must not silently mean empty. A variable that is set to nothing is an
// empty value. If VAR_FILE is set instead, the value is the content of that file.
func Parse(name string, data []byte, lookupEnv func(string) (string, bool)) (Config, error) {
	return parse(name, data, lookupEnv, false, nil)
}

// parse looks at the modes of the files only if name is one of them.
func parse(name string, data []byte, lookupEnv func(string) (string, bool), isFile bool, rules []Rule) (Config, error) {
	if lookupEnv == nil {
		lookupEnv = func(string) (string, bool) { return "", false }
	}
	b := &binder{lookupEnv: lookupEnv, lines: map[string]int{}, broken: map[string]bool{}, written: map[string]string{}}
	cfg := Default()
	if !b.bindDocument(data, &cfg) {
		return Default(), newError(name, b.problems)
	}
	key, ok, message := readVariable(HashKeyVar, lookupEnv, func(file string) {
		b.files = append(b.files, variableFile{0, "privacy.hash", file, true})
	})
	if message != "" {
		b.addProblem(0, "privacy.hash", "%s", message)
	}
	if ok {
		cfg.Privacy.HashKey = Secret(key)
	}
	v := validator{broken: b.broken, written: b.written}
	v.checkConfig(cfg)
	for _, rule := range rules {
		rule(cfg, v.refuseValue)
	}
	// Under cron or systemd the process works in another folder than that of the file.
	paths := []*string{&cfg.Warehouse.Dir, &cfg.Queries.Dir, &cfg.Lake.Warehouse}
	for _, f := range cfg.secretFiles() {
		paths = append(paths, f.path)
	}
	for _, path := range paths {
		if *path != "" && !filepath.IsAbs(*path) && !strings.Contains(*path, "://") {
			*path = filepath.Join(filepath.Dir(name), *path)
		}
	}
	cfg.Lake.joinSQLite(filepath.Dir(name))
	if isFile {
		b.checkFile(name, &cfg)
		b.checkSecretFiles(&cfg)
	}
	// The line of a problem is that of its key or, if the key is not in the file, of
	// its section.
	for i, p := range v.problems {
		for path := p.Path; path != "" && v.problems[i].Line == 0; path = parentPath(path) {
			v.problems[i].Line = b.lines[path]
		}
	}
	return cfg, newError(name, append(b.problems, v.problems...))
}

func parentPath(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}
