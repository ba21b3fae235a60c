package explore

// recordRoutes are the pages of records and of named queries.
func recordRoutes() []route {
	return []route{
		{path: "/listings/{id}", tab: "Catalog", show: showRecord(listingKind())},
		{path: "/outlets/{id}", tab: "Catalog", show: showRecord(outletKind())},
		{path: "/orders", tab: "Orders", show: showRecords(orderKind(), "Newest first. The service names no currency for them."), keys: []string{searchKey}},
		{path: "/orders/{id}", tab: "Orders", show: showRecord(orderKind())},
		{path: "/campaigns", tab: "Campaigns", show: showRecords(campaignKind(), "Newest first."), keys: []string{searchKey}},
		{path: "/campaigns/{id}", tab: "Campaigns", show: showRecord(campaignKind())},
		{path: "/articles", tab: "Articles", show: showRecords(articleKind(), "Those that entered their status last come first."), keys: []string{searchKey}},
		{path: "/articles/{id}", tab: "Articles", show: showRecord(articleKind())},
		{path: "/profiles", tab: "Profiles", show: showRecords(profileKind(), "By name."), keys: []string{searchKey}},
		{path: "/profiles/{id}", tab: "Profiles", show: showRecord(profileKind())},
		{path: "/questions", tab: "Questions", show: showQuestions},
		{path: "/questions/{name}", tab: "Questions", show: showQuestion, keys: []string{paramKey, chartKey}},
		{path: "/questions/{name}/{format}", tab: "Questions", show: sendAnswer, keys: []string{paramKey}, slow: true},
	}
}
