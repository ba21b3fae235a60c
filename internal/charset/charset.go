// Package charset finds the charset that a Content-Type declares. It must not know the content of texts. It is a
// package of its own because fetch and webhook need it and must not import each other.
package charset

import (
	"mime"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"
)

// Declared returns the charset that a Content-Type declares. It returns nil for UTF-8, which is the charset of
// JSON, and for an unknown charset.
func Declared(contentType string) encoding.Encoding {
	_, params, err := mime.ParseMediaType(contentType)
	name := params["charset"]
	if err != nil || name == "" || strings.EqualFold(name, "utf-8") || strings.EqualFold(name, "us-ascii") {
		return nil
	}
	charset, err := ianaindex.IANA.Encoding(name)
	if err != nil {
		return nil
	}
	return charset
}
