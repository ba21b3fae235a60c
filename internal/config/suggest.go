package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"placementsync/internal/nearest"
)

// keyHint proposes a correction for an unknown key. t is the type of the section that contains the key.
func keyHint(section string, t reflect.Type, unknown string) string {
	if above, below, dotted := strings.Cut(unknown, "."); dotted {
		return fmt.Sprintf("write %s as a line below %s:, not with a dot", below, above)
	}
	// Of equally similar keys, the first is suggested. Keys of this section come first.
	var paths []string
	for _, key := range keysOf(t) {
		paths = append(paths, joinPath(section, key))
	}
	paths = append(paths, keyPaths(reflect.TypeFor[Config](), "")...)
	var keys []string
	for _, path := range paths {
		keys = append(keys, path[strings.LastIndexByte(path, '.')+1:])
	}
	if near := nearest.FindNearest(keys, unknown); near != "" {
		return "did you mean " + paths[slices.Index(keys, near)] + "?"
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
