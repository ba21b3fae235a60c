package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"placementsync/internal/nearest"
)

// binder decodes a YAML document into a Config. The decoder of go-yaml stops at
// the first problem and quotes the surrounding source, which may contain a token.
// binder reports all problems with lines and paths, and no secrets.
type binder struct {
	validator
	lookupEnv func(string) (string, bool)
	secrets   []string    // YAML paths of secrets that the file itself contains
	files     []valueFile // files named by NAME_FILE variables
}

// addBroken adds a problem and excludes the value at path from validation.
func (b *binder) addBroken(line int, path, format string, args ...any) {
	b.broken[path] = true
	b.problems = append(b.problems, Problem{Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
}

// bindDocument returns false after a problem of the whole file, such as invalid YAML or several documents.
// Missing keys must not be reported in this case.
func (b *binder) bindDocument(data []byte, cfg *Config) bool {
	if len(data) > maxFileSize {
		b.addBroken(0, "", "is larger than %d KiB: give the path of a configuration file", maxFileSize>>10)
		return false
	}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
			b.addBroken(line, "", "is not UTF-8 text: give the path of a configuration file")
			return false
		}
	}
	// The parser would stop at the first duplicate key; bindSection reports all of them.
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if syntax, ok := errors.AsType[yaml.Error](err); ok {
		// Error() quotes the source, GetMessage does not.
		b.addBroken(lineOfToken(syntax.GetToken()), "", "is not valid YAML: %s", syntax.GetMessage())
		return false
	}
	if err != nil {
		b.addBroken(0, "", "is not valid YAML: cannot be parsed")
		return false
	}
	if len(file.Docs) > 1 {
		b.addBroken(lineOfToken(file.Docs[1].Start), "", "contains %d YAML documents: remove all but one, and the --- lines", len(file.Docs))
	}
	if len(file.Docs) > 0 {
		b.bindSection(file.Docs[0].Body, "", reflect.ValueOf(cfg).Elem())
	}
	return !b.broken[""]
}

func (b *binder) bindValue(node ast.Node, path string, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Struct:
		b.bindSection(node, path, v)
	case v.Kind() == reflect.Slice:
		b.bindList(node, path, v)
	case v.Kind() == reflect.Map:
		b.bindMap(node, path, v)
	default:
		b.bindScalar(node, path, v)
	}
}

func (b *binder) bindSection(node ast.Node, path string, v reflect.Value) {
	fields := map[string]reflect.Value{}
	for field, value := range v.Fields() {
		fields[field.Tag.Get("yaml")] = value
	}
	delete(fields, "-")
	b.eachKey(node, path, "keys below it, such as "+keysOf(v.Type())[0], func(key, keyPath string, pair *ast.MappingValueNode) {
		if field, ok := fields[key]; !ok {
			b.addBroken(lineOf(pair.Key), keyPath, "unknown key: %s", keyHint(path, v.Type(), key))
		} else if b.addKey(keyPath, lineOf(pair.Key)) {
			b.bindValue(pair.Value, keyPath, field)
		}
	})
}

// eachKey calls bind for each key of a mapping. An empty section, for example with all keys commented out,
// keeps the defaults. If node is not a mapping, the message ends with advice.
func (b *binder) eachKey(node ast.Node, path, advice string, bind func(key, keyPath string, pair *ast.MappingValueNode)) {
	switch node.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return
	}
	mapping, ok := node.(ast.MapNode)
	if !ok {
		b.addBroken(lineOf(node), path, "is %s, not a section: write %s", shapeName(node), advice)
		return
	}
	for pairs := mapping.MapRange(); pairs.Next(); {
		pair := pairs.KeyValue()
		key := keyText(pair.Key)
		bind(key, joinPath(path, key), pair)
	}
}

// addKey records the line of a key. It returns false if the key appears a second time.
func (b *binder) addKey(path string, line int) bool {
	firstLine, exists := b.lines[path]
	if exists {
		b.addBroken(line, path, "appears twice, first in line %d: keep one", firstLine)
		return false
	}
	b.lines[path] = line
	return true
}

