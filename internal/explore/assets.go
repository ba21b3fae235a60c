package explore

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"

	"placementsync/internal/page"
)

//go:embed assets
var assetFiles embed.FS

// asset is a file that pages load: style and script.
type asset struct {
	kind, tag string
	text      []byte
}

// readAssets reads what the browser may load, by name.
func readAssets() (map[string]asset, error) {
	all := map[string]asset{}
	for _, name := range []string{"page.css", "records.css", "page.js", "htmx.min.js", "NOTICE"} {
		text, err := assetFiles.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		if name == "page.css" {
			text = append([]byte(page.BaseStyle()), text...)
		}
		sum := sha256.Sum256(text)
		kind := "text/plain; charset=utf-8"
		switch path.Ext(name) { // what the system says of types does not count
		case ".css":
			kind = "text/css; charset=utf-8"
		case ".js":
			kind = "text/javascript; charset=utf-8"
		}
		all[name] = asset{kind, `"` + hex.EncodeToString(sum[:8]) + `"`, text}
	}
	return all, nil
}

// ServeHTTP lets the browser keep the file and ask whether it is still the same.
func (a asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.tag)
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	_, _ = w.Write(a.text) // an error means that the browser has gone
}
