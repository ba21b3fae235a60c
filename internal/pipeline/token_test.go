package pipeline_test

import (
	"testing"

	"placementsync/internal/stream"
)

// TestTokenWithoutTeam reads a token without team_id, whose scopes are a text, and a token whose team_id is null. The team of the configuration is used.
// Without it, the streams that need a team are skipped.
func TestTokenWithoutTeam(t *testing.T) {
	h := newHarness(t, smallWorld(), "token", "profiles", "files")
	h.service.SetFaults(rewriteFault("/auth/token", "\ufeff"+`{"source":"oauth","token_type":"custom","scopes":"{profiles.lists,files.lists}"}`))
	res := h.requireComplete(h.night())
	const reason = "the token has no team id: set api.team_id"
	h.requireStream(res.Run, "token", stream.Skipped, reason, false)
	h.requireStream(res.Run, "profiles", stream.Skipped, reason, false)
	h.requireStream(res.Run, "files", stream.Exact, "", false)
	h.requireLines("SELECT count(*) FROM meta.rejects", "0")
	h.service.SetFaults(rewriteFault("/auth/token", `{"source":"oauth","token_type":"custom","scopes":["profiles.lists","files.lists"],"team_id":null}`))
	h.requireStream(h.requireComplete(h.night()).Run, "profiles", stream.Skipped, reason, false)
	h.cfg.TeamID = h.service.TeamID()
	res = h.requireComplete(h.night())
	h.requireStream(res.Run, "token", stream.Exact, "", false)
	h.requireStream(res.Run, "profiles", stream.Exact, "", false)
	h.requireLines("SELECT team_id, source, scopes FROM token", h.service.TeamID()+` oauth ["profiles.lists","files.lists"]`)
}
