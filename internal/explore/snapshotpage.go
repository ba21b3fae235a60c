package explore

// showSnapshot says what the pages are read from, and how sure it is that all is there.
func showSnapshot(v *visit) (reply, error) {
	grades, err := v.askNamed("stream_grades", nil)
	if err != nil {
		return nil, err
	}
	return page{Title: "Snapshot", Template: "snapshot", Data: grades}, nil
}
