package config

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	dollars      = regexp.MustCompile(`\$\$|\$\{[^}]*\}?`)
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// expand replaces ${VAR} and $$ in text, and returns a message for each reference
// that cannot be replaced. What comes from the environment is not expanded again;
// any other dollar sign stands for itself.
func expand(text string, lookupEnv func(string) (string, bool)) (string, []string) {
	var messages []string
	replace := func(match string) string {
		if match == "$$" {
			return "$"
		}
		value, message := lookup(match, lookupEnv)
		if message != "" {
			messages = append(messages, message)
		}
		return value
	}
	return dollars.ReplaceAllStringFunc(text, replace), messages
}

func lookup(reference string, lookupEnv func(string) (string, bool)) (value, message string) {
	name, closed := strings.CutSuffix(strings.TrimPrefix(reference, "${"), "}")
	if !closed || !variableName.MatchString(name) {
		// The text is not shown: it may be a secret with a dollar sign in it.
		return "", "holds ${ that does not begin a variable: write ${NAME}, or $$ for a dollar sign"
	}
	value, ok := lookupEnv(name)
	if !ok {
		return "", fmt.Sprintf("the environment variable %s is not set: set it, or write the value here", name)
	}
	return value, ""
}
