package config

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

var (
	dollars      = regexp.MustCompile(`\$\$|\$\{[^}]*\}?`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// expandVariables replaces ${VAR} and $$ in text, and returns a message for each
// reference that cannot be replaced. Values from the environment are not expanded
// again; any other dollar sign is kept. It calls opened with the path of each file that
// it reads.
func expandVariables(text string, lookupEnv func(string) (string, bool), opened func(file string)) (string, []string) {
	var messages []string
	replace := func(match string) string {
		if match == "$$" {
			return "$"
		}
		name, closed := strings.CutSuffix(strings.TrimPrefix(match, "${"), "}")
		if !closed || !variableName.MatchString(name) {
			// The text is not shown: it may be a secret that contains a dollar sign.
			messages = append(messages, "contains ${ without the name of a variable: write ${NAME}, or $$ for a dollar sign")
			return ""
		}
		value, ok, message := readVariable(name, lookupEnv, opened)
		if !ok && message == "" {
			message = fmt.Sprintf("the environment variable %s is not set: set it, or write the value here", name)
		}
		if message != "" {
			messages = append(messages, message)
		}
		return value
	}
	return dollars.ReplaceAllStringFunc(text, replace), messages
}

// fileSuffix marks a variable that contains the path of a file with the value. Users who
// can inspect this process see its environment, but not its files.
const fileSuffix = "_FILE"

// readVariable returns the value of NAME, or the trimmed content of the file named by
// NAME_FILE; it calls opened with the path of that file. A message that is not empty is
// the reason of a failure; it never quotes the file.
func readVariable(name string, lookupEnv func(string) (string, bool), opened func(file string)) (value string, ok bool, message string) {
	value, ok = lookupEnv(name)
	path, named := lookupEnv(name + fileSuffix)
	if !named || path == "" || strings.HasSuffix(name, fileSuffix) {
		return value, ok, ""
	}
	if ok {
		return "", false, fmt.Sprintf("the environment has both %s and %s%s: keep one of the two", name, name, fileSuffix)
	}
	opened(path)
	data, err := os.ReadFile(path)
	switch text := strings.TrimSpace(string(data)); {
	case err != nil:
		return "", false, fmt.Sprintf("the file that %s%s names cannot be read: %v: give the path of a file that this user can read",
			name, fileSuffix, err)
	case len(text) > maxTokenSize || text == "":
		return "", false, fmt.Sprintf("the file that %s%s names has %d bytes: give a file that contains only the value", name, fileSuffix, len(data))
	default:
		return text, true, ""
	}
}
