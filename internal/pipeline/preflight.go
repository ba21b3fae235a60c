package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"placementsync/internal/fetch"
	"placementsync/internal/ledger"
	"placementsync/internal/stream"
	"placementsync/internal/transform"
)

// Token is the token info of the service (spec 2.1), without the token itself.
type Token struct {
	Type   string
	Scopes []string
	TeamID string
}

const tokenPath = "/auth/token" // spec 2.1, 5

func (t Token) describeRights() string {
	return fmt.Sprintf("%s team=%s scopes=%s", t.Type, t.TeamID, strings.Join(slices.Sorted(slices.Values(t.Scopes)), ","))
}

// checkToken requests the token info. A resumed run requests it again, because the token may have changed.
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
	t.TeamID = cmp.Or(teamID, t.TeamID)
	return t, nil
}

// The JSON type of team_id is not documented, so a number and a string are accepted. An object with
// neither type nor scopes is an error, because it would look like a token without rights.
func parseToken(body []byte) (Token, error) {
	var raw struct {
		Type   string          `json:"token_type"`
		Scopes json.RawMessage `json:"scopes"`
		TeamID json.RawMessage `json:"team_id"`
	}
	if json.Unmarshal(body, &raw) != nil { // its error would quote the body
		return Token{}, fmt.Errorf("%w: the response is not the JSON of a token info, so this may not be the service: check api.base_url", fetch.ErrMalformed)
	}
	if list, ok := transform.ListInText(raw.Scopes); ok {
		raw.Scopes = list
	}
	var scopes []string
	if len(raw.Scopes) > 0 && json.Unmarshal(raw.Scopes, &scopes) != nil {
		return Token{}, fmt.Errorf("%w: scopes is not a list of texts, so this may not be the service: check api.base_url", fetch.ErrMalformed)
	}
	if raw.Type == "" && scopes == nil {
		return Token{}, fmt.Errorf("%w: the response has neither token_type nor scopes, so this may not be the service: check api.base_url", fetch.ErrMalformed)
	}
	t := Token{Type: raw.Type, Scopes: scopes}
	if team := strings.Trim(string(raw.TeamID), `"`); team != "null" {
		t.TeamID = team
	}
	return t, nil
}

// pathParam returns the value of the placeholder in the path of a list, or "".
func (t Token) pathParam(s stream.Stream) string {
	if strings.Contains(s.Path, "{team_id}") {
		return t.TeamID
	}
	return ""
}

// missingScopes returns the scopes of a stream that the token is known to lack.
func missingScopes(t Token, s stream.Stream) []string {
	if t.Type != "custom" && t.Type != "read_only" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Scopes), func(scope string) bool { return slices.Contains(t.Scopes, scope) })
}

// skipReason returns "" if the stream is read tonight. If the type of the token or the scope of the
// stream is not in the spec, the stream is read, and the service may answer 403 (spec 5).
func (c Config) skipReason(t Token, s stream.Stream) string {
	missing := missingScopes(t, s)
	switch {
	case s.IsEvents():
		return "" // events need no request: they are in the inbox
	case !slices.Contains(c.Chosen, s.Name):
		return ledger.ReasonNotChosen
	case s.IsDetail() && c.Details == NoDetails:
		return ledger.ReasonNoDetails
	case len(missing) > 0:
		return "missing scope " + strings.Join(missing, ", ")
	case t.TeamID == "" && (s.TeamColumn != "" || strings.Contains(s.Path, "{team_id}")):
		return "the token has no team id: set api.team_id"
	}
	return ""
}
