package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
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
	v.checkEach("serve.hosts", s.Hosts, hostName, "is not a host name: write one such as status.example.com, without scheme, port or *")
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
	v.checkEach("serve.webhook_prefixes", s.WebhookPrefixes, headerPrefix, "is not the beginning of a header name: write one such as x-hook-")
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

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	// S3 allows other characters in object keys too, but not every server does.
	prefixName = regexp.MustCompile(`^[A-Za-z0-9!_.*'()/=+@-]*$`)
	regionName = regexp.MustCompile(`^[A-Za-z0-9-]*$`)
)

// BucketScheme begins every address in object storage.
const BucketScheme = "s3://"

// ParseBucket splits s3://bucket/prefix. The returned prefix has no leading or trailing
// slash and may be empty. The error does not quote the address, which may contain
// credentials.
func ParseBucket(address string) (bucket, prefix string, err error) {
	rest, ok := strings.CutPrefix(address, BucketScheme)
	bucket, prefix, _ = strings.Cut(rest, "/")
	prefix = strings.TrimRight(prefix, "/")
	switch {
	case !ok:
		return "", "", errors.New("is not an address in object storage: write one such as s3://bucket/prefix")
	case strings.ContainsAny(bucket, "@:"):
		return "", "", errors.New("contains credentials or a port: write s3://bucket/prefix, and use the section s3")
	case !bucketName.MatchString(bucket):
		return "", "", errors.New("does not name a bucket: write s3://bucket/prefix, where bucket has 3 to 63 lower-case letters, digits, dots and hyphens")
	// Clean changes a path with an empty segment, "." or "..".
	case !prefixName.MatchString(prefix) || path.Clean("/"+prefix) != "/"+prefix:
		return "", "", errors.New("has a prefix that not every server accepts: use letters, digits, and - _ . between single slashes")
	}
	return bucket, prefix, nil
}

func (v *validator) checkBucket(key, address string) {
	if address == "" {
		return
	}
	if _, _, err := ParseBucket(address); err != nil {
		v.addProblem(key, "%v", err)
	}
}

func (v *validator) checkS3(s S3) {
	const endpoint = "s3.endpoint"
	if s.Endpoint != "" {
		u := v.checkAddress(webAddress{path: endpoint, text: s.Endpoint, example: "https://s3.example.com",
			credentialAdvice: "remove them and use s3.access_key_file and s3.secret_key_file", allowPlain: s.AllowInsecure,
			plainProblem: "would transfer the stored data unencrypted: use https, or set s3.allow_insecure: true"})
		if u != nil && (strings.Trim(u.Path, "/") != "" || strings.ContainsAny(s.Endpoint, "?#")) {
			v.refuse(endpoint, originOf(u), "is followed by a path, query or fragment: end it with the host, and name the bucket in an address such as s3://bucket/prefix")
		}
	}
	if !regionName.MatchString(s.Region) {
		v.refuse("s3.region", s.Region, "is not a region: write one such as eu-central-1")
	}
	missing, given := "s3.access_key_file", "s3.secret_key_file"
	if s.AccessKeyFile != "" {
		missing, given = given, missing
	}
	if (s.AccessKeyFile == "") != (s.SecretKeyFile == "") {
		v.addProblem(missing, "is empty, and %s is set: give both files; to use the keys of the environment, give neither", given)
	}
}
