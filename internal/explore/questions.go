package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"placementsync/internal/html"
	"placementsync/internal/humanize"
	"placementsync/internal/query"
)

type subjectView struct {
	Subject string
	Queries []queryItem
}

type queryItem struct {
	Title, About, Link string
	UserDefined        bool
}

func showQuestions(v *visit) (reply, error) {
	var subjects []subjectView
	library, err := v.explorer.cfg.Queries()
	search := strings.TrimSpace(v.params.Get(searchKey))
	for _, q := range query.FilterByWords(library.List(), strings.Fields(search)) {
		i := slices.IndexFunc(subjects, func(s subjectView) bool { return s.Subject == query.LabelOf(q.Subject) })
		if i < 0 {
			i = len(subjects)
			subjects = append(subjects, subjectView{Subject: query.LabelOf(q.Subject)})
		}
		s := &subjects[i]
		about, _ := cutSentence(q.About)
		s.Queries = append(s.Queries, queryItem{Title: q.Title, About: about, Link: v.links().keepAsOf(linkTo("questions", q.Name)), UserDefined: q.IsUserDefined()})
	}
	slices.SortStableFunc(subjects, func(a, b subjectView) int { return strings.Compare(a.Subject, b.Subject) })
	var problems []string // the mistakes in the user's query files
	if filesErr, ok := errors.AsType[*query.FilesError](err); ok {
		problems, err = filesErr.Problems, nil
	}
	return newPage("Questions", "questions", map[string]any{
		"Subjects": subjects, "Problems": problems, "Search": search, "All": v.links().keepAsOf(rootPath + "/questions"),
	}), err
}

type questionView struct {
	query.Query
	Lead    string       // the first sentence of About
	Rest    string       // the other sentences of About, and Grain as a sentence
	Fields  []*formField // parameters
	Top     *formField   // the parameter top, which is seldom changed; nil if there is none
	Presets []preset     // of the dates
	Problem string       // the reason why there is no result
	Table   *tableView
	// ResolvedNames has a sentence for each given name that stands for a longer one.
	ResolvedNames []string
	// UnknownValues lists parameter values that may be the reason for a result without rows.
	UnknownValues []string
	Chart         *html.Chart // nil if it is not drawn, or drawn in the table
	NoChartReason string
	Command       string
	AsOf          asOfView
	WatchLines    string // empty if there is no result
	// SaveToken is the token of the form that saves the question, and OwnName the proposed name. They are empty if
	// the question cannot be saved.
	SaveToken, OwnName string
}

// cutSentence returns the first sentence of a text, and the other sentences.
func cutSentence(text string) (first, rest string) {
	first, rest, hasMore := strings.Cut(text, ". ")
	if hasMore {
		first += "."
	}
	return first, rest
}

func sentenceOf(text string) string {
	if text == "" {
		return ""
	}
	return humanize.UpperFirst(strings.TrimSuffix(text, ".")) + "."
}

type question struct {
	*visit
	values map[string]string
	view   questionView
}

func showQuestion(v *visit) (reply, error) {
	q, err := v.findQuestion()
	if err != nil {
		return nil, err
	}
	lead, rest := cutSentence(q.view.About)
	q.view.Lead, q.view.Rest = lead, strings.TrimSpace(rest+" "+sentenceOf(q.view.Grain))
	if q.view.AsOf, err = v.snapshotForm(); err != nil {
		return nil, err
	}
	if err := q.buildForm(); err != nil {
		return nil, err
	}
	q.view.Command = q.commandLine()
	status, err := q.runForm()
	if err != nil {
		return nil, err
	}
	if q.view.Problem == "" && v.explorer.cfg.QueriesDir() != "" {
		q.view.SaveToken, q.view.OwnName = v.explorer.formToken, "my_"+q.view.Name
	}
	var scripts []string
	if q.view.Chart != nil {
		scripts = html.ChartScripts()
	}
	p := newPage(q.view.Title, "question", q.view, scripts...)
	p.Status = status
	return p, nil
}

