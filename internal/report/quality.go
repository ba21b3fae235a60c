package report

import "placementsync/internal/html"

var qualitySection = section{
	id: "quality", title: "Data quality",
	lead: "Completeness of the streams, age of the data, and values that do not fit the schema.",
	panels: []panel{
		{
			id: "grades", title: "Grades of the streams", wide: true,
			about: "Proven means that no row is missing: the grade is exact, repaired (the service changed during the read) or bounded (unchanged records were not read again for a few nights). Not proven means that rows may be missing. Carried means that the rows are from an earlier night. Not read means that there are no rows.",
			query: "stream_grades", rowLimit: 60,
			fields: []field{
				{column: "stream", label: "Stream"}, {column: "grade", label: "Grade", as: asGrade}, {column: "rows", label: "Rows", as: asNumber},
				{column: "fetched", label: "Ids read", as: asNumber}, {column: "carried", label: "Ids not read again", as: asNumber},
				{column: "failed", label: "Failed", as: asNumber}, {column: "rows_old", label: "Rows of earlier runs", as: asNumber},
				{column: "oldest_days", label: "Oldest row", as: asDays}, {column: "reason", label: "Evidence"},
			},
			empty: "This snapshot has no grades.",
		},
		{
			id: "checks", title: "Checks", wide: true,
			about: "The results of the checks that ran on this snapshot before it was published. Failed checks are first.",
			query: "check_results", rowLimit: 60,
			fields: []field{
				{column: "check_name", label: "Check"}, {column: "severity", label: "Severity"}, {column: "outcome", label: "Outcome", as: asTag},
				{column: "rows", label: "Rows", as: asNumber}, {column: "reason", label: "Reason"}, {column: "sample", label: "First rows"},
			},
			empty: "No check ran on this snapshot.",
		},
		{
			id: "nights", title: "Changes by night", wide: true,
			about: "New, changed and deleted rows of all tables. The table has the newest night first.",
			query: "snapshots", rowLimit: 30,
			plot: &plot{kind: html.Bars, stacked: true, unit: "rows", category: "snapshot_at", limit: 30,
				newestFirst: true,
				// All rows are new in the first night, so that its bar would be far longer than the others.
				skipIfNull: "hours_since_previous",
				measures: []measure{
					{column: "rows_new", name: "new", colour: green}, {column: "rows_changed", name: "changed", colour: blue},
					{column: "rows_gone", name: "deleted", colour: pink, below: true}}},
			fields: []field{
				{column: "snapshot_at", label: "Snapshot", as: asMoment, sub: "run_id"}, {column: "outcome", label: "Outcome", as: asTag},
				{column: "rows", label: "Rows", as: asNumber}, {column: "rows_new", label: "New", as: asNumber},
				{column: "rows_changed", label: "Changed", as: asNumber}, {column: "rows_gone", label: "Deleted", as: asNumber},
				{column: "requests", label: "Requests", as: asNumber}, {column: "minutes", label: "Minutes", as: asNumber},
			},
			empty: "The warehouse has no snapshot.",
		},
		{
			id: "freshness", title: "Freshness",
			about: "The time when each stream was last read, and the time when it was last proven.",
			query: "freshness", rowLimit: 60,
			fields: []field{
				{column: "stream", label: "Stream"}, {column: "last_read_at", label: "Last read", as: asMoment},
				{column: "last_proven_at", label: "Last proven", as: asMoment}, {column: "runs_behind", label: "Runs behind", as: asNumber},
			},
			empty: "The snapshots have no grades.",
		},
		{
			id: "rejects", wide: true, title: "Values that did not fit",
			about: "The values are stored unchanged in meta.rejects. Their columns are NULL.",
			query: "rejects_by_column", rowLimit: tableRows,
			fields: []field{
				{column: "table_name", label: "Table"}, {column: "column_name", label: "Column"}, {column: "reason", label: "Reason"},
				{column: "rejects", label: "Rejects", as: asNumber}, {column: "sample", label: "Example"},
			},
			empty: "All values of this night fitted their columns.",
		},
		{
			id: "drift", wide: true, title: "Unknown fields and values",
			about: "Unknown fields are stored in the column extra. Fields and values are counted over all runs. New ones are first.",
			query: "schema_drift", rowLimit: 40,
			fields: []field{
				{column: "table_name", label: "Table"}, {column: "path", label: "Field or value"}, {column: "kind", label: "Kind"},
				{column: "is_new", label: "New", as: asYesNo}, {column: "count", label: "Records", as: asNumber}, {column: "sample", label: "Example"},
			},
			empty: "The service sent no unknown fields or values.",
		},
	},
}
