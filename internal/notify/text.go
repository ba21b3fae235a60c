package notify

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"placementsync/internal/humanize"
)

// text returns the value of Text. The lines are short enough for a telephone.
func (a Alert) text(event, effect string) string {
	const maxEventChars, maxSampleChars, maxAdviceChars = 300, 300, 300
	lines := []string{"placementsync: " + sanitizeText(event, maxEventChars)}
	const maxChecks = 5
	for i, c := range a.Checks {
		if i == maxChecks {
			lines = append(lines, "- and "+humanize.Count(len(a.Checks)-maxChecks, "more check"))
			break
		}
		lines = append(lines, "- "+sanitizeText(c.Title+": "+cmp.Or(c.Reason, strings.Join(c.SampleLines(), "; ")), maxSampleChars))
	}
	return strings.Join(append(lines, effect, "To do: "+sanitizeText(a.Advice, maxAdviceChars)), "\n")
}

// describe returns the event in one sentence, its effect, and the default of Advice.
func (a Alert) describe() (event, effect, advice string) {
	from := formatTime(a.Since)
	since, noun := "Since "+from, "night"
	if a.Event == Behind {
		noun = "attempt"
	}
	if a.Streak > 1 {
		since += fmt.Sprintf(", %s in a row", humanize.Count(a.Streak, noun))
	}
	sinceWithSnapshot := since + ". Readers have the snapshot of " + formatTime(a.SnapshotAt) + "."
	switch {
	case a.SnapshotUnknown:
		sinceWithSnapshot = since + "."
	case a.SnapshotAt.IsZero():
		sinceWithSnapshot = since + ". Readers have no snapshot yet."
	}
	cause := ""
	if a.Error != "" {
		cause = ": " + a.Error
	}

	switch a.Event {
	case Full:
		return "the webhook inbox is full: events are refused",
			since + ". Accepted events are kept; the service sends the refused ones again.",
			"run the command \"placementsync runs\" to see why no night succeeds (a night empties the inbox), or raise serve.inbox_max."
	case Recovered:
		if a.Work == Inbox {
			return "the webhook inbox has room again: events are accepted", "It had been full since " + from + ".", "nothing."
		}
		return fmt.Sprintf("%s is up to date again, with night %s", a.nameWork(), a.Run), "It had been behind since " + from + ".", "nothing."
	case Partial:
		if a.Error != "" {
			return fmt.Sprintf("night %s is published, but partial%s", a.Run, cause),
				since + ". Readers of the catalog see the rows of this night.",
				"correct the cause; the next night completes the failed step. The command \"placementsync verify\" lists the missing days."
		}
		return fmt.Sprintf("night %s is published, but partial: %s", a.Run, a.describeStreams()),
			since + ". Readers see the rows of this night in all other streams.",
			"nothing, if the next night reads these streams; else run placementsync check, which tests the token and the service."
	case Damaged:
		return "the warehouse is damaged" + cause,
			"Found on " + from + ". Intact files can still be read.",
			"run placementsync verify --read-data, which prints the commands for the repair."
	case Unverified:
		return "the verification of the warehouse failed" + cause,
			since + ". The result of the last complete verification is kept.",
			"correct the cause, then run placementsync verify --read-data, or wait for the next verification."
	case Behind:
		command := "placementsync " + a.Work
		if a.Work == "lake" {
			command += " publish --all"
		}
		return fmt.Sprintf("%s failed after the published night %s%s", a.nameWork(), a.Run, cause),
			since + ". Readers of the warehouse see the snapshot of this night.",
			"correct the cause; the next night tries again, or run " + command + " now."
	case Held:
		var names []string
		for _, c := range a.Checks {
			names = append(names, c.Name)
		}
		return fmt.Sprintf("night %s is held%s", a.Run, cause),
			sinceWithSnapshot,
			"run placementsync diff --held. If the values are right, run placementsync publish --accept " + strings.Join(names, ",") +
				"; else placementsync discard, or wait for the next night."
	case Warned:
		return fmt.Sprintf("night %s is published with warnings%s", a.Run, cause),
			"Found on " + from + ". Readers see the snapshot of this night.",
			"run placementsync audit, which shows the rows. checks.rules in the configuration changes a check or turns it off."
	case Gate:
		return fmt.Sprintf("night %s was not published: a gate stopped it%s", a.Run, cause),
			sinceWithSnapshot,
			"check the service. If these records were really deleted, run placementsync run --allow-mass-delete once; otherwise wait for the next night."
	}
	event = "night " + a.Run + " failed"
	if a.Run == "" {
		event = "a night could not start"
	}
	return event + cause, sinceWithSnapshot,
		"correct the cause, then run placementsync run, or wait for the next night; requests whose responses are stored are not repeated."
}

// nameWork names the follow-up, as the subject of a sentence.
func (a Alert) nameWork() string {
	switch a.Work {
	case "lake":
		return "the publishing to the lake"
	case "watch":
		return "the run of the watches"
	}
	return "the " + a.Work
}

func (a Alert) describeStreams() string {
	const maxStreams, maxReasonChars = 3, 90
	var parts []string
	for i, s := range a.Streams {
		if i == maxStreams {
			parts = append(parts, "and "+humanize.Count(len(a.Streams)-maxStreams, "more stream"))
			break
		}
		part := s.Stream + " is " + s.Standing
		if s.Reason != "" {
			part += ": " + cutText(s.Reason, maxReasonChars)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// Escapes of nested quotes.
var (
	escapedQuote = regexp.MustCompile(`\\+"`)
	manyEscapes  = regexp.MustCompile(`\\{2,}`)
)

// sanitizeText shortens a text that may quote a response of the service. It makes mentions and links
// ineffective, and removes the escapes of nested quotes.
func sanitizeText(s string, maxChars int) string {
	s = strings.NewReplacer("<", "\u2039", ">", "\u203a").Replace(s)
	s = manyEscapes.ReplaceAllString(escapedQuote.ReplaceAllString(s, `"`), `\`)
	return cutText(breakMentionsAndLinks(s), maxChars)
}

func cutText(s string, maxChars int) string {
	s, _, _ = strings.Cut(s, "\n")
	if runes := []rune(s); len(runes) > maxChars {
		return string(runes[:maxChars]) + "..."
	}
	return s
}
