package command_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"placementsync/internal/command"
)

func TestChooseProxy(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "by proxy: "+r.URL.String()) }))
	t.Cleanup(proxy.Close)
	for name, c := range map[string]struct {
		env           map[string]string
		address, want string
	}{
		"http":             {map[string]string{"HTTP_PROXY": proxy.URL}, "http://api.example.com/v1", proxy.URL},
		"https":            {map[string]string{"HTTPS_PROXY": proxy.URL}, "https://api.example.com/v1", proxy.URL},
		"lower case":       {map[string]string{"https_proxy": proxy.URL}, "https://api.example.com/v1", proxy.URL},
		"only HTTP_PROXY":  {map[string]string{"HTTP_PROXY": proxy.URL}, "https://api.example.com/v1", ""},
		"host in NO_PROXY": {map[string]string{"HTTPS_PROXY": proxy.URL, "NO_PROXY": ".example.com"}, "https://api.example.com/v1", ""},
		"loopback":         {map[string]string{"HTTP_PROXY": proxy.URL}, "http://127.0.0.1:8080/v1", ""},
		"no proxy set":     {nil, "https://api.example.com/v1", ""},
	} {
		choose := command.ChooseProxy(func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		r := httptest.NewRequest(http.MethodGet, c.address, nil)
		got, err := choose(r)
		if err != nil || got == nil && c.want != "" || got != nil && got.String() != c.want {
			t.Errorf("%s: got %v (%v), want %q", name, got, err, c.want)
		}
	}
	choose := command.ChooseProxy(func(name string) (string, bool) { return proxy.URL, name == "HTTP_PROXY" })
	res, err := (&http.Client{Transport: &http.Transport{Proxy: choose}}).Get("http://api.example.com/v1")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); string(text) != "by proxy: http://api.example.com/v1" {
		t.Errorf("got response %q, want the response of the proxy", text)
	}
}
