package explore

// recordRoutes returns the routes of records and named queries.
func recordRoutes() []route {
	all := []route{
		{path: "/questions", tab: "Questions", show: showQuestions},
		{path: "/questions/{name}", tab: "Questions", show: showQuestion, keys: tableKeys(paramKey, chartKey)},
		{path: "/questions/{name}/{format}", tab: "Questions", show: sendResult, keys: tableKeys(paramKey), slow: true},
	}
	for _, kind := range []recordKind{listingKind(), outletKind(), orderKind(), campaignKind(), articleKind(), profileKind()} {
		list := "/" + kind.name + "s"
		tab := kind.label + "s"
		if kind.order == "" {
			tab = "Catalog"
		}
		all = append(all, route{path: list + "/{id}", tab: tab, show: showRecord(kind)},
			route{path: list + "/{id}/{section}", tab: tab, show: showSection(kind), keys: tableKeys()},
			route{path: list + "/{id}/{section}/{format}", tab: tab, show: showSection(kind), keys: tableKeys(), slow: true})
		if kind.order == "" {
			continue
		}
		all = append(all, route{path: list, tab: tab, show: showRecords(kind), keys: tableKeys()})
		for _, f := range downloadFormats() {
			all = append(all, route{path: list + "." + string(f.format), tab: tab, show: sendRecords(kind, f.format), keys: tableKeys(), slow: true})
		}
	}
	return all
}
