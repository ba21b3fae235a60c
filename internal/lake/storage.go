package lake

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	icebergio "github.com/apache/iceberg-go/io"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // object storage behind s3://
	"github.com/apache/iceberg-go/utils"
)

// withObjectStorage returns a context with which iceberg-go uses the keys, timeouts and retries of
// cfg.S3 for object storage. It returns ctx for a lake in a folder.
func withObjectStorage(ctx context.Context, cfg Config) (context.Context, error) {
	if !strings.HasPrefix(cfg.Warehouse, "s3://") && cfg.Catalog != RESTful {
		return ctx, nil
	}
	aws, err := cfg.S3.AWS(ctx)
	if err != nil {
		if cfg.Catalog == RESTful { // the server may send keys for each table
			return ctx, nil
		}
		return ctx, fmt.Errorf("open %s: %w", cfg.Warehouse, err)
	}
	return utils.WithAwsConfig(ctx, &aws), nil
}

// storageProperties returns the settings of cfg.S3 as properties of iceberg-go. Properties that a
// REST server sends for a table override them.
func storageProperties(cfg Config) iceberg.Properties {
	p := iceberg.Properties{icebergio.S3ForceVirtualAddressing: strconv.FormatBool(!cfg.S3.PathStyle)}
	if cfg.S3.Endpoint != "" {
		p[icebergio.S3EndpointURL] = cfg.S3.Endpoint
	}
	if cfg.S3.Region != "" {
		p[icebergio.S3Region] = cfg.S3.Region
	}
	return p
}
