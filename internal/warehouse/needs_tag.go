//go:build !duckdb_arrow

package warehouse

// Without the tag duckdb_arrow the driver has no Arrow interface, and packages that import this
// package would not compile. This file fails first, with an identifier that names the tag.
const _ = build_with_tags_duckdb_arrow__see_docs_development_md
