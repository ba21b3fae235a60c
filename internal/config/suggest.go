package config

import (
	"math"
	"reflect"
	"regexp"
	"strings"

	"placementsync/internal/nearest"
)

// index matches the index of a list item in a path. keyPaths writes [] instead.
var index = regexp.MustCompile(`\[[0-9]+\]`)

// ruleName is the name of a check in a path; keyPaths has * there.
var ruleName = regexp.MustCompile(`^(checks\.rules\.)[^.]+`)

// generalPath is a path as keyPaths has it.
func generalPath(path string) string {
	return ruleName.ReplaceAllString(index.ReplaceAllString(path, "[]"), "${1}*")
}

// nearestKey returns the path of the known key that is most similar to an unknown
// key of section, or "". Between two equally similar keys it prefers the key of the section.
func nearestKey(section, unknown string) string {
	best, least := "", math.MaxInt
	general := generalPath(section)
	for _, path := range keyPaths(reflect.TypeFor[Config](), "") {
		edits, near := nearest.CountEdits(lastSegment(path), unknown)
		rank := 2 * edits
		if parentPath(path) != general {
			rank++
		} else {
			path = joinPath(section, lastSegment(path))
		}
		if near && rank < least {
			best, least = path, rank
		}
	}
	return best
}

func lastSegment(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// keyPaths lists the path of every key below t, sections included.
func keyPaths(t reflect.Type, prefix string) []string {
	var paths []string
	for field := range t.Fields() {
		key := field.Tag.Get("yaml")
		if key == "-" {
			continue
		}
		path := joinPath(prefix, key)
		paths = append(paths, path)
		switch kind := field.Type.Kind(); {
		case kind == reflect.Struct:
			paths = append(paths, keyPaths(field.Type, path)...)
		case kind == reflect.Slice && field.Type.Elem().Kind() == reflect.Struct:
			paths = append(paths, keyPaths(field.Type.Elem(), path+"[]")...)
		case kind == reflect.Map && field.Type.Elem().Kind() == reflect.Struct:
			paths = append(paths, keyPaths(field.Type.Elem(), path+".*")...)
		}
	}
	return paths
}

// keysOf lists the keys of the section at path. The path "" means the top level.
func keysOf(path string) []string {
	var keys []string
	path = generalPath(path)
	for _, known := range keyPaths(reflect.TypeFor[Config](), "") {
		if parentPath(known) == path {
			keys = append(keys, lastSegment(known))
		}
	}
	return keys
}
