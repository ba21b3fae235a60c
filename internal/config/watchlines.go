package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// FormatWatch returns the lines of the configuration for a watch of a named query. It chooses a name that no other watch
// has, and the first channel. Without channels, the lines contain one.
func FormatWatch(w Watch, others []Watch, channels []Channel) string {
	const maxName = 50 // bytes, to leave room for a number
	stem := strings.Trim(strings.ReplaceAll(strings.ToLower(w.Query), "_", "-"), "-")
	stem = cmp.Or(stem[:min(len(stem), maxName)], "watch")
	w.Name = stem
	for n := 2; slices.ContainsFunc(others, func(other Watch) bool { return other.Name == w.Name }); n++ {
		w.Name = fmt.Sprintf("%s-%d", stem, n)
	}
	var b strings.Builder
	channel := "chat"
	if len(channels) > 0 {
		channel = channels[0].Name
	} else {
		b.WriteString("notify:\n  channels:\n    - name: chat\n      type: slack # or webhook, or email\n      url: https://chat.example.com/hook\n")
	}
	fmt.Fprintf(&b, "watch:\n  - name: %s\n    query: %s\n", w.Name, quoteWord(w.Query))
	if len(w.Params) > 0 {
		b.WriteString("    params:\n")
	}
	for _, name := range slices.Sorted(maps.Keys(w.Params)) {
		fmt.Fprintf(&b, "      %s: %s\n", quoteWord(name), quoteWord(EscapeValue(w.Params[name])))
	}
	if len(w.Key) > 0 {
		key := make([]string, len(w.Key))
		for i, column := range w.Key {
			key[i] = quoteWord(EscapeValue(column))
		}
		fmt.Fprintf(&b, "    key: [%s]\n", strings.Join(key, ", "))
	}
	fmt.Fprintf(&b, "    send: [%s]\n", channel)
	return b.String()
}

var simpleWord = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// quoteWord returns a word as a text in YAML. YAML reads some words as other types.
func quoteWord(word string) string {
	hasOtherType := slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, word)
	if simpleWord.MatchString(word) && !hasOtherType {
		return word
	}
	return strconv.Quote(word)
}
