package explore

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"placementsync/internal/query"
)

// Fields of the form that saves a question.
const (
	ownNameKey  = "name"
	ownTitleKey = "title"
)

// serveSave saves the question of a page, with the parameters of the page, as a question of the user.
func (e *Explorer) serveSave(w http.ResponseWriter, req *http.Request) {
	if e.acceptForm(w, req, "the question was not saved", "Open the page of the question again, and save it there.") {
		e.serve(w, req, route{path: "/questions/{name}", tab: "Questions", show: saveQuestion, keys: []string{ownNameKey, ownTitleKey, paramKey}})
	}
}

func saveQuestion(v *visit) (reply, error) {
	notSaved := func(problem, advice string) error {
		return &statusError{http.StatusUnprocessableEntity, "the question was not saved: " + problem, advice}
	}
	q, err := v.findQuestion()
	if err != nil {
		return nil, err
	}
	dir := v.explorer.cfg.QueriesDir()
	if dir == "" {
		return nil, notSaved("the configuration has no folder for questions", "Set queries.dir in the configuration.")
	}
	library, err := v.explorer.cfg.Queries()
	if err != nil && !errors.As(err, new(*query.FilesError)) {
		return nil, err
	}
	own := query.Copy{Name: strings.TrimSpace(v.params.Get(ownNameKey)), Title: strings.TrimSpace(v.params.Get(ownTitleKey)), Values: q.values}
	err = library.SaveCopy(dir, q.view.Query, own)
	wrongUse, isWrongUse := errors.AsType[*query.UsageError](err)
	switch {
	case isWrongUse:
		return nil, notSaved(wrongUse.Problem, "Go back and change the form.")
	case err != nil:
		return nil, notSaved(err.Error(), fmt.Sprintf("The user of the program needs the right to write to %s (queries.dir).", dir))
	}
	return redirect(v.links().keepAsOf(linkTo("questions", own.Name))), nil
}

// redirect sends the browser to an address.
type redirect string

func (to redirect) send(w http.ResponseWriter, v *visit) error {
	http.Redirect(w, v.Request, string(to), http.StatusSeeOther)
	return nil
}

// addWatch adds the lines of the configuration that watch the question. Columns with numbers, such as the days of a
// delay, and with the time of the last event do not identify a row: they change from night to night.
func (q *question) addWatch(columns []query.Column) {
	var key []string
	for _, c := range columns {
		if !c.Numeric && !c.HasWord("last") {
			key = append(key, c.Name)
		}
	}
	q.view.WatchLines = q.explorer.cfg.WatchLines(q.view.Name, q.values, key)
}
