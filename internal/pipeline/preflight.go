package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
)

// Token is what the service says of the caller's token (spec 2.1).
// The token itself is not part of it.
type Token struct {
	Type   string
	Scopes []string
	TeamID string
}

// tokenPath is asked before anything else (spec 2.1, spec 5).
const tokenPath = "/auth/token"

// describeAccess names what a token can read.
func (t Token) describeAccess() string {
	return fmt.Sprintf("%s team=%s scopes=%s", t.Type, t.TeamID, strings.Join(slices.Sorted(slices.Values(t.Scopes)), ","))
}

// checkToken asks who we are, which decides what can be read at all. A run that
// is resumed asks again: its token may have been changed since.
func checkToken(ctx context.Context, c *fetch.Client, teamID string) (Token, error) {
	var t Token
	_, err := c.Get(ctx, fetch.Request{Stream: "token", Path: tokenPath, Fresh: true}, func(_ context.Context, r fetch.Response) (stream.PageFacts, error) {
		var err error
		t, err = parseToken(r.Body)
		return stream.PageFacts{Records: 1}, err
	})
	if err != nil {
		return t, fmt.Errorf("check the token: %w", err)
	}
	if teamID != "" {
		t.TeamID = teamID
	}
	return t, nil
}

// parseToken reads the answer of GET /auth/token. The type of team_id is not
// documented: a number is as good as a text. An object with neither type nor scopes is
// refused: it would pass for a token without any.
func parseToken(body []byte) (Token, error) {
	var raw struct {
		Type   *string         `json:"token_type"`
		Scopes *[]string       `json:"scopes"`
		TeamID json.RawMessage `json:"team_id"`
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return Token{}, fmt.Errorf("%w: read token info: %w", fetch.ErrMalformed, err)
	}
	if raw.Type == nil && raw.Scopes == nil {
		return Token{}, fmt.Errorf("%w: read token info: neither token_type nor scopes", fetch.ErrMalformed)
	}
	var t Token
	if team := strings.Trim(string(raw.TeamID), `"`); team != "null" {
		t.TeamID = team
	}
	if raw.Type != nil {
		t.Type = *raw.Type
	}
	if raw.Scopes != nil {
		t.Scopes = *raw.Scopes
	}
	return t, nil
}

// provesAccess reports whether the token's type and scopes say that it may read a
// stream, so that a 403 is a fault. Otherwise the stream was tried, and a 403
// is the answer.
func (t Token) provesAccess(s stream.Stream) bool {
	return s.Scopes != nil && slices.Contains([]string{"full_access", "custom", "read_only"}, t.Type)
}

// skipReason says why a stream is not read tonight; empty when it is. A token that
// bypasses the checks, a type that the spec does not list, and a stream whose scope is
// not shown are tried, and learn from a 403 (spec 5).
func (c Config) skipReason(t Token, s stream.Stream) string {
	var missing []string
	if t.Type == "custom" || t.Type == "read_only" {
		missing = slices.DeleteFunc(slices.Clone(s.Scopes), func(scope string) bool { return slices.Contains(t.Scopes, scope) })
	}
	switch {
	case s.IsEvents():
		return "" // they cost no request, and wait nowhere else
	case !slices.Contains(c.Chosen, s.Name):
		return ledger.ReasonNotChosen
	case s.IsDetail() && c.Details == NoDetails:
		return ledger.ReasonNoDetails
	case len(missing) > 0:
		return "missing scope " + strings.Join(missing, ", ")
	case strings.Contains(s.Path, "{team_id}") && t.TeamID == "":
		return "no team id: the token names none, set api.team_id"
	}
	return ""
}
