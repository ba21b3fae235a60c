package explore

import (
	_ "embed"

	"placementsync/internal/sqltext"
)

var (
	//go:embed sql/record.sql
	recordSQL sqltext.File // for all kinds of records
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
