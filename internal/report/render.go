package report

import (
	"embed"
	"io"

	"placementsync/internal/page"
)

// files has the templates of the page, and its script. report.html is the content of the
// page, file.html its footer in a file.
//
//go:embed assets
var files embed.FS

// Files has the template assets/report.html, whose data has a Page as Data, and the script
// assets/report.js.
func Files() embed.FS { return files }

// Scripts are the assets that the page runs beside those of all pages.
func Scripts() []string { return append(page.ChartScripts(), "report.js") }

func renderFile(w io.Writer, content Page) error {
	assets, err := page.ReadAssets(files)
	if err != nil {
		return err
	}
	t, err := page.Parse(files, nil, "assets/report.html", "assets/file.html")
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
