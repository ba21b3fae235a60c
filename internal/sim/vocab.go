package sim

import "strconv"

// vocabulary contains the texts of a world. No code changes it. Records are numbered by their position in
// a list.
type vocabulary struct {
	team                     string
	oddNames                 []string // replace some names
	cities                   []city
	tagNames                 []string
	disclaimers              []disclaimer
	productTypes             []productType
	requirements, sentences  []string
	metadata                 []string // JSON values
	people                   []person
	companies, topics        []string
	remarks                  []string
	articleStatuses          []articleStatus
	keywords, audience, tone string
	objectives               string
	statuses                 map[string]string // the sent statuses of orders, commissions and campaigns, if they differ
}

type disclaimer struct{ name, description string }

// productType is a type that GET /products/categories counts.
type productType struct{ name, prefix, label string }

// strangeWords are the texts of a world with every form that the spec allows.
var strangeWords = vocabulary{
	team: "Partner & Söhne", oddNames: oddNames, cities: cities, tagNames: tagNames, disclaimers: disclaimers, productTypes: productTypes,
	requirements: requirements, sentences: sentences, metadata: metadataShapes, people: people, companies: companies, topics: topics,
	remarks: remarks, articleStatuses: articleStatuses, keywords: "launch, café, ünïcode, \"exact phrase\"",
	audience: "CTOs <b>and</b> founders", tone: "=friendly", objectives: "Explain what is new; ≥ 2 quotes",
}

// oddName returns a name for one record in n, or an empty text.
func (v *vocabulary) oddName(roll, n uint64) string {
	if len(v.oddNames) == 0 || !oneIn(roll, n) {
		return ""
	}
	return pick(v.oddNames, mix(roll))
}

func (v *vocabulary) profileName(n uint32) string {
	name := v.companies[int(n)%len(v.companies)]
	if round := int(n) / len(v.companies); round > 0 {
		name += " " + strconv.Itoa(round+1)
	}
	return name
}

// oddNames are names with markup, spreadsheet formulas, quotes, line breaks, emoji and
// foreign scripts, as people enter them.
var oddNames = []string{
	`<b>Bold</b> & "Quoted" Weekly`,
	`=SUM(1)`,
	`=HYPERLINK("http://example.com","click")`,
	`+49 Berlin`, `-Minus-`, `@handle`,
	`O'Brien's "Daily"`,
	"Two\nLines\tand a tab",
	`Back\slash Review`,
	`Zażółć gęślą jaźń`,
	`東京タイムズ`,
	`صحيفة اليوم`,
	`Rocket 🚀 Post 👩‍💻`,
	`<script>alert(1)</script>`,
	`'; DROP TABLE outlets; --`,
	`  padded  `,
	`null`, `N/A`, `1e5`, `Comma, Semi; Pipe|`,
}

type city struct{ country, countryCode, state, name string }

var cities = []city{
	{"United States", "US", "New York", "New York"},
	{"United States", "US", "California", "San Francisco"},
	{"United States", "US", "Texas", "Austin"},
	{"United States", "US", "Illinois", "Chicago"},
	{"United Kingdom", "GB", "England", "London"},
	{"United Kingdom", "GB", "Scotland", "Edinburgh"},
	{"Germany", "DE", "Bayern", "München"},
	{"Germany", "DE", "Berlin", "Berlin"},
	{"France", "FR", "Île-de-France", "Paris"},
	{"Canada", "CA", "Ontario", "Toronto"},
	{"Côte d'Ivoire", "CI", "", "Abidjan"},
	{"日本", "JP", "東京都", "東京"},
	{"Singapore", "SG", "", "Singapore"},
	{"Australia", "AU", "New South Wales", "Sydney"},
	{"Brazil", "BR", "São Paulo", "São Paulo"},
	{"India", "IN", "Maharashtra", "Mumbai"},
}

var mastheads = []string{
	"Times", "Herald", "Post", "Chronicle", "Gazette", "Tribune", "Journal",
	"Observer", "Ledger", "Wire", "Insider", "Review", "Dispatch", "Signal",
}

var beats = []string{
	"Daily", "Tech", "Business", "Health", "Finance", "Culture", "Startup",
	"Green", "Sports", "Travel", "Legal", "Crypto",
}

var tagNames = []string{
	"Technology", "Finance", "Health & Wellness", "Startups", "Crypto/Web3",
	"Lifestyle", "Travel", "Sports", "B2B", "Künstliche Intelligenz",
	"<i>Luxury</i>", "Food", "Education", "Real Estate", "=Politics", "🌱 Climate",
}

// channelTypes are the types of spec 2.7 and an unlisted type. Frequent types are repeated.
var channelTypes = []string{
	"WEBSITE", "WEBSITE", "WEBSITE", "WEBSITE", "NEWSLETTER", "PHOTO_SOCIAL",
	"PROFESSIONAL_SOCIAL", "VIDEO_SHARING", "SHORT_VIDEO", "MICROBLOG",
	"PODCAST", "OTHER", "AUDIO_ROOM",
}