func (b *binder) bindList(node ast.Node, path string, v reflect.Value) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		b.addBroken(lineOf(node), path, "is %s, not a list: write [] for none, or [a, b]", shapeName(node))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(sequence.Values), len(sequence.Values))
	for i, item := range sequence.Values {
		itemPath := fmt.Sprintf("%s[%d]", path, i)
		b.lines[itemPath] = lineOf(item)
		if d, ok := list.Index(i).Addr().Interface().(defaulter); ok {
			d.setDefaults()
		}
		b.bindValue(item, itemPath, list.Index(i))
	}
	v.Set(list)
}

// defaulter is a list item whose keys have defaults.
type defaulter interface{ setDefaults() }

func (b *binder) bindMap(node ast.Node, path string, v reflect.Value) {
	values := reflect.MakeMap(v.Type())
	b.eachKey(node, path, "lines such as name: value below it", func(key, keyPath string, pair *ast.MappingValueNode) {
		if b.addKey(keyPath, lineOf(pair.Key)) {
			value := reflect.New(v.Type().Elem()).Elem()
			b.bindValue(pair.Value, keyPath, value)
			values.SetMapIndex(reflect.ValueOf(key), value)
		}
	})
	v.Set(values)
}

func (b *binder) bindScalar(node ast.Node, path string, v reflect.Value) {
	text, isNumberOrBool, ok := scalarText(node)
	want, example := describeKind(v)
	if !ok {
		b.addBroken(lineOf(node), path, "is %s, not %s: write %s", shapeName(node), want, example)
		return
	}
	isSecret := v.Type() == reflect.TypeFor[Secret]()
	expanded, ok := b.expandVariables(text, lineOf(node), path, isSecret)
	if !ok {
		return
	}
	shown := strconv.Quote(text)
	if isNumberOrBool {
		shown = text
	} else if expanded != text {
		shown, isNumberOrBool = text, true // the value of a variable may be a number
		b.written[path] = text
	}
	if isSecret && expanded == text && text != "" {
		b.secrets = append(b.secrets, path)
	}
	if !setValue(v, expanded, isNumberOrBool) {
		b.addBroken(lineOf(node), path, "%s is not %s: write %s", shown, want, example)
	}
}

// setValue parses text into v. A number or boolean is accepted only if isNumberOrBool is set,
// because YAML reads the quoted "50" as a string.
func setValue(v reflect.Value, text string, isNumberOrBool bool) bool {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(text)
		v.SetInt(int64(d))
		return err == nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return true
	case reflect.Bool:
		v.SetBool(text == "true")
		return isNumberOrBool && (text == "true" || text == "false")
	case reflect.Int:
		n, err := strconv.Atoi(text)
		v.SetInt(int64(n))
		return isNumberOrBool && err == nil
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		v.SetFloat(f)
		return isNumberOrBool && err == nil && !math.IsInf(f, 0) && !math.IsNaN(f)
	}
	panic("config: a field of kind " + v.Kind().String() + " cannot be bound")
}

func describeKind(v reflect.Value) (want, example string) {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		return "a duration with a unit", "one such as 30s, 5m or 6h"
	}
	switch v.Kind() {
	case reflect.Bool:
		return "true or false", "one of the two, without quotes"
	case reflect.Int:
		return "a whole number", "one such as 10, without quotes"
	case reflect.Float64:
		return "a number", "one such as 0.5, without quotes"
	}
	return "text", `a value, or "" for none`
}

func joinPath(section, key string) string {
	if section == "" {
		return key
	}
	return section + "." + key
}

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

