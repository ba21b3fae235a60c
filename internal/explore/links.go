package explore

import (
	"net/url"
	"strings"
)

// links creates links to pages that show the snapshot of the current page.
type links struct{ AsOf string }

func (v *visit) links() links { return links{v.params.Get(asOfKey)} }

func (l links) linkRecord(kind, id string) string { return l.keepAsOf(linkTo(kind+"s", id)) }

// keepAsOf adds as_of to an address. The catalog and the report show only the newest snapshot, so their
// addresses are unchanged.
func (l links) keepAsOf(address string) string {
	if l.AsOf == "" || address == catalogPath || address == reportPath {
		return address
	}
	separator := "?"
	if strings.Contains(address, "?") {
		separator = "&"
	}
	return address + separator + url.Values{asOfKey: {l.AsOf}}.Encode()
}

// linkTo returns the address of a record or query in a folder such as outlets. The id can be any text
// and is escaped as one segment of the path. The dots of an id such as ".." are escaped too: a browser
// would resolve them as a relative path.
func linkTo(folder, id string) string {
	segment := url.PathEscape(id)
	if strings.Trim(segment, ".") == "" {
		segment = strings.ReplaceAll(segment, ".", "%2E")
	}
	return rootPath + "/" + folder + "/" + segment
}
