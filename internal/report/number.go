package report

import "placementsync/internal/page"

// longest is how many characters of a text of the service are shown, so that a page
// stays small.
const longest = 160

func clipText(text string) string { return page.Clip(text, longest) }
