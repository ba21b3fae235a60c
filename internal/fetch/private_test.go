package fetch_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
	"placementsync/internal/testing/harness"
)

// privateValue is a value in all bodies of the tests below.
const privateValue = "guest-4711@example.com"

// bodiesWithPrivateValue returns bodies that contain privateValue after each of several beginnings.
func bodiesWithPrivateValue() []string {
	record := `{"id":"a","guest_email":"` + privateValue + `"}`
	bodies := []string{"<!DOCTYPE html><p>" + privateValue, privateValue, `"` + privateValue + `"`, "guest_email=" + privateValue}
	for _, prefix := range []string{
		"", " \r\n\t", "[", `{"records":[`, "\ufeff", "\xff\xfe", "\x00", "\x1b[0m", ")]}',\n", "while(1);", "for(;;);",
		"callback(", "/**/callback(", "<!--", "-", "1", "null", "'", "%", "data: ", "--boundary\r\n\r\n", strings.Repeat(" ", 500),
	} {
		bodies = append(bodies, prefix+record)
	}
	return bodies
}

// malformedBody is a Reader that rejects every body.
func malformedBody(context.Context, fetch.Response) (stream.PageFacts, error) {
	return stream.PageFacts{}, fmt.Errorf("%w: a test", fetch.ErrMalformed)
}

func checkPrivateError(t *testing.T, text, wantPart string) {
	t.Helper()
	if !strings.Contains(text, wantPart) {
		t.Errorf("the error is %q, want it to contain %q", text, wantPart)
	}
	for _, part := range []string{"guest-4711", "example.com", "4711@"} {
		if strings.Contains(text, part) {
			t.Errorf("the error contains a private value: %q", text)
		}
	}
}

func TestErrorsContainNoPrivateValues(t *testing.T) {
	read := func(cfg fetch.Config) error {
		cfg.HasPrivateValues, cfg.Retry.MaxRetries = true, 0
		_, err := newClient(t, cfg, nil).Get(t.Context(), fetch.Request{Stream: "orders", Path: "/orders"}, malformedBody)
		return err
	}
	for code := 200; code < 600; code++ {
		isNamed := http.StatusText(code) != ""
		if !isNamed && !slices.Contains([]int{299, 520, 599}, code) { // a few statuses without a name are enough
			continue
		}
		for _, body := range bodiesWithPrivateValue() {
			err := read(testConfig(respondWith(code, body)))
			if err == nil {
				t.Fatalf("status %d and body %q give no error", code, body)
			}
			want := fmt.Sprintf("its body (%d bytes, ", len(body))
			withoutBody := []int{http.StatusNoContent, http.StatusNotModified, http.StatusNotFound, http.StatusGone}
			if slices.Contains(withoutBody, code) {
				want = fmt.Sprintf("answered %d", code)
			}
			checkPrivateError(t, err.Error(), want)
		}
	}
	for name, h := range map[string]http.HandlerFunc{
		"truncated": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, privateValue)
			panic(http.ErrAbortHandler)
		},
		"compressed": encodedStatus(500, compressGzip(privateValue, privateValue), "gzip"),
		"corrupt":    encodedBody(append(compressGzip(privateValue, privateValue), privateValue...), "gzip"),
		"too large":  textBody(strings.Repeat(privateValue, 10_000)),
	} {
		cfg := serverConfig(t, h)
		cfg.MaxBody = 1000
		err := read(cfg)
		if err == nil {
			t.Fatalf("a %s body gives no error", name)
		}
		checkPrivateError(t, err.Error(), "orders")
	}
}

// TestRefusalsShowTheirMessage checks that the error of a 403 contains the message of its body, which explains the
// refusal. The error of another status must not contain it.
func TestRefusalsShowTheirMessage(t *testing.T) {
	const message = "Only internal tools may read articles"
	for body, want := range map[string]string{
		`{"name":"ForbiddenError","message":"` + message + `","issues":[]}`: message,
		`{"error":{"status":403,"message":"` + message + `"}}`:              message,
		`{"message":"` + message + `","error":"Forbidden"}`:                 message,
		`{"message":7}`: "its body (13 bytes, JSON)",
		`<b>no</b>`:     "its body (9 bytes, HTML or XML)",
	} {
		for _, code := range []int{http.StatusForbidden, http.StatusBadRequest} {
			cfg := testConfig(respondWith(code, body))
			cfg.HasPrivateValues, cfg.Retry.MaxRetries = true, 0
			_, err := newClient(t, cfg, nil).Get(t.Context(), fetch.Request{Stream: "orders", Path: "/orders"}, malformedBody)
			if code == http.StatusForbidden && !strings.Contains(err.Error(), want) {
				t.Errorf("%d with %s: the error is %q, want the message %q", code, body, err, want)
			}
			if code != http.StatusForbidden && strings.Contains(err.Error(), message) {
				t.Errorf("%d with %s: the error is %q, want no message of the body", code, body, err)
			}
			if failed, ok := errors.AsType[*fetch.StatusError](err); !ok || failed.IsHTML != (body[0] == '<') {
				t.Errorf("%d with %s: the error says that the body is HTML: %t", code, body, ok && failed.IsHTML)
			}
		}
	}
}

// TestBrokenResponsesShowNoPrivateValues sends bytes that are no HTTP response. The errors of net/http
// quote such bytes.
func TestBrokenResponsesShowNoPrivateValues(t *testing.T) {
	for _, sent := range []string{
		privateValue + "\r\n\r\n",
		"HTTP/1.1 " + privateValue + "\r\n\r\n",
		"HTTP/" + privateValue + " 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\n" + `{"guest_email" "` + privateValue + "\"}\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: " + privateValue + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + privateValue + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + privateValue + "\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + privateValue + " x\r\n\r\n",
	} {
		cfg := testConfig(nil)
		cfg.BaseURL, cfg.Transport, cfg.HasPrivateValues = "http://"+serveBytes(t, sent), nil, true
		_, err := newClient(t, cfg, nil).Get(t.Context(), fetch.Request{Stream: "orders", Path: "/orders"}, malformedBody)
		if err == nil {
			t.Fatalf("the bytes %q give no error", sent)
		}
		checkPrivateError(t, err.Error(), "/orders")
	}
	cfg := testConfig(nil)
	cfg.BaseURL, cfg.Transport = "http://"+serveBytes(t, "no HTTP\r\n\r\n"), nil
	checkError(t, requestTokenInfo(t, newClient(t, cfg, nil)), `malformed HTTP status code "HTTP"`)
}

// serveBytes returns the address of a server that sends the same bytes on each connection.
func serveBytes(t *testing.T, sent string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(conn))
			_, _ = io.WriteString(conn, sent)
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}
