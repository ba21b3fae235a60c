package explore

import (
	"net/url"
	"strings"
)

func listingLink(id string) string { return linkTo("listings", id) }
func outletLink(id string) string  { return linkTo("outlets", id) }

func questionLink(name string) string { return linkTo("questions", name) }

// linkTo escapes an id, which may be any text, as one segment of a path. Segments of dots only
// would be relative.
func linkTo(kind, id string) string {
	segment := url.PathEscape(id)
	if strings.Trim(segment, ".") == "" {
		segment = strings.ReplaceAll(segment, ".", "%2E")
	}
	return base + "/" + kind + "/" + segment
}

// webLink returns an external address that is safe to link to: http or https, with a host and
// without user information. It is empty for other texts.
func webLink(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// domainOf returns the host of an address without www. It is empty for invalid addresses.
func domainOf(text string) string {
	u, err := url.Parse(webLink(text))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Hostname(), "www.")
}
