package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/query"
)

// listedQuery is a query in a list. The list of all queries has only the first three fields.
type listedQuery struct {
	Subject string `json:"subject"`
	Name    string `json:"name"`
	Title   string `json:"title"`
	Row     string `json:"row,omitempty"`
	About   string `json:"about,omitempty"`
	// Parameters is the JSON Schema of the argument "parameters" of the tool "run_query".
	Parameters map[string]any `json:"parameters,omitempty"`
}

func (s *server) listQueries(ctx context.Context, arguments struct {
	Subject string `json:"subject"`
	Name    string `json:"name"`
}) (any, error) {
	library, err := s.cfg.Queries()
	if err != nil {
		return nil, err
	}
	queries := library.List()
	if arguments.Name != "" {
		q, err := s.findQuery(arguments.Name)
		if err != nil {
			return nil, err
		}
		queries = []query.Query{q}
	}
	var list struct {
		Queries []listedQuery `json:"queries"`
	}
	var subjects []string
	for _, q := range queries {
		listed := listedQuery{Subject: q.Subject, Name: q.Name, Title: q.Title}
		subjects = append(subjects, listed.Subject)
		if arguments.Subject != "" && !strings.EqualFold(arguments.Subject, listed.Subject) {
			continue
		}
		if arguments.Subject != "" || arguments.Name != "" {
			listed.Row, listed.About, listed.Parameters = q.Grain, q.About, parameterSchema(q.Params)
		}
		list.Queries = append(list.Queries, listed)
	}
	if len(list.Queries) == 0 {
		slices.Sort(subjects)
		return nil, fmt.Errorf("no query has the subject %q; subjects: %s", arguments.Subject, strings.Join(slices.Compact(subjects), ", "))
	}
	slices.SortStableFunc(list.Queries, func(a, b listedQuery) int { return strings.Compare(a.Subject, b.Subject) })
	if arguments.Name != "" {
		s.addExamples(ctx, queries[0].Params, list.Queries[0].Parameters)
	}
	return list, nil
}

// addExamples adds values from the data to the schema of parameters, which is valid without them too.
func (s *server) addExamples(ctx context.Context, params []query.Param, schema map[string]any) {
	const maxExamples = 50
	params = slices.DeleteFunc(slices.Clone(params), func(p query.Param) bool { return p.Values == "" })
	if len(params) == 0 {
		return
	}
	properties := schema["properties"].(map[string]any)
	err := s.open(ctx, queryArguments{}, func(db *query.DB) error {
		for _, p := range params {
			values, more, err := db.ParamValues(ctx, p, maxExamples)
			if err != nil {
				return err
			}
			prop := properties[p.Name].(map[string]any)
			prop["examples"] = values
			if more {
				prop["description"] = fmt.Sprintf("%s (the examples are the first %d values)", p.About, maxExamples)
			}
		}
		return nil
	})
	if err != nil {
		s.cfg.Log.Warn("examples of parameters not read", "error", err)
	}
}

func parameterSchema(params []query.Param) map[string]any {
	properties := map[string]any{}
	required := []string{}
	for _, p := range params {
		prop := property(jsonType(p.Type), p.About)
		if choices := p.Choices(); len(choices) > 0 && p.Type != "BOOLEAN" {
			enum := []any{}
			for _, c := range choices {
				enum = append(enum, c)
			}
			if p.TakesNull() {
				enum = append(enum, nil)
			}
			prop["enum"] = enum
		}
		if p.TakesNull() {
			prop["type"] = []string{jsonType(p.Type), "null"}
		}
		switch form := formOf(p.Type); {
		case p.Type == "COUNT":
			prop["minimum"] = 0
		case form != "":
			prop["description"] = fmt.Sprintf("%s (%s)", p.About, form)
		}
		if p.Default == "" {
			required = append(required, p.Name)
		} else {
			prop["default"] = defaultValue(p)
		}
		properties[p.Name] = prop
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

func jsonType(typ string) string {
	switch typ {
	case "BIGINT", "COUNT":
		return "integer"
	case "BOOLEAN":
		return "boolean"
	}
	return "string"
}

// formOf describes how a value is written as a string. It returns "" for a type that JSON has.
func formOf(typ string) string {
	switch typ {
	case "DATE":
		return "a date such as 2026-11-01, a month such as 2026-11 (its first day), or snapshot-7d for seven days before the snapshot"
	case "TIMESTAMPTZ":
		return "a time such as 2026-11-01T02:00:00Z"
	case "TIMEZONE":
		return "a time zone such as Europe/Berlin, or schedule.timezone for the time zone of the configuration"
	case "STATUSES":
		return "a list of statuses such as cancelled,refunded, or the default for the list of the configuration"
	case "DECIMAL":
		return "a number such as 12.50"
	}
	return ""
}

func defaultValue(p query.Param) any {
	if p.Default == "NULL" {
		return nil
	}
	switch jsonType(p.Type) {
	case "integer":
		return json.Number(p.Default)
	case "boolean":
		return p.Default == "true" || p.Default == "yes"
	}
	return p.Default
}
