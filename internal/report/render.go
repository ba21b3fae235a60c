package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"

	"placementsync/internal/page"
)

//go:embed assets
var files embed.FS

// renderPage writes the page. All that came from the service passes html/template,
// which escapes it for the place where it stands: text, attribute, or JSON in
// a script element.
func renderPage(w io.Writer, content Page) error {
	fixed, err := readAssets()
	if err != nil {
		return err
	}
	t, err := template.New("page.html").ParseFS(files, "assets/page.html")
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		Page
		Assets assets
	}{content, fixed})
}

func readAssets() (assets, error) {
	texts := map[string]string{}
	for _, name := range []string{"page.css", "page.js", "draw.js", "echarts.min.js", "NOTICE"} {
		text, err := files.ReadFile("assets/" + name)
		if err != nil {
			return assets{}, err
		}
		texts[name] = strings.TrimSpace(string(text))
	}
	texts["page.css"] = page.BaseStyle() + texts["page.css"]
	own := texts["draw.js"] + "\n" + texts["page.js"]
	return assets{
		Style:  template.CSS(texts["page.css"]),
		Chart:  template.JS(texts["echarts.min.js"]),
		Script: template.JS(own),
		Policy: contentPolicy(texts["page.css"], texts["echarts.min.js"], own),
		Notice: texts["NOTICE"],
	}, nil
}

// contentPolicy lets the browser run these scripts and this style and nothing else,
// and load nothing from anywhere.
func contentPolicy(style string, scripts ...string) string {
	allowed := make([]string, len(scripts))
	for i, s := range scripts {
		allowed[i] = hashSource(s)
	}
	return fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; base-uri 'none'; form-action 'none'",
		strings.Join(allowed, " "), hashSource(style))
}

func hashSource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
