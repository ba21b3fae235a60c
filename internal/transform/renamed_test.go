package transform

import "testing"

func TestSimilarNames(t *testing.T) {
	for column, fields := range map[string]map[string]bool{
		"drive_link":      {"shared_drive": true, "google_drive_link": true, "DriveLink": true, "links.drive": true, "drivelink": true, "drive_lnk": true, "color": false, "link_id": false},
		"live_url":        {"site_url": false, "url": false, "liveUrl": true, "live": true},
		"brief_doc_url":   {"brief_google_doc": true, "doc_url": true, "brief": false},
		"team_id":         {"team_name": false, "team.id": true, "id": false},
		"website_url":     {"web_site_url": true, "name": false},
		"writing_samples": {"writingSamples": true, "samples": true, "overview": false},
	} {
		for field, want := range fields {
			if got := similarityOf(column, field) > 0; got != want {
				t.Errorf("the column %s and the field %s are similar: %t, want %t", column, field, got, want)
			}
		}
	}
}
