package notify

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"placementsync/internal/plural"
)

// describe returns the value of Text. The lines are short enough for a telephone.
func (a Alert) describe() string {
	const maxEventChars, maxSampleChars, maxAdviceChars = 300, 300, 300
	lines := []string{"placementsync: " + sanitizeText(a.describeEvent(), maxEventChars)}
	const maxChecks = 5
	for i, c := range a.Checks {
		if i == maxChecks {
			lines = append(lines, "- and "+plural.Count(len(a.Checks)-maxChecks, "more check"))
			break
		}
		lines = append(lines, "- "+sanitizeText(c.Title+": "+cmp.Or(c.Reason, strings.Join(c.SampleLines(), "; ")), maxSampleChars))
	}
	return strings.Join(append(lines, a.describeEffect(), "To do: "+sanitizeText(a.Advice, maxAdviceChars)), "\n")
}

func (a Alert) describeEvent() string {
	text := ""
	switch a.Event {
	case Full:
		return "the webhook inbox is full: events are refused"
	case Recovered:
		if a.Work == Inbox {
			return "the webhook inbox has room again: events are accepted"
		}
		return fmt.Sprintf("%s is up to date again, with night %s", a.nameWork(), a.Run)
	case Partial:
		return fmt.Sprintf("night %s is published, but partial: %s", a.Run, cmp.Or(a.Error, a.describeStreams()))
	case Damaged:
		text = "the warehouse is damaged"
	case Unverified:
		text = "the verification of the warehouse failed"
	case Behind:
		text = fmt.Sprintf("%s failed after the published night %s", a.nameWork(), a.Run)
	case Held:
		text = fmt.Sprintf("night %s is held", a.Run)
	case Warned:
		text = fmt.Sprintf("night %s is published with warnings", a.Run)
	case Gate:
		text = fmt.Sprintf("night %s was not published: it would delete too many rows", a.Run)
	default:
		text = "night " + a.Run + " failed"
		if a.Run == "" {
			text = "a night could not start"
		}
	}
	if a.Error == "" {
		return text
	}
	return text + ": " + a.Error
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
			parts = append(parts, "and "+plural.Count(len(a.Streams)-maxStreams, "more stream"))
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

func (a Alert) describeEffect() string {
	since := "Since " + formatTime(a.Since)
	if noun := map[bool]string{true: "attempt", false: "night"}[a.Event == Behind]; a.Times > 1 {
		since += fmt.Sprintf(", %s in a row", plural.Count(a.Times, noun))
	}
	switch a.Event {
	case Full:
		return since + ". Accepted events are kept; the service sends the refused ones again."
	case Recovered:
		if a.Work == Inbox {
			return "It had been full since " + formatTime(a.Since) + "."
		}
		return "It had been behind since " + formatTime(a.Since) + "."
	case Damaged:
		return "Found on " + formatTime(a.Since) + ". Intact files can still be read."
	case Unverified:
		return since + ". The result of the last complete verification is kept."
	case Behind:
		return since + ". Readers see the snapshot of this night."
	case Warned:
		return "Found on " + formatTime(a.Since) + ". Readers see the snapshot of this night."
	case Partial:
		if a.Error != "" {
			return since + ". Readers of the catalog see the rows of this night."
		}
		return since + ". Readers see the rows of this night in all other streams."
	}
	if a.SnapshotUnknown {
		return since + "."
	}
	if a.SnapshotAt.IsZero() {
		return since + ". Readers have no snapshot yet."
	}
	return since + ". Readers have the snapshot of " + formatTime(a.SnapshotAt) + "."
}

func (a Alert) defaultAdvice() string {
	switch a.Event {
	case Full:
		return "run the command \"placementsync runs\" to see why no night succeeds (a night empties the inbox), or raise serve.inbox_max."
	case Recovered:
		return "nothing."
	case Partial:
		if a.Error != "" {
			return "correct the cause; the next night completes the failed step. The command \"placementsync verify\" lists the missing days."
		}
		return "nothing, if the next night reads these streams; else run placementsync check, which tests the token and the service."
	case Damaged:
		return "run placementsync verify --read-data, which prints the commands for the repair."
	case Unverified:
		return "correct the cause, then run placementsync verify --read-data, or wait for the next verification."
	case Behind:
		command := "placementsync " + a.Work
		if a.Work == "lake" {
			command += " publish --all"
		}
		return "correct the cause; the next night tries again, or run " + command + " now."
	case Held:
		var names []string
		for _, c := range a.Checks {
			names = append(names, c.Name)
		}
		return "run placementsync diff --held. If the values are right, run placementsync publish --held --accept " + strings.Join(names, ",") +
			"; else placementsync discard --held, or wait for the next night."
	case Warned:
		return "run placementsync audit, which shows the rows. checks.rules in the configuration changes a check or turns it off."
	case Gate:
		return "check the service. If these records were really deleted, run placementsync run --allow-mass-delete once; otherwise wait for the next night."
	}
	return "correct the cause, then run placementsync run, or wait for the next night; requests whose responses are stored are not repeated."
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
