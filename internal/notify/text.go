package notify

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"placementsync/internal/plural"
)

// describe is the alert for people: a line each for what happened, since when, and what to
// do. Whoever reads it stands in front of a telephone.
func (a Alert) describe() string {
	const most = 300 // of the first line; the others are bounded by their words
	return "placementsync: " + shortenText(a.describeEvent(), most) + "\n" + a.describeSince() + "\nTo do: " + shortenText(a.Advice, most/2)
}

// describeEvent says what happened.
func (a Alert) describeEvent() string {
	text := ""
	switch a.Event {
	case Full:
		return "the webhook inbox is full: events are refused"
	case Recovered:
		if a.Work == Inbox {
			return "the webhook inbox has room again: events are accepted"
		}
		return fmt.Sprintf("the %s has caught up: it has night %s", a.Work, a.Run)
	case Partial:
		return fmt.Sprintf("night %s is published, but partial: %s", a.Run, cmp.Or(a.Error, a.describeStreams()))
	case Damaged:
		text = "the warehouse is damaged"
	case Unverified:
		text = "the verification of the warehouse failed"
	case Behind:
		text = fmt.Sprintf("the %s after night %s failed", a.Work, a.Run)
	case Gate:
		text = fmt.Sprintf("night %s is not published, a gate refused it", a.Run)
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

// describeStreams names the first streams that the night lacks, each with the beginning of
// its reason.
func (a Alert) describeStreams() string {
	const shown, most = 3, 90
	var parts []string
	for i, s := range a.Streams {
		if i == shown {
			parts = append(parts, "and "+plural.Count(len(a.Streams)-shown, "more stream"))
			break
		}
		part := s.Stream + " is " + s.Standing
		if s.Reason != "" {
			part += ": " + cutText(s.Reason, most)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// describeSince says since when, and what readers have meanwhile.
func (a Alert) describeSince() string {
	since := "Since " + formatTime(a.Since)
	if noun := map[bool]string{true: "attempt", false: "night"}[a.Event == Behind]; a.Times > 1 {
		since += fmt.Sprintf(", %s in a row", plural.Count(a.Times, noun))
	}
	switch a.Event {
	case Full:
		return since + ". What was accepted is kept, and the service sends the rest again."
	case Recovered:
		if a.Work == Inbox {
			return "It was full since " + formatTime(a.Since) + "."
		}
		return "It was behind since " + formatTime(a.Since) + "."
	case Damaged:
		return "Found on " + formatTime(a.Since) + ". What is whole can be read."
	case Unverified:
		return since + ". What an earlier one found stays true."
	case Behind:
		return since + ". Readers see the night."
	case Partial:
		if a.Error != "" {
			return since + ". Readers of the catalog see tonight's rows."
		}
		return since + ". Readers see tonight's rows of all other streams."
	}
	if a.SnapshotUnknown {
		return since + "."
	}
	if a.SnapshotAt.IsZero() {
		return since + ". Readers have no snapshot yet."
	}
	return since + ". Readers have the snapshot of " + formatTime(a.SnapshotAt) + "."
}

// defaultAdvice is what to do about an event, unless the caller knows better.
func (a Alert) defaultAdvice() string {
	switch a.Event {
	case Full:
		return "see placementsync runs for why no night succeeds, since a night empties it, or raise serve.inbox_max."
	case Recovered:
		return "nothing."
	case Partial:
		if a.Error != "" {
			return "repair the cause; the next night completes it. placementsync verify names what is missing."
		}
		return "nothing, if the next night reads them; else placementsync check shows what the token may read and whether the service answers."
	case Damaged:
		return "run placementsync verify --read-data, which names the commands that repair it."
	case Unverified:
		return "repair the cause, then run placementsync verify --read-data, or leave it to the next verification."
	case Behind:
		command := "placementsync " + a.Work
		if a.Work == "lake" {
			command += " publish --all"
		}
		return "repair the cause; the next night tries again, and " + command + " at once."
	case Gate:
		return "look at the service. If the loss is true, run placementsync run --allow-mass-delete once; if not, the next night reads it again."
	}
	return "repair the cause, then run placementsync run, or leave it to the next night, which asks for nothing again that is stored."
}

func formatTime(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// What is left of quotes within quotes.
var (
	escapedQuote = regexp.MustCompile(`\\+"`)
	manyEscapes  = regexp.MustCompile(`\\{2,}`)
)

// shortenText is cutText of what may quote an answer of the service: nothing of it
// mentions anybody or is a link, and quotes within quotes are plain ones.
func shortenText(s string, most int) string {
	s = strings.NewReplacer("<", "\u2039", ">", "\u203a").Replace(s)
	s = manyEscapes.ReplaceAllString(escapedQuote.ReplaceAllString(s, `"`), `\`)
	return cutText(breakMentions(s), most)
}

// cutText cuts a text to its first line and to a number of characters.
func cutText(s string, most int) string {
	s, _, _ = strings.Cut(s, "\n")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}
