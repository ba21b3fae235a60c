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
	"time"

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

// TestWidePackingIsHeldOneAtATime lands small bodies, each packed together with ten million
// bytes that stand for nothing.
func TestWidePackingIsHeldOneAtATime(t *testing.T) {
	const padding = 10 << 20
	frame := skippable(string(make([]byte, padding)))
	synctest.Test(t, func(t *testing.T) {
		kept := landing(t, t.TempDir())
		for i := range 4 {
			text := fmt.Sprintf(`{"id":"%d"}`, i)
			r := fetch.Response{Request: page(0, i+1), Status: http.StatusOK, Body: []byte(text), Packed: append(zstandard(text), frame...), Encoding: "zstd"}
			if _, err := kept.Append(r, time.Now(), 0); err != nil {
				t.Fatal(err)
			}
		}
		if most := crowd(t, kept, 4, 1); most != 1 {
			t.Errorf("%d of 4 answers were held at once, want 1", most)
		}
	})
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
