package ledger_test

import (
	"testing"

	"placementsync/internal/ledger"
)

func TestShortenError(t *testing.T) {
	t.Parallel()
	const request, advice = `fetch stream "orders": GET https://api.example.com/orders?limit=100&page=1`, "; responses stored before are kept; the next run repeats the request"
	for text, want := range map[string]string{
		request + ` answered 503 Service Unavailable after 6 attempts: body begins "{\"error\":{\"status\":503,\"message\":\"say \\\"later\\\"\"}}"` + advice:         `GET /orders answered 503 Service Unavailable after 6 attempts: say "later"`,
		request + ` answered 500: body begins "{\"detail\": \"a long sentence that does not e..."` + advice:                                                           `GET /orders answered 500: a long sentence that does not e...`,
		request + ` answered 502 Bad Gateway: body begins "<!DOCTYPE html><title>\u00fc</title>"` + advice:                                                            `GET /orders answered 502 Bad Gateway with a page of HTML`,
		request + ` answered 500: body begins "{\"code\":5}"; the token lacks it`:                                                                                     `GET /orders answered 500 with JSON that has no message; the token lacks it`,
		request + ` answered 500: body begins "no such thing"` + advice:                                                                                               `GET /orders answered 500: no such thing`,
		`read orders: 5 of 60 ids failed, their last rows are kept; first: fetch stream "order_details": GET http://127.0.0.1:1/orders/7 answered 404; there is none`: `read orders: 5 of 60 ids failed, their last rows are kept; first: GET /orders/7 answered 404; there is none`,
		`no space left on device`: `no space left on device`,
	} {
		if got := ledger.ShortenError(text); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
	if why := (ledger.Run{Error: request + " answered 401" + advice + "\nmore"}).Why(); why != "GET /orders answered 401" {
		t.Errorf("Why() = %q, want the shortened first line of the error", why)
	}
}