// placementTypes are the types of spec 2.7 and an unlisted type. Frequent types are repeated.
var placementTypes = []string{
	"FULL_FEATURE", "FULL_FEATURE", "PRESS_RELEASE", "PRESS_RELEASE",
	"MENTION", "QUOTE", "LISTICLE", "LISTICLE", "VIDEO_SPOTLIGHT",
}

// disclaimers are the records of GET /outlet-disclaimers. One has no description.
var disclaimers = []disclaimer{
	{"Sponsored", "Marked as sponsored content above the headline."},
	{"Partner Content", "Carries the line \"in partnership with\"."},
	{"None", ""},
	{"Advertorial", "<p>Labelled <em>Advertorial</em> in the footer.</p>"},
	{"Affiliate", "Links may pay the publisher."},
	{"Anzeige", "Als Anzeige gekennzeichnet."},
}

var productTypes = []productType{
	{"article", "ART", "Full feature"},
	{"press_release", "PR", "Press release"},
	{"social_post", "SOC", "Social post"},
	{"newsletter", "NWS", "Newsletter slot"},
	{"listicle", "LST", "Listicle entry"},
	{"interview", "INT", "Q&A interview"},
}

// requirements are JSON values: strings with their quotes, and null.
var requirements = []string{
	`"No gambling, CBD or adult topics. Two do-follow links at most. Images must be at least 1200x675 pixels and free of text."`,
	`"Draft in English, 600 to 900 words, third person. The editor may change the headline."`,
	`"<ul><li>Founder quote</li><li>Headshot</li><li>Company boilerplate</li></ul>"`,
	`"Requires an \"about\" paragraph.\nNo superlatives.\nNo price claims."`,
	`null`,
	`""`,
	`"Nur deutschsprachige Texte; Veröffentlichung nach redaktioneller Prüfung."`,
	`"Company must be older than one year \u2014 proof of registration on request."`,
}

// sentences are parts of descriptions: JSON text without quotes.
var sentences = []string{
	`A dedicated piece written by the editorial desk and published on the main site, with an author page, a permanent address and indexing by the major search engines. `,
	`The story stays online for at least twelve months and is shared once on every social account of the publication; reach differs by season. `,
	`Includes one round of revisions. Turnaround starts when the questionnaire is complete and the images have arrived. `,
	`Readers are mostly founders, investors and engineers between 25 and 54; about a third of them are outside the country. `,
	`<p>Featured in the <strong>weekly digest</strong> &amp; pinned to the section front for 24&nbsp;hours.</p> `,
	`The desk keeps the right to decline topics that do not fit. Declined orders are refunded in full. `,
	`Bullet points:\n- headline of up to 70 characters\n- two images\n- one video embed\n- \"as seen on\" badge\n`,
	`Sehr gefragt bei Gründern \ud83d\ude80 und im Mittelstand; Veröffentlichung werktags zwischen 8 und 16 Uhr. `,
	`Syndicated to partner sites where available, without a guarantee as to number, place or time of the copies. `,
	`Links are placed in the body, never in the footer. Anchor texts must be brand names or plain addresses. `,
}

// metadataShapes are all shapes of the metadata of orders.
var metadataShapes = []string{
	`null`, `{}`, `{"source":"partner-portal","utm":{"campaign":"q4","ids":[1,2.5,"3"]}}`,
	`[]`, `["a",1,null,{"b":false}]`, `"{\"nested\":\"json text\"}"`, `""`, `42`,
	`0.1`, `true`, `{"":"empty key","a.b":"dotted","emoji":"🎯"}`,
}

type person struct{ first, last string }

// people are writers, commenters and buyers. One has no last name.
var people = []person{
	{"Ana", "García Márquez"}, {"Bo", "Li"}, {"Chidi", "Okafor"},
	{"Dörte", "Müller-Lüdenscheidt"}, {"Eve", "O'Neil"}, {"佐藤", "花子"},
	{"Greta", ""}, {"Hassan", "al-Rashid"}, {"=cmd|' /C calc'!A0", "Smith"},
	{"Ivy", "\"The Pen\" Jones"},
}

func fullName(p person) string {
	if p.last == "" {
		return p.first
	}
	return p.first + " " + p.last
}

var companies = []string{
	"Northwind Robotics", "Blue Fjord Energy", "Kumo Analytics", "Acme & Söhne GmbH",
	"Tiny Giants, Inc.", "<Null> Labs", "Ōkami Games", "Vela Health", "Solstice \"Sun\" Foods",
	"Parallel Finance", "Harbor & Pine", "Quantum Lift 🛗",
}

var topics = []string{
	"Launch", "Series A", "Founder story", "Product update", "Year in review",
	"Market report", "Hiring push", "Expansion", "Award", "Opinion",
}

var remarks = []string{
	"Please use the new logo.", "Looks good to me 👍",
	"The second paragraph needs a source:\nhttps://example.com/report?a=1&b=2",
	"=IMPORTXML(\"http://example.com\")", "Can we move <b>publication</b> to Monday?",
	"Ça marche, merci !", "\"Quote\" is wrong, it was 'said' by Bo.", "…", "了解しました。",
}
