package config

import (
	"fmt"
	"reflect"
	"strings"

	"placementsync/internal/nearest"
)

// t is the type of the section.
func keyHint(section string, t reflect.Type, unknown string) string {
	if above, below, dotted := strings.Cut(unknown, "."); dotted {
		return fmt.Sprintf("write %s as a line below %s:, not with a dot", below, above)
	}
	// Of equally similar keys, the first is suggested. Keys of this section come first.
	var paths []string
	for _, key := range keysOf(t) {
		paths = append(paths, joinPath(section, key))
	}
	best, fewestEdits := "", 0
	for _, path := range append(paths, keyPaths(reflect.TypeFor[Config](), "")...) {
		edits, near := nearest.CountEdits(path[strings.LastIndexByte(path, '.')+1:], unknown)
		if near && (best == "" || edits < fewestEdits) {
			best, fewestEdits = path, edits
		}
	}
	if best != "" {
		return "did you mean " + best + "?"
	}
	return "use one of " + strings.Join(keysOf(t), ", ")
}

// keysOf omits the keys of subsections.
func keysOf(t reflect.Type) (keys []string) {
	for field := range t.Fields() {
		if key := field.Tag.Get("yaml"); key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

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
