package explore

// recordRoutes are the routes of records and named queries.
func recordRoutes() []route {
	return []route{
		{path: "/listings/{id}", tab: "Catalog", show: showRecord(listingKind())},
		{path: "/outlets/{id}", tab: "Catalog", show: showRecord(outletKind())},
		{path: "/orders", tab: "Orders", show: showRecords(orderKind(), "Newest first. The service sends no currency for them."), keys: []string{searchKey}},
		{path: "/orders/{id}", tab: "Orders", show: showRecord(orderKind())},
		{path: "/campaigns", tab: "Campaigns", show: showRecords(campaignKind(), "Newest first."), keys: []string{searchKey}},
		{path: "/campaigns/{id}", tab: "Campaigns", show: showRecord(campaignKind())},
		{path: "/articles", tab: "Articles", show: showRecords(articleKind(), "The latest change of status first."), keys: []string{searchKey}},
		{path: "/articles/{id}", tab: "Articles", show: showRecord(articleKind())},
		{path: "/profiles", tab: "Profiles", show: showRecords(profileKind(), "By name."), keys: []string{searchKey}},
		{path: "/profiles/{id}", tab: "Profiles", show: showRecord(profileKind())},
		{path: "/questions", tab: "Questions", show: showQuestions},
		{path: "/questions/{name}", tab: "Questions", show: showQuestion, keys: []string{paramKey, chartKey}},
		{path: "/questions/{name}/{format}", tab: "Questions", show: sendResult, keys: []string{paramKey}, slow: true},
	}
}
