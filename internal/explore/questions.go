package explore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"placementsync/internal/page"
	"placementsync/internal/plural"
	"placementsync/internal/query"
)

// subjectView is the named queries of one subject.
type subjectView struct {
	Subject string
	Queries []queryEntry
}

type queryEntry struct {
	Title, About, Link string
	// Own ones are files of the user.
	Own bool
}

// questionsView is the list of the named queries.
type questionsView struct {
	Subjects []subjectView
	// Problems say which files of the user were left out, and why.
	Problems []string
}

// showQuestions lists the named queries by subject.
func showQuestions(v *visit) (reply, error) {
	var subjects []subjectView
	at := map[string]int{}
	library, err := v.pool.cfg.Queries()
	for _, q := range library.List() {
		if _, known := at[q.Subject]; !known {
			at[q.Subject] = len(subjects)
			subjects = append(subjects, subjectView{Subject: labelOf(q.Subject)})
		}
		s := &subjects[at[q.Subject]]
		s.Queries = append(s.Queries, queryEntry{Title: q.Title, About: firstSentence(q.About), Link: v.links().linkQuestion(q.Name), Own: q.IsOwn()})
	}
	slices.SortStableFunc(subjects, func(a, b subjectView) int { return strings.Compare(a.Subject, b.Subject) })
	view := questionsView{Subjects: subjects}
	if faulty, ok := errors.AsType[*query.FilesError](err); ok {
		view.Problems, err = faulty.Problems, nil
	}
	return htmlPage{Heading: "Questions", Template: "questions", Data: view}, err
}

func firstSentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// questionView is the page of one named query.
type questionView struct {
	Name, Title, About, Grain, SQL string
	Own                            bool
	Fields                         []formField
	// Problem says why there is no answer.
	Problem string
	Table   *page.Table
	// Total says how many rows the answer has, and how many of them are here.
	Total string
	// Empty lines say why there may be no rows.
	Empty   []string
	Sources string
	Chart   *page.Chart
	// Choices are the columns that a chart can show, the first chosen.
	Choices []option
	// NoChart says why there is none where one could be.
	NoChart      string
	CSV, Parquet string
	Command      string
	AsOf         asOfView
}

