package main

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"placementsync/internal/testing/harness"
)

// TestTrialAnswersInTheWorkbench checks each answer in docs/guide/answers.md. It must have one command
// and one address of a workbench page, with the same query and parameters. The page /explore/questions
// must link to this query. TestTrialSamples runs the commands.
func TestTrialAnswersInTheWorkbench(t *testing.T) {
	harness.Long(t)
	site := exploreDemo(t)
	questionsPage := fetchText(t, site.url+"/explore/questions")
	answers := strings.Split(read(t, "../../docs/guide/answers.md"), "\n## ")[1:]
	const answerCount = 18
	if len(answers) != answerCount {
		t.Errorf("the guide has %d answers, want %d", len(answers), answerCount)
	}
	commandPattern, addressPattern := regexp.MustCompile(`(?m)^\$ (.+)$`), regexp.MustCompile("`(/explore/questions/[^`]+)`")
	for _, answer := range answers {
		title, _, _ := strings.Cut(answer, "\n")
		commands, addresses := commandPattern.FindAllStringSubmatch(answer, -1), addressPattern.FindAllStringSubmatch(answer, -1)
		if len(commands) != 1 || len(addresses) != 1 {
			t.Errorf("%s: got %d commands and %d addresses, want one each", title, len(commands), len(addresses))
			continue
		}
		page, err := url.Parse(addresses[0][1])
		harness.Must(t, err)
		pageParams := map[string]string{}
		for key := range page.Query() {
			pageParams[strings.TrimPrefix(key, "p.")] = page.Query().Get(key)
		}
		pageQuery := path.Base(page.Path)
		args := splitWords(commands[0][1], `"'`) // bin/placementsync query --config FILE NAME and flags
		commandQuery := args[4]
		commandParams := map[string]string{} // without "top", which the addresses do not contain
		for i, arg := range args {
			if param, value, ok := strings.Cut(arg, "="); ok && args[i-1] == "--param" && param != "top" {
				commandParams[param] = value
			}
		}
		if diff := cmp.Diff(commandParams, pageParams); diff != "" {
			t.Errorf("%s: the command and the page have different parameters (-command +page):\n%s", title, diff)
		}
		if commandQuery != pageQuery {
			t.Errorf("%s: the command runs the query %s and the page shows %s, want the same query", title, commandQuery, pageQuery)
		}
		if !strings.Contains(questionsPage, `href="/explore/questions/`+pageQuery+`"`) {
			t.Errorf("%s: the page of all questions has no link to %s", title, pageQuery)
		}
		if text := fetchText(t, site.url+addresses[0][1]); !strings.Contains(text, `>Run</button>`) {
			t.Errorf("%s: the page has no form", title)
		}
	}
}
