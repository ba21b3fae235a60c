// Package page makes the HTML pages of this program: layout, style, script, tables and
// charts, and the formats of the values on them. The report, the workbench and the status
// page are built on it. It must not know where a value comes from or which page shows it.
// Counts and sizes that also appear in logs and messages are written by internal/plural.
//
// A package with pages parses its templates with Parse. One of them defines "content"; it
// may also define "head" (more of the head of the document), "tools" (controls in the
// header) and "foot" (the footer). Its data embeds a Frame:
//
//	type statusPage struct {
//		page.Frame
//		...
//	}
//	err := page.Render(w, templates, statusPage{...})
//
// In a template, {{template "table" .}} writes a Table, {{template "cell" .}} a Cell,
// {{template "chart" .}} a Chart and {{template "tag" WORD}} a state in its color. The
// policy of all pages forbids style and script within the page: they are in assets.
package page

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

	"placementsync/internal/ledger"
	"placementsync/internal/plural"
)

var (
	//go:embed assets
	files embed.FS
	//go:embed assets/page.css
	styleText string
)

// Frame is the data of the layout, which surrounds the content of every page.
type Frame struct {
	// Title is that of the browser's window.
	Title string
	// Name stands behind the brand in the header: workbench, report, status.
	Name string
	Tabs []Tab
	// Refresh is after how many seconds the browser loads the page again. 0 means never.
	Refresh int
	// Scripts are the names of the assets that the page runs, in order.
	Scripts []string
	// Folder is the address of the assets, such as "/explore/assets/".
	Folder string
	// Inline assets are written into the page, which then is one file and loads nothing.
	// Without it the page links to them in Folder.
	Inline Assets
}

// Tab is a link in the header.
type Tab struct {
	Name, Link string
	// Current marks the tab of this page.
	Current bool
}

// style is the name of the one style sheet.
const style = "page.css"

// Style is the text of the style sheet, for a page that includes it.
func (f Frame) Style() template.CSS { return template.CSS(f.Inline[style].text) }

// Script is the text of a script, for a page that includes it.
func (f Frame) Script(name string) template.JS { return template.JS(f.Inline[name].text) }

// Licenses are those of the works of others that the page includes.
func (f Frame) Licenses() string { return f.Inline[licenses].text }

// licenses is the name of the file with the licenses of the works of others.
const licenses = "NOTICE"

// Policy lets the browser run the scripts and the style of a page that includes them, and
// load nothing from anywhere.
func (f Frame) Policy() string {
	var scripts []string
	for _, name := range f.Scripts {
		scripts = append(scripts, hashSource(f.Inline[name].text))
	}
	return fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'",
		strings.Join(scripts, " "), hashSource(f.Inline[style].text))
}

func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ChartScripts are the assets that draw the charts of a page.
func ChartScripts() []string { return []string{"echarts.min.js", "charts.js"} }

// Parse reads the templates of a page: the layout, the shared parts, and files of a package,
// which may call more functions.
func Parse(from fs.FS, more template.FuncMap, names ...string) (*template.Template, error) {
	t, err := template.New("layout").Funcs(funcs()).Funcs(more).ParseFS(files, "assets/*.html")
	if err != nil {
		return nil, err
	}
	return t.ParseFS(from, names...)
}

// Render writes a page. Its data embeds a Frame.
func Render(w io.Writer, t *template.Template, data any) error {
	return t.ExecuteTemplate(w, "layout", data)
}

// funcs are the functions of all templates.
func funcs() template.FuncMap {
	return template.FuncMap{
		"num":   func(n any) string { return Decimal(fmt.Sprint(n)) },
		"bytes": plural.FormatBytes, "share": Share, "span": Duration, "clock": Clock,
		"ago":      func(from, to time.Time) string { return Duration(to.Sub(from)) },
		"standing": ledger.StandingOf, "tone": Tone,
		"pair": func(key string, value any) map[string]any { return map[string]any{"Key": key, "Value": value} },
	}
}

// Tone is the class of the color of a state: an outcome, a standing, a grade. Other words
// have none: those of the service must not become names of classes.
func Tone(word any) string {
	switch fmt.Sprint(word) {
	case string(ledger.Complete), string(ledger.Proven), "exact", "ready":
		return "good"
	case "repaired", "bounded":
		return "fair"
	case string(ledger.Partial), string(ledger.Interrupted), string(ledger.Killed), string(ledger.Carried), "carried_forward":
		return "poor"
	case string(ledger.Failed), "not ready":
		return "bad"
	case string(ledger.NotProven), string(ledger.NotRead), "best_effort", "skipped":
		return "none"
	}
	return ""
}

// Assets are files that pages load or include, by name.
type Assets map[string]Asset

// Asset is one file. It serves itself.
type Asset struct{ kind, tag, text string }

func newAsset(kind, text string) Asset {
	sum := sha256.Sum256([]byte(text))
	return Asset{kind + "; charset=utf-8", `"` + hex.EncodeToString(sum[:8]) + `"`, strings.TrimSpace(text)}
}

// StyleSheet is the one asset of a page without scripts.
func StyleSheet() Asset { return newAsset("text/css", styleText) }

// ReadAssets reads the assets of this package, and the scripts of others.
func ReadAssets(more ...fs.FS) (Assets, error) {
	all := Assets{}
	for _, from := range append([]fs.FS{files}, more...) {
		names, err := fs.Glob(from, "assets/*")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			kind := map[string]string{".css": "text/css", ".js": "text/javascript", "": "text/plain"}[path.Ext(name)]
			if kind == "" || strings.HasSuffix(name, ".entry.js") {
				continue
			}
			text, err := fs.ReadFile(from, name)
			if err != nil {
				return nil, err
			}
			all[path.Base(name)] = newAsset(kind, string(text))
		}
	}
	return all, nil
}

// ServeHTTP lets the browser keep the file and ask whether it is still the same.
func (a Asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.tag)
	if r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	_, _ = io.WriteString(w, a.text) // an error means that the browser has gone
}
