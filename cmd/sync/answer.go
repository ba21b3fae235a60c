package main

import (
	"context"

	"github.com/spf13/cobra"

	"placementsync/internal/query"
)

// answerOptions are the flags of commands that answer with rows.
type answerOptions struct {
	format string
	out    string
	rows   int
	// withGrades is a flag of query alone.
	withGrades bool
}

func (o *answerOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "table", "table (on a pipe: plain aligned text), csv, json, jsonl, markdown or parquet (with -o)")
	f.StringVarP(&o.out, "output", "o", "", "write to a `file` atomically")
	f.IntVar(&o.rows, "rows", 0, "most rows that a terminal shows; 0: 10,000")
}

// writeAnswer runs a query and sends its answer where the flags say.
func (o answerOptions) writeAnswer(ctx context.Context, g *globals, db *query.DB, q query.Query, values map[string]string) error {
	format, err := query.ParseFormat(o.format)
	if err != nil {
		return err
	}
	if o.out != "" {
		_, err := db.Save(ctx, q, values, format, o.out)
		return err
	}
	w, err := query.NewWriter(format, g.stdout, query.Screen{Terminal: g.width > 0, Width: g.width, Rows: o.rows})
	if err != nil {
		return err
	}
	_, err = db.Run(ctx, q, values, w)
	return err
}
