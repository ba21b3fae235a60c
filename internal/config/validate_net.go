package config

import (
	"fmt"
	"math"
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

// checkBaseURL shows only scheme and host of an invalid address. The rest may contain
// credentials.
func (v *validator) checkBaseURL(a API) {
	const path = "api.base_url"
	u, err := url.Parse(a.BaseURL)
	switch {
	case a.BaseURL == "":
		v.addProblem(path, "is empty: give the address of the service, such as https://api.example.com")
	case err != nil || !isWeb(u):
		v.addProblem(path, "is not an absolute http or https address: write one such as https://api.example.com")
	case u.User != nil:
		v.addProblem(path, "contains credentials: remove them and use api.token")
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(a.BaseURL, "#"):
		v.addProblem(path, "%s ends with a query or fragment: end it with the path", v.showValue(path, u.Scheme+"://"+u.Host))
	case u.Scheme == "http" && !a.AllowInsecure && !isLoopback(u.Hostname()):
		v.addProblem(path, "%s would send the token unencrypted: use https, or set api.allow_insecure: true",
			v.showValue(path, u.Scheme+"://"+u.Host))
	}
}

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
	return err == nil && addr.Unmap().IsLoopback()
}

func (v *validator) checkPrintable(path, text string) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		v.addProblem(path, "%s contains characters that cannot be sent: use printable ASCII", v.showValue(path, text))
	}
}

func (v *validator) checkCron(path, text string) {
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		// The parser panics on a time zone without fields.
		v.addProblem(path, "%s names a time zone: move it to schedule.timezone", v.showValue(path, text))
		return
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		reason := fmt.Sprintf(" (%v)", err)
		if v.written[path] != "" {
			reason = "" // the error quotes the value from the environment
		}
		v.addProblem(path, "%s is not a schedule%s: write five fields such as \"0 2 * * *\"", v.showValue(path, text), reason)
		return
	}
	// Next searches five years ahead, so any start date finds 29 February.
	if schedule.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		v.addProblem(path, "%s is never due: check day and month", v.showValue(path, text))
	}
}

// hostName matches the Host header as clients send it. Names in other alphabets are sent
// in ASCII, as xn--.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?\.?$`)

func (v *validator) checkServe(s Serve) {
	host, port, err := net.SplitHostPort(s.Listen)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		v.addProblem("serve.listen", "%s is not host:port: write one such as 127.0.0.1:8080", v.showValue("serve.listen", s.Listen))
	} else if !isLoopback(host) && s.AuthToken == "" && !v.broken["serve.auth_token"] {
		v.addProblem("serve.listen", "%s is reachable from other machines: set serve.auth_token, or listen on 127.0.0.1",
			v.showValue("serve.listen", s.Listen))
	}
	for i, name := range s.Hosts {
		if item := fmt.Sprintf("serve.hosts[%d]", i); !hostName.MatchString(name) {
			v.addProblem(item, "%s is not a host name: write one such as status.example.com, without scheme, port or *",
				v.showValue(item, name))
		}
	}
	v.checkSecretText("serve.auth_token", s.AuthToken)
	for i, secret := range s.WebhookSecrets {
		item := fmt.Sprintf("serve.webhook_secrets[%d]", i)
		if secret == "" {
			v.addProblem(item, "is empty, so anyone could sign: give the signing secret, or remove it")
		}
		v.checkSecretText(item, secret)
	}
	checkBetween(v, "serve.webhook_max_age", s.WebhookMaxAge, 0, 7*24*time.Hour)
	if n := s.InboxMaxBytes(); s.InboxMax != "" && (n < 16e6 || n > 1e12) {
		v.addProblem("serve.inbox_max", "%s is not a size from 16MB to 1TB: write one such as 500MB", v.showValue("serve.inbox_max", s.InboxMax))
	}
}

// InboxMaxBytes returns InboxMax in bytes, or 0 if it is empty.
func (s Serve) InboxMaxBytes() int64 { return int64(min(parseSize(s.InboxMax), math.MaxInt64/2)) }

func (v *validator) checkSecretText(path string, secret Secret) {
	if strings.ContainsFunc(secret.Reveal(), unfitForHeader) {
		v.addProblem(path, "contains white space or characters that cannot be sent: use printable ASCII without spaces")
	}
}

func (v *validator) checkNotifyURL(path string, address Secret) {
	if address == "" {
		return
	}
	if u, err := url.Parse(address.Reveal()); err != nil || !isWeb(u) {
		v.addProblem(path, "is not an absolute http or https address: write one such as https://hooks.example.com/abc")
	}
}
