package explore

import (
	_ "embed"

	"placementsync/internal/warehouse"
)

var (
	//go:embed sql/record.sql
	recordSQL warehouse.SQLFile // what the page of any record asks
	//go:embed sql/listing.sql
	listingSQL warehouse.SQLFile
	//go:embed sql/outlet.sql
	outletSQL warehouse.SQLFile
	//go:embed sql/order.sql
	orderSQL warehouse.SQLFile
	//go:embed sql/campaign.sql
	campaignSQL warehouse.SQLFile
	//go:embed sql/article.sql
	articleSQL warehouse.SQLFile
	//go:embed sql/profile.sql
	profileSQL warehouse.SQLFile
)
