package explore

import (
	_ "embed"

	"placementsync/internal/sqltext"
)

var (
	//go:embed sql/record.sql
	recordSQL sqltext.File
	//go:embed sql/catalog.sql
	catalogSQL sqltext.File
	//go:embed sql/listing.sql
	listingSQL sqltext.File
	//go:embed sql/outlet.sql
	outletSQL sqltext.File
	//go:embed sql/order.sql
	orderSQL sqltext.File
	//go:embed sql/campaign.sql
	campaignSQL sqltext.File
	//go:embed sql/article.sql
	articleSQL sqltext.File
	//go:embed sql/profile.sql
	profileSQL sqltext.File
)

// namesPlaceholder returns the placeholder {names} with its SQL, which reads the names of outlets from
// all tables that contain them.
func namesPlaceholder() sqltext.Values {
	return sqltext.Values{"names": recordSQL.Render("outlet_names", nil)}
}
