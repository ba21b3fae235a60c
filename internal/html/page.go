// Package html contains the parts of this program's HTML pages: layout, style sheet, scripts,
// tables, charts and value formats. The report, the workbench and the status page are built
// with this package. The package must not know where a value comes from or which page shows the value. Package
// humanize formats the counts and sizes that also appear in logs and messages.
//
// A package with pages parses its templates with Parse. One template defines "content". Other
// templates are optional: "head" (elements for the document head), "tools" (controls in the
// header), "notice" (above the content) and "foot" (the footer). The page data embeds a Frame.
//
// These shared templates write a Table, a Cell, a Chart, and a state in its color:
//
//	{{template "table" .}}
//	{{template "cell" .}}
//	{{template "chart" .}}
//	{{template "tag" WORD}}
//
// The content security policy of all pages forbids inline styles and scripts other than the assets.
package html

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"placementsync/internal/humanize"
	"placementsync/internal/ledger"
)

//go:embed assets
var files embed.FS

//go:embed assets/page.css
var styleText string

// Frame is the data of the layout, which surrounds the content of every page.
type Frame struct {
	Title string
	Name  string // the kind of page, which the header shows: workbench, report, status
	Tabs  []Tab
	// Refresh is the number of seconds after which the browser reloads the page. 0 means never.
	Refresh int
	Scripts []string // names of assets, in the order of execution
	// AssetPath is the URL path of the assets, such as "/explore/assets/".
	AssetPath string
	// Inline contains the assets of a single-file page. Nil means that the page links to the assets
	// below AssetPath.
	Inline Assets
}

// Tab is a link in the header.
type Tab struct {
	Name, Link string
	Current    bool
}

const (
	styleFile    = "page.css"
	licensesFile = "NOTICE"
)

func (f Frame) Style() template.CSS { return template.CSS(f.Inline[styleFile].text) }

func (f Frame) Script(name string) template.JS { return template.JS(f.Inline[name].text) }

// Licenses returns the licenses of the third-party scripts in the page.
func (f Frame) Licenses() string { return f.Inline[licensesFile].text }

// Policy returns the content security policy of a page with inline assets. It forbids all requests.
func (f Frame) Policy() string {
	var scripts []string
	for _, name := range f.Scripts {
		scripts = append(scripts, hashSource(f.Inline[name].text))
	}
	return fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'",
		strings.Join(scripts, " "), hashSource(f.Inline[styleFile].text))
}

func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ChartScripts returns the names of the assets that draw charts.
func ChartScripts() []string { return []string{"echarts.min.js", "charts.js"} }

// Parse parses the layout and the shared templates of this package, and the named files of folder. extra
// contains more template functions.
func Parse(folder fs.FS, extra template.FuncMap, names ...string) (*template.Template, error) {
	shared := template.FuncMap{
		"num":   func(n any) string { return Decimal(fmt.Sprint(n)) },
		"bytes": humanize.FormatBytes, "share": Share, "span": Duration, "clock": Clock,
		"ago":      func(from, to time.Time) string { return Duration(to.Sub(from)) },
		"standing": ledger.StandingOf, "tone": Tone,
	}
	t, err := template.New("layout").Funcs(shared).Funcs(extra).ParseFS(files, "assets/*.html")
	if err != nil {
		return nil, err
	}
	return t.ParseFS(folder, names...)
}

// Render writes a page. data embeds a Frame.
func Render(w io.Writer, t *template.Template, data any) error {
	return t.ExecuteTemplate(w, "layout", data)
}

// Tone returns the CSS class of the color for an outcome, a standing, a grade or another state. Text from
// the service is never used as a class name: it returns "" for any other word.
func Tone(word any) string {
	switch fmt.Sprint(word) {
	case string(ledger.Complete), string(ledger.Proven), "exact", "ready", "passed":
		return "good"
	case "repaired", "bounded":
		return "fair"
	case string(ledger.Partial), string(ledger.Interrupted), string(ledger.Killed), string(ledger.Carried), "carried_forward", "held", "not run":
		return "poor"
	case string(ledger.Failed), "not ready", "past its promise":
		return "bad"
	case string(ledger.NotProven), string(ledger.NotRead), "best_effort", "skipped":
		return "none"
	}
	return ""
}

// Assets contains the style sheets, scripts and licenses that pages load or include, by file name.
type Assets map[string]Asset

// Asset is an http.Handler that serves one file.
type Asset struct{ contentType, etag, text string }

func NewAsset(mediaType, text string) Asset {
	sum := sha256.Sum256([]byte(text))
	return Asset{mediaType + "; charset=utf-8", `"` + hex.EncodeToString(sum[:8]) + `"`, text}
}

// StyleSheet returns the style sheet of all pages. A page without scripts needs no other asset.
func StyleSheet() Asset { return NewAsset("text/css", styleText) }

// ReadAssets reads the folder "assets" of this package and of other packages. It skips templates and the
// sources of bundles.
func ReadAssets(otherFolders ...fs.FS) (Assets, error) {
	all := Assets{}
	for _, folder := range append([]fs.FS{files}, otherFolders...) {
		names, err := fs.Glob(folder, "assets/*")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			mediaType := map[string]string{".css": "text/css", ".js": "text/javascript", "": "text/plain"}[path.Ext(name)]
			if mediaType == "" || strings.HasSuffix(name, ".entry.js") {
				continue
			}
			text, err := fs.ReadFile(folder, name)
			if err != nil {
				return nil, err
			}
			all[path.Base(name)] = NewAsset(mediaType, string(text))
		}
	}
	return all, nil
}

// ServeHTTP serves the file. The browser can cache the file, but must revalidate it for each page.
func (a Asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.etag)
	w.Header().Set("Content-Type", a.contentType)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.text))
}