var (
	placeholders = regexp.MustCompile(`\$\$|\$\{[^}]*\}?`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// expandVariables replaces ${VAR} and $$ in text, the value of a key. Values from the
// environment are not expanded again. Any other dollar sign is kept. If a variable cannot be
// replaced, expandVariables adds a problem and ok is false.
func (b *binder) expandVariables(text string, line int, key string, isSecret bool) (expanded string, ok bool) {
	ok = true
	replace := func(match string) string {
		if match == "$$" {
			return "$"
		}
		name, closed := strings.CutSuffix(strings.TrimPrefix(match, "${"), "}")
		if !closed || !variableName.MatchString(name) {
			// The text is not shown: it may be a secret that contains a dollar sign.
			b.addBroken(line, key, "contains ${ without the name of a variable: write ${NAME}, or $$ for a dollar sign")
			ok = false
			return ""
		}
		value, isSet, err := b.readVariable(name, key, isSecret)
		if err == nil && !isSet {
			err = fmt.Errorf("the environment variable %s is not set: set it, or write the value here", name)
		}
		if err != nil {
			b.addBroken(line, key, "%v", err)
			ok = false
		}
		return value
	}
	return placeholders.ReplaceAllStringFunc(text, replace), ok
}

// fileSuffix ends the name of the variable NAME_FILE. It contains the path of a file with the value of NAME. On some
// systems other users can read the environment of this process, but not the file.
const fileSuffix = "_FILE"

// readVariable returns the value of NAME, or the trimmed content of the file named by
// NAME_FILE. It adds this file to b.files under key, the path of the value that needs NAME. For a NAME that
// already ends with _FILE, it reads only the variable. The error never quotes the content.
func (b *binder) readVariable(name, key string, isSecret bool) (value string, isSet bool, err error) {
	value, isSet = b.lookupEnv(name)
	path, hasFile := b.lookupEnv(name + fileSuffix)
	if !hasFile || path == "" || strings.HasSuffix(name, fileSuffix) {
		return value, isSet, nil
	}
	if isSet {
		return "", false, fmt.Errorf("the environment has both %s and %s%s: remove one of the two", name, name, fileSuffix)
	}
	b.files = append(b.files, valueFile{key, &path, isSecret})
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false, fmt.Errorf("the file that %s%s names cannot be read: %w: give the path of a file that this user can read", name, fileSuffix, err)
	}
	value = trimText(data)
	if value == "" {
		return "", false, fmt.Errorf("the file that %s%s names is empty: write the value into it", name, fileSuffix)
	}
	if len(value) > maxTokenSize {
		return "", false, fmt.Errorf("the file that %s%s names has %d bytes: give a file that contains only the value", name, fileSuffix, len(data))
	}
	return value, true, nil
}

func lineOf(node ast.Node) int {
	if node == nil {
		return 0
	}
	return lineOfToken(node.GetToken())
}

func lineOfToken(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 0
	}
	return t.Position.Line
}

// scalarText returns the source text of a scalar, because an id such as 0123 must keep its
// zeros. isNumberOrBool reports how YAML reads the scalar. ok is false if node is not a scalar.
func scalarText(node ast.Node) (text string, isNumberOrBool, ok bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, false, true
	case *ast.LiteralNode:
		return n.Value.Value, false, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true, true
	}
	return "", false, false
}

// "<<" is the merge key of YAML.
var unquotedKey = regexp.MustCompile(`^[A-Za-z0-9_.<-]+$`)

// Control characters of a key must not reach a terminal.
func keyText(key ast.MapKeyNode) string {
	text := ""
	if name, ok := key.(*ast.StringNode); ok {
		text = name.Value
	} else if t := key.GetToken(); t != nil {
		text = t.Value
	}
	if unquotedKey.MatchString(text) {
		return text
	}
	return strconv.Quote(text)
}

// shapeName describes a node for messages, without its value: the user may have written the token under a
// wrong key.
func shapeName(node ast.Node) string {
	switch node.(type) {
	case nil, *ast.NullNode:
		return "empty"
	case ast.MapNode:
		return "a section"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.InfinityNode, *ast.NanNode:
		return "infinite or undefined"
	case *ast.BoolNode:
		return "true or false"
	case *ast.AnchorNode, *ast.AliasNode:
		return "a YAML anchor or alias (not supported)"
	case *ast.TagNode:
		return "a tagged YAML value (not supported)"
	}
	return "something else"
}