func sendResult(v *visit) (reply, error) {
	q, err := v.findQuestion()
	if err != nil {
		return nil, err
	}
	t, err := q.openTable(q.view.Query, q.values, "")
	switch {
	case err == nil:
		return t.newDownload(q.view.Title, q.view.Name), nil
	case errors.As(err, new(*statusError)):
		return nil, err
	}
	// The query cannot be a subquery, so its result cannot be filtered or sorted.
	return download{Query: q.view.Query, Values: q.values, Title: q.view.Title, Name: q.view.Name, Format: v.format()}, nil
}

func (v *visit) findQuestion() (*question, error) {
	name := v.PathValue("name")
	library, err := v.explorer.cfg.Queries()
	namedQuery, ok := library.Find(name)
	if err != nil && !errors.As(err, new(*query.FilesError)) {
		return nil, err
	}
	if !ok {
		return nil, &statusError{http.StatusNotFound, fmt.Sprintf("no query is named %q", name), "The page Questions lists all queries."}
	}
	namedQuery.SQL = strings.TrimSpace(namedQuery.SQL)
	q := &question{visit: v, view: questionView{Query: namedQuery}, values: map[string]string{}}
	address := v.URL.Query()
	for _, p := range namedQuery.Params {
		if address.Has(p.Name) && !slices.Contains(v.route.keys, p.Name) {
			return nil, usageErr(fmt.Sprintf("the address has the parameter %q without its prefix", p.Name), "Write "+paramKey+p.Name+" in it.")
		}
		text := strings.TrimSpace(v.params.Get(paramKey + p.Name))
		switch {
		case text != "":
			q.values[p.Name] = text
		case v.params.Has(paramKey+p.Name) && p.TakesNull():
			q.values[p.Name] = "NULL"
		}
	}
	for key := range v.params {
		name, isParam := strings.CutPrefix(key, paramKey)
		if isParam && !slices.ContainsFunc(namedQuery.Params, func(p query.Param) bool { return p.Name == name }) {
			q.values[name] = v.params.Get(key) // running the query reports the unknown parameter
		}
	}
	var notes []string
	if q.values, notes, err = v.db.ResolveNames(v.Context(), q.view.Query, q.values); err != nil {
		return nil, err
	}
	q.view.ResolvedNames = notes
	return q, nil
}

// runForm adds the result of the query, or a problem that the user can solve, to the view.
func (q *question) runForm() (status int, err error) {
	for _, p := range q.view.Params {
		if _, given := q.values[p.Name]; p.Default == "" && !given {
			q.view.Problem = "Fill in " + query.LabelOf(p.Name) + ", which has no default."
			return http.StatusOK, nil
		}
	}
	err = q.addResult()
	wrongUse, isWrongUse := errors.AsType[*query.UsageError](err)
	switch {
	case err == nil:
		return http.StatusOK, nil
	case errors.As(err, new(*statusError)):
		return 0, err
	case isWrongUse:
		q.view.Problem = startSentence(wrongUse.Problem)
		if len(wrongUse.Params) > 1 { // all parameters, because a name is unknown
			names := make([]string, len(wrongUse.Params))
			for i, p := range wrongUse.Params {
				names[i] = p.Name
			}
			q.view.Problem += ". The parameters are " + strings.Join(names, ", ") + "."
		}
		fields := q.view.Fields
		if q.view.Top != nil {
			fields = append(fields, q.view.Top)
		}
		for _, f := range fields {
			_, problem, isInvalid := strings.Cut(wrongUse.Problem, fmt.Sprintf("parameter %q", strings.TrimPrefix(f.Key, paramKey)))
			if isInvalid {
				f.Problem, q.view.Problem = humanize.UpperFirst(strings.TrimLeft(problem, ": ")), "The query was not run: a parameter is invalid."
			}
		}
		return http.StatusBadRequest, nil
	case errors.Is(context.Cause(q.Context()), errTooSlow):
		q.view.Problem = "The query took too long and was stopped. Narrow the parameters, download the result as CSV, or use the command line."
		return http.StatusServiceUnavailable, nil
	case query.IsMissing(err) && !q.view.IsUserDefined():
		q.view.Problem = "This snapshot lacks a table or column that the query reads. The next night adds it."
		return http.StatusOK, nil
	case q.view.IsUserDefined():
		q.view.Problem = "The query failed: " + err.Error()
		return http.StatusBadRequest, nil
	}
	return 0, err
}

