package explore

import (
	"net/url"
	"strings"
)

// Links to the pages of one record. An id is any text of the service.

func listingLink(id string) string { return linkTo("listings", id) }
func outletLink(id string) string  { return linkTo("outlets", id) }

// questionLink is the page of a named query.
func questionLink(name string) string { return linkTo("questions", name) }

// linkTo escapes an id as one segment of a path. A dot alone would be a step in it.
func linkTo(kind, id string) string {
	segment := url.PathEscape(id)
	if strings.Trim(segment, ".") == "" {
		segment = strings.ReplaceAll(segment, ".", "%2E")
	}
	return base + "/" + kind + "/" + segment
}

// webLink is an address of the service that a page may link to: http or https, with a
// host and nothing of a user before it. Anything else is "" and stays text.
func webLink(text string) string {
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// domainOf is the host of an address, without www; "" of what is none.
func domainOf(text string) string {
	u, err := url.Parse(webLink(text))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.Hostname(), "www.")
}
