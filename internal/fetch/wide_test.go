package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"placementsync/internal/fetch"
	"placementsync/internal/stream"
)

// crowd asks for so many bodies at once and returns how many of them were held
// at the same time, after all were read.
func crowd(t *testing.T, kept *fetch.Landing, n, size int) (most int32) {
	t.Helper()
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(" ", size)) })
	c := client(t, quick(service), kept)
	var held, all atomic.Int32
	released := make(chan struct{})
	read := func(context.Context, fetch.Response) (stream.Page, error) {
		held.Add(1)
		<-released
		all.Add(1)
		return stream.Page{}, nil
	}
	var asking sync.WaitGroup
	for i := range n {
		asking.Go(func() {
			if _, err := c.Get(t.Context(), fetch.Request{Stream: "list", Path: "/list", Page: i + 1}, read); err != nil {
				t.Error(err)
			}
		})
	}
	// Whoever can hold a body holds one now.
	synctest.Wait()
	most = held.Load()
	close(released)
	asking.Wait()
	if int(all.Load()) != n {
		t.Errorf("%d bodies of %d were read", all.Load(), n)
	}
	return most
}

func TestWideBodiesAreHeldOneAtATime(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
		want int32
	}{{"small ones", 1 << 20, 4}, {"wide ones", 9 << 20, 1}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := landing(t, t.TempDir())
				for _, source := range []string{"the service", "the landing"} {
					if most := crowd(t, kept, 4, c.size); most != c.want {
						t.Errorf("%d of 4 bodies from %s were held at once, want %d", most, source, c.want)
					}
				}
			})
		})
	}
}
