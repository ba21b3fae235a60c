package report

import (
	"embed"
	"io"

	"placementsync/internal/page"
)

// files contains the templates and the script of the page. report.html is the content of the
// page. filefooter.html is the footer of the offline file.
//
//go:embed assets
var files embed.FS

// Files contains the template assets/report.html, whose data has a field Data of type Page, and
// the script assets/report.js.
func Files() embed.FS { return files }

// Scripts lists the scripts of the page, except for page.js, which all pages have.
func Scripts() []string { return append(page.ChartScripts(), "report.js") }

func renderFile(w io.Writer, content Page) error {
	assets, err := page.ReadAssets(files)
	if err != nil {
		return err
	}
	t, err := page.Parse(files, nil, "assets/report.html", "assets/filefooter.html")
	if err != nil {
		return err
	}
	frame := page.Frame{Title: "placementsync report " + content.Snapshot + " UTC", Name: "report",
		Scripts: append([]string{"page.js"}, Scripts()...), Inline: assets}
	return page.Render(w, t, struct {
		page.Frame
		Data Page
	}{frame, content})
}
