package config

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

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

// fileSuffix ends the name of NAME_FILE, the variable with the path of a file that contains the value of
// ${NAME}. On some systems other users can read the environment of this process, but not the file.
const fileSuffix = "_FILE"

// readVariable returns the value of NAME, or the trimmed content of the file named by
// NAME_FILE. It adds this file to b.files, with key, which contains ${NAME}. For a NAME that
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