// sentenceOf makes a sentence of what a header says.
func sentenceOf(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

// question is one request of a named query.
type question struct {
	*visit
	query  query.Query
	values map[string]string
	view   questionView
}

// chartKey chooses the column that the chart shows.
const chartKey = "chart"

// showQuestion answers a named query. What is wrong with a parameter is said at the form.
func showQuestion(v *visit) (reply, error) {
	q, err := v.findQuestion()
	if err != nil {
		return nil, err
	}
	q.view = questionView{Name: q.query.Name, Title: q.query.Title, About: q.query.About, Grain: sentenceOf(q.query.Grain), SQL: strings.TrimSpace(q.query.SQL), Own: q.query.IsOwn()}
	if q.view.AsOf, err = v.listSnapshots(); err != nil {
		return nil, err
	}
	if q.view.Fields, err = q.buildForm(); err != nil {
		return nil, err
	}
	q.view.CSV, q.view.Parquet, q.view.Command = q.downloadLink(query.CSV), q.downloadLink(query.Parquet), q.commandLine()
	status, err := q.answerForm()
	if err != nil {
		return nil, err
	}
	answer := htmlPage{Heading: q.query.Title, Template: "question", Data: q.view, Status: status}
	if q.view.Chart != nil {
		answer.More = page.ChartScripts()
	}
	return answer, nil
}

// sendAnswer is the whole answer as a file.
func sendAnswer(v *visit) (reply, error) {
	q, err := v.findQuestion()
	if err != nil {
		return nil, err
	}
	return download{Query: q.query, Values: q.values, Name: q.query.Name, Format: query.Format(v.PathValue("format"))}, nil
}

// findQuestion reads the name and the parameters of an address.
func (v *visit) findQuestion() (*question, error) {
	name := v.PathValue("name")
	library, err := v.pool.cfg.Queries()
	found, ok := library.Find(name)
	if err != nil && !errors.As(err, new(*query.FilesError)) {
		return nil, err
	}
	if !ok {
		return nil, &statusError{http.StatusNotFound, fmt.Sprintf("find no named query %q", name), "Questions lists them all."}
	}
	q := &question{visit: v, query: found, values: map[string]string{}}
	asked := v.asked
	for _, p := range found.Params {
		text := strings.TrimSpace(asked.Get(paramKey + p.Name))
		switch {
		case text != "":
			q.values[p.Name] = text
		case asked.Has(paramKey+p.Name) && p.TakesNull():
			q.values[p.Name] = "NULL"
		}
	}
	for key := range asked {
		name, isParam := strings.CutPrefix(key, paramKey)
		if isParam && !slices.ContainsFunc(found.Params, func(p query.Param) bool { return p.Name == name }) {
			q.values[name] = asked.Get(key) // the query refuses it by its name
		}
	}
	return q, nil
}

// paramKey begins the keys of an address that hold parameters.
const paramKey = "p."

// answerForm runs the query and shows its answer, or why there is none; status is that of
// HTTP.
func (q *question) answerForm() (status int, err error) {
	for _, p := range q.query.Params {
		if _, given := q.values[p.Name]; p.Default == "" && !given {
			q.view.Problem = "Fill in the form first: " + labelOf(p.Name) + " has no default."
			return http.StatusOK, nil
		}
	}
	a, err := q.db.Ask(q.Context(), q.query, q.values, mostRecords)
	misuse, misused := errors.AsType[*query.UsageError](err)
	switch {
	case err == nil:
		return http.StatusOK, q.addAnswer(a)
	case misused:
		q.placeProblem(misuse.Problem)
		return http.StatusBadRequest, nil
	case errors.Is(context.Cause(q.Context()), errTooSlow):
		q.view.Problem = "The answer took too long and was stopped. Narrow the parameters, download it as CSV, or ask on the command line."
		return http.StatusServiceUnavailable, nil
	case query.IsMissing(err) && !q.view.Own:
		q.view.Problem = "This snapshot lacks a table or column that the question reads; the next night adds it."
		return http.StatusOK, nil
	case q.view.Own:
		q.view.Problem = "The query cannot be answered: " + err.Error()
		return http.StatusBadRequest, nil
	}
	return 0, err
}

// addAnswer shows the answer, what stands behind it and its chart.
func (q *question) addAnswer(a query.Result) error {
	names := map[string]bool{}
	for _, c := range a.Columns {
		if names[c.Name] {
			q.view.Problem = fmt.Sprintf("The answer has two columns of the name %q: a page cannot tell them apart. The CSV has both.", c.Name)
			return nil
		}
		names[c.Name] = true
	}
	q.view.Total = plural.Number(a.Total) + " rows"
	if a.Total == 1 {
		q.view.Total = "1 row"
	}
	q.view.Table = buildTable(q.query.Title, a, q.links(), false)
	if q.view.Table.More != "" {
		q.view.Table.More = ""
		q.view.Total += "; the table has the first " + plural.Number(len(a.Rows)) + ", CSV and Parquet have all"
	}
	q.view.Sources = query.DescribeSources(a.Sources)
	if len(a.Rows) == 0 {
		unknown, err := q.db.UnknownValues(q.Context(), q.query, q.values)
		for _, u := range unknown {
			q.view.Empty = append(q.view.Empty, u.String())
		}
		return err
	}
	q.addChart(a, q.asked.Get(chartKey))
	return nil
}

// placeProblem shows what is wrong at the field that it is about.
func (q *question) placeProblem(problem string) {
	for i := range q.view.Fields {
		f := &q.view.Fields[i]
		if strings.Contains(problem, fmt.Sprintf("parameter %q", f.Param)) {
			f.Problem = problem
			q.view.Problem = "There is no answer: a parameter is wrong."
			return
		}
	}
	q.view.Problem = problem
}

// downloadLink is the address of the whole answer as a file.
func (q *question) downloadLink(format query.Format) string {
	keys := url.Values{}
	for name, value := range q.values {
		keys.Set(paramKey+name, value)
	}
	if asOf := q.links().asOf; asOf != "" {
		keys.Set(asOfKey, asOf)
	}
	address := questionLink(q.query.Name) + "/" + string(format)
	if len(keys) > 0 {
		address += "?" + keys.Encode()
	}
	return address
}

// commandLine asks the same on the command line.
func (q *question) commandLine() string {
	words := []string{q.program}
	if asOf := q.links().asOf; asOf != "" {
		words = append(words, "--as-of "+page.ShellWord(asOf))
	}
	words = append(words, page.ShellWord(q.query.Name))
	for _, p := range q.query.Params {
		if value, given := q.values[p.Name]; given {
			words = append(words, "--param "+page.ShellWord(p.Name+"="+value))
		}
	}
	return strings.Join(words, " ")
}