// addResult adds the table and the chart to the view. The result of a statement that cannot be a subquery, such as
// EXPLAIN, cannot be sorted or filtered.
func (q *question) addResult() error {
	t, err := q.openTable(q.view.Query, q.values, "")
	isSubquery := err == nil
	isWrongAddress := errors.As(err, new(*statusError))
	if !isSubquery && (isWrongAddress || !q.view.IsUserDefined()) {
		return err
	}
	var result query.Result
	if isSubquery {
		result, err = q.showTable(t)
	} else {
		result, err = q.showPlainTable()
	}
	if err != nil {
		return err
	}
	q.addWatch(result.Columns)
	isFiltered := len(q.view.Table.Chips) > 0
	rowsBeforeFilters := result.Total
	if isFiltered { // the number before the filters is unknown
		rowsBeforeFilters = math.MaxInt64
	}
	q.view.Table.CutNote = q.view.DescribeCut(q.values, rowsBeforeFilters)
	if result.Total == 0 && !isFiltered {
		q.view.UnknownValues, err = q.db.DescribeUnknownValues(q.Context(), q.view.Query, q.values)
		return err
	}
	charted := result
	hasMorePages := result.Total > int64(len(result.Rows))
	if isSubquery && hasMorePages && result.Total <= maxRows { // a chart shows the rows of all pages
		allRows, values := t.downloadQuery()
		if charted, err = q.run(allRows, values); err != nil {
			return err
		}
	}
	q.addChart(charted, result.Rows)
	return nil
}

// showTable adds a page of the table to the view, and returns its rows.
func (q *question) showTable(t *table) (query.Result, error) {
	for i := range t.roles {
		r := &t.roles[i]
		if r.Name == "value" && r.Type == "VARCHAR" && q.groupedBy() != "" { // of the column that "by" chooses
			r.label, r.isEnum = query.LabelOf(q.groupedBy()), true
		}
		if r.idColumn == "group_id" {
			r.kind, r.label = q.groupKind(), query.LabelOf(q.groupedBy())
			r.isEnum = q.groupedBy() == "channel_type"
		}
	}
	view, rows, err := t.show(q.view.Title, linkTo("questions", q.view.Name)+"/")
	q.view.Table = view
	return rows.Result, err
}

// showPlainTable adds a table without pages, filters and sorting to the view.
func (q *question) showPlainTable() (query.Result, error) {
	result, err := q.db.Ask(q.Context(), q.view.Query, q.values, maxRows)
	if err != nil {
		return result, err
	}
	q.view.Table = &tableView{
		Table: buildTable(q.view.Title, rolesOf(result.Columns), result, q.links()),
		Count: formatRowCount(result.Total), SourceNote: query.DescribeSources(result.Sources),
	}
	return result, nil
}

// groupedBy returns the value of the parameter "by".
func (q *question) groupedBy() string {
	p, _ := q.view.Param("by")
	return cmp.Or(q.values["by"], p.Default)
}

// groupKind returns the kind of record by which the rows are grouped. It is empty for months.
func (q *question) groupKind() string {
	switch by := q.groupedBy(); by {
	case "outlet", "profile", "writer":
		return by
	case "product":
		return "listing"
	}
	return ""
}

func (q *question) commandLine() string {
	words := []string{q.explorer.cfg.Program}
	if asOf := q.links().AsOf; asOf != "" {
		words = append(words, "--as-of "+html.ShellWord(asOf))
	}
	words = append(words, html.ShellWord(q.view.Name))
	for _, p := range q.view.Params {
		if value, given := q.values[p.Name]; given {
			words = append(words, "--param "+html.ShellWord(p.Name+"="+value))
		}
	}
	return strings.Join(words, " ")
}
