package config

import (
	"cmp"
	"fmt"
	"maps"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Channel is a receiver of the findings of watches.
type Channel struct {
	Name string `yaml:"name"`
	Type string `yaml:"type"`
	// URL is a secret, because chats put a credential into the path.
	URL  Secret   `yaml:"url"`
	From string   `yaml:"from"`
	To   []string `yaml:"to"`
	SMTP SMTP     `yaml:"smtp"`
}

// SMTP configures the mail server.
type SMTP struct {
	Host     string `yaml:"host"`
	Port     int    `yaml:"port"`
	TLS      string `yaml:"tls"`
	User     Secret `yaml:"user"`
	Password Secret `yaml:"password"`
	// Password and PasswordFile cannot be set together; see [SMTP.ReadPassword].
	PasswordFile string `yaml:"password_file"`
}

// ReadPassword returns the content of PasswordFile, or Password.
func (s SMTP) ReadPassword() (Secret, error) {
	if s.PasswordFile == "" {
		return s.Password, nil
	}
	return readSecret("notify.channels.smtp.password_file", s.PasswordFile)
}

// Watch is a query that runs after each night and whose findings are sent to channels.
type Watch struct {
	Name    string            `yaml:"name"` // also the name of the state file
	Query   string            `yaml:"query"`
	Params  map[string]string `yaml:"params"`
	When    string            `yaml:"when"` // see [Watch.Condition]
	Key     []string          `yaml:"key"`
	Show    []string          `yaml:"show"`
	NewOnly bool              `yaml:"new_only"`
	Advice  string            `yaml:"advice"`
	Send    []string          `yaml:"send"`
}

// whenRows makes every row a finding.
const whenRows = "rows"

var whenText = regexp.MustCompile(`^(\S.*) (over|under) (-?[0-9]{1,38}(?:\.[0-9]{1,38})?)$`)

// Condition parses When into a column, the direction, and the bound as a decimal number. over is false
// for "under". column and bound are empty if every row is a finding.
func (w Watch) Condition() (column string, over bool, bound string) {
	match := whenText.FindStringSubmatch(w.When)
	if match == nil {
		return "", false, ""
	}
	return match[1], match[2] == "over", match[3]
}

func (w *Watch) setDefaults() {
	*w = Watch{Params: map[string]string{}, When: whenRows, Key: []string{}, Show: []string{}, NewOnly: true, Send: []string{}}
}

func (c *Channel) setDefaults() { *c = Channel{To: []string{}, SMTP: SMTP{TLS: "starttls"}} }

// itemName matches the name of a channel or a watch. A matching name cannot be mistaken for a
// flag, and cannot lead out of a folder.
var itemName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

func (v *validator) checkName(path, name string, earlier []string) {
	switch {
	case !itemName.MatchString(name):
		v.refuse(path, name, "is not a name: use lower-case letters, digits, - and _, such as price-drops")
	case slices.Contains(earlier, name):
		v.refuse(path, name, "is already used: choose another name")
	}
}

// checkChannels returns the names of all channels, even of channels with problems.
func (v *validator) checkChannels(channels []Channel) []string {
	var names []string
	for i, c := range channels {
		key := fmt.Sprintf("notify.channels[%d]", i)
		v.checkName(key+".name", c.Name, names)
		names = append(names, c.Name)
		v.checkOneOf(key+".type", c.Type, "webhook", "slack", "email")
		switch c.Type {
		case "webhook", "slack":
			v.checkAddress(webAddress{path: key + ".url", text: c.URL.Reveal(), example: "https://hooks.example.com/abc", isSecret: true,
				plainProblem: "would send findings unencrypted: use https"})
			if c.SMTP.Host != "" {
				v.addProblem(key+".smtp.host", "is only for the type email: remove it, or correct the type")
			}
		case "email":
			if c.URL != "" {
				v.addProblem(key+".url", "is only for the types webhook and slack: remove it, or correct the type")
			}
			v.checkMailAddresses(key, c)
			v.checkSMTP(key+".smtp", c.SMTP)
		}
	}
	return names
}

func (v *validator) checkMailAddresses(key string, c Channel) {
	check := func(path, text string) {
		if _, err := mail.ParseAddress(text); err != nil {
			v.refuse(path, text, "is not an e-mail address: write one such as team@example.com")
		}
	}
	check(key+".from", c.From)
	if len(c.To) == 0 {
		v.addProblem(key+".to", "is empty: list one address or more")
	}
	for i, to := range c.To {
		check(fmt.Sprintf("%s.to[%d]", key, i), to)
	}
}

func (v *validator) checkSMTP(key string, s SMTP) {
	if s.Host == "" {
		v.addProblem(key+".host", "is empty: give the mail server, such as smtp.example.com")
	}
	v.checkPrintable(key+".host", s.Host)
	checkBetween(v, key+".port", s.Port, 0, 1<<16-1)
	v.checkOneOf(key+".tls", s.TLS, "starttls", "tls", "none")
	switch {
	case s.TLS == "none" && !isLoopback(s.Host):
		v.addProblem(key+".tls", "\"none\" is allowed only for a mail server on this machine: use starttls or tls")
	case s.TLS == "none" && s.User != "":
		v.addProblem(key+".user", "would be sent unencrypted: use starttls or tls, or remove it")
	}
	hasPassword := s.Password != "" || s.PasswordFile != ""
	if v.broken[key+".password"] || v.broken[key+".password_file"] {
		return
	}
	switch {
	case s.Password != "" && s.PasswordFile != "":
		v.addProblem(key+".password_file", "is set, and password too: remove one of the two")
	case hasPassword != (s.User != ""):
		v.addProblem(key+".user", "needs a password, and a password needs a user: set both, or remove both")
	}
}

const maxAdvice = 500 // characters

func (v *validator) checkWatches(watches []Watch, channels []string) {
	var names []string
	for i, w := range watches {
		key := fmt.Sprintf("watch[%d]", i)
		v.checkName(key+".name", w.Name, names)
		names = append(names, w.Name)
		if w.Query == "" {
			v.addProblem(key+".query", "is empty: name a query, see placementsync query --list, or write SQL")
		}
		if w.When != whenRows && !whenText.MatchString(w.When) {
			v.refuse(key+".when", w.When, "is not a condition: write rows, or a column and a number such as \"amount over 1000\" or \"change_percent under -10\"")
		}
		if utf8.RuneCountInString(w.Advice) > maxAdvice {
			v.addProblem(key+".advice", "is longer than %d characters: shorten it", maxAdvice)
		}
		if len(w.Send) == 0 {
			v.addProblem(key+".send", "is empty: name at least one of notify.channels")
		}
		for n, name := range w.Send {
			item := fmt.Sprintf("%s.send[%d]", key, n)
			switch {
			case !slices.Contains(channels, name):
				v.refuse(item, name, "is not one of notify.channels: add it there, or correct the name")
			case slices.Contains(w.Send[:n], name):
				v.refuse(item, name, "appears twice: keep one")
			}
		}
	}
}

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
	fmt.Fprintf(&b, "watch:\n  - name: %s\n    query: %s\n", w.Name, quoteYAML(w.Query))
	if len(w.Params) > 0 {
		b.WriteString("    params:\n")
	}
	for _, name := range slices.Sorted(maps.Keys(w.Params)) {
		fmt.Fprintf(&b, "      %s: %s\n", quoteYAML(name), quoteYAML(EscapeValue(w.Params[name])))
	}
	if len(w.Key) > 0 {
		key := make([]string, len(w.Key))
		for i, column := range w.Key {
			key[i] = quoteYAML(EscapeValue(column))
		}
		fmt.Fprintf(&b, "    key: [%s]\n", strings.Join(key, ", "))
	}
	fmt.Fprintf(&b, "    send: [%s]\n", channel)
	return b.String()
}
