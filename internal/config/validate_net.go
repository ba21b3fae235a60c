package config

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	_ "time/tzdata" // minimal systems and containers have no time zone database

	"github.com/robfig/cron/v3"
)

// CheckBaseURL returns an *Error if BaseURL is invalid.
func (a API) CheckBaseURL() error {
	var v validator
	v.checkBaseURL(a)
	return newError("", v.problems)
}

func (v *validator) checkBaseURL(a API) {
	const path = "api.base_url"
	if a.BaseURL == "" {
		v.addProblem(path, "is empty: give the address of the service, such as https://api.example.com")
		return
	}
	u := v.checkAddress(webAddress{path: path, text: a.BaseURL, example: "https://api.example.com",
		credentialAdvice: "remove them and use api.token", allowPlain: a.AllowInsecure,
		plainProblem: "would send the token unencrypted: use https, or set api.allow_insecure: true"})
	if u != nil && (u.RawQuery != "" || u.ForceQuery || strings.Contains(a.BaseURL, "#")) {
		v.refuse(path, originOf(u), "ends with a query or fragment: end it with the path")
	}
}

// webAddress is an http or https address in the configuration, with its rules.
type webAddress struct {
	path, text, example string
	isSecret            bool   // the address may contain credentials and is not shown
	credentialAdvice    string // for credentials in an address that is not secret
	// plainProblem is the message about plain http to hosts other than loopback. It is not
	// reported if allowPlain is set.
	plainProblem string
	allowPlain   bool
}

// checkAddress returns nil after a problem.
func (v *validator) checkAddress(a webAddress) *url.URL {
	u, err := url.Parse(a.text)
	switch {
	case err != nil || !isWeb(u):
		v.addProblem(a.path, "is not an absolute http or https address: write one such as %s", a.example)
	case u.User != nil && !a.isSecret:
		v.addProblem(a.path, "contains credentials: %s", a.credentialAdvice)
	case u.Scheme == "http" && !a.allowPlain && !isLoopback(u.Hostname()):
		var shown any
		if !a.isSecret {
			shown = originOf(u)
		}
		v.refuse(a.path, shown, a.plainProblem)
	default:
		return u
	}
	return nil
}

// originOf returns the part of an address that is shown. The rest may contain credentials.
func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

func isWeb(u *url.URL) bool {
	port := u.Port()
	if _, err := strconv.ParseUint(port, 10, 16); port != "" && err != nil {
		return false
	}
	return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Opaque == ""
}

// isLoopback does not resolve names: a response from the network must not decide whether
// a token may be sent unencrypted.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

func (v *validator) checkPrintable(path, text string) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		v.refuse(path, text, "contains characters that cannot be sent: use printable ASCII")
	}
}

func (v *validator) checkCron(path, text string) {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		// The parser panics on a time zone without fields.
		v.refuse(path, text, "names a time zone: move it to schedule.timezone")
		return
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		reason := fmt.Sprintf(" (%v)", err)
		if v.written[path] != "" {
			reason = "" // the error quotes the value from the environment
		}
		v.refuse(path, text, "is not a schedule"+reason+": write five fields such as \"0 2 * * *\"")
		return
	}
	// Next searches five years ahead, so any start date finds 29 February.
	if schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		v.refuse(path, text, "is never due: check day and month")
	}
}

// hostName matches the Host header as clients send it. Names in other alphabets are sent
// in ASCII, as xn--.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?$`)

var headerPrefix = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (v *validator) checkServe(s Serve) {
	host, port, err := net.SplitHostPort(s.Listen)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		v.refuse("serve.listen", s.Listen, "is not host:port: write one such as 127.0.0.1:8080")
	} else if !isLoopback(host) && s.AuthToken == "" && !v.broken["serve.auth_token"] {
		v.refuse("serve.listen", s.Listen, "is reachable from other machines: set serve.auth_token, or listen on 127.0.0.1")
	}
	for i, name := range s.Hosts {
		if item := fmt.Sprintf("serve.hosts[%d]", i); !hostName.MatchString(name) {
			v.refuse(item, name, "is not a host name: write one such as status.example.com, without scheme, port or *")
		}
	}
	v.checkSecretText("serve.auth_token", s.AuthToken)
	if n := len(s.AuthToken); n > 0 && n < minAuthToken {
		v.addProblem("serve.auth_token", "has %d characters and can be guessed: use at least %d, such as the output of openssl rand -hex 16", n, minAuthToken)
	}
	for i, secret := range s.WebhookSecrets {
		item := fmt.Sprintf("serve.webhook_secrets[%d]", i)
		if secret == "" {
			v.addProblem(item, "is empty, so anyone could sign: give the signing secret, or remove the entry")
		}
		v.checkSecretText(item, secret)
	}
	if len(s.WebhookPrefixes) == 0 {
		v.addProblem("serve.webhook_prefixes", "is empty, so no delivery is recognized: remove the line, or list a prefix such as x-hook-")
	}
	for i, prefix := range s.WebhookPrefixes {
		if !headerPrefix.MatchString(prefix) {
			v.refuse(fmt.Sprintf("serve.webhook_prefixes[%d]", i), prefix, "is not the beginning of a header name: write one such as x-hook-")
		}
	}
	checkBetween(v, "serve.webhook_max_age", s.WebhookMaxAge, 0, 7*24*time.Hour)
	if n := s.InboxMaxBytes(); s.InboxMax != "" && (n < 16e6 || n > 1e12) {
		v.refuse("serve.inbox_max", s.InboxMax, "is not a size from 16MB to 1TB: write one such as 500MB")
	}
}

// minAuthToken is the minimal length of serve.auth_token in bytes.
const minAuthToken = 16

// InboxMaxBytes returns InboxMax in bytes, or 0 if InboxMax is empty or not a size.
func (s Serve) InboxMaxBytes() int64 { return parseSize(s.InboxMax) }

func (v *validator) checkSecretText(path string, secret Secret) {
	if strings.ContainsFunc(secret.Reveal(), isUnfitForHeader) {
		v.addProblem(path, "contains white space or characters that cannot be sent: use printable ASCII without spaces")
	}
}

func (v *validator) checkNotifyURL(path string, address Secret) {
	if address != "" {
		v.checkAddress(webAddress{path: path, text: address.Reveal(), example: "https://hooks.example.com/abc", isSecret: true,
			plainProblem: "would send the alert and the credential in the address unencrypted: use https"})
	}
}
