package explore

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
)

// TestStatementQueue checks that two statements run, that eight wait and run in the order of their arrival,
// and that another one is refused.
func TestStatementQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		started := make(chan int, 20)
		end := make(chan struct{})
		for number := range maxRunning + maxWaiting {
			go func() {
				leave, err := q.enter(t.Context())
				if err != nil {
					t.Errorf("statement %d: %v", number, err)
					return
				}
				started <- number
				<-end
				leave()
			}()
			synctest.Wait()
		}
		if n := len(started); n != 2 {
			t.Fatalf("%d statements run, want 2", n)
		}
		_, err := q.enter(t.Context())
		if refused, ok := errors.AsType[*statusError](err); !ok || refused.status != http.StatusServiceUnavailable {
			t.Errorf("the eleventh statement: got %v, want status 503", err)
		}
		for number := range maxRunning + maxWaiting {
			if got := <-started; got != number {
				t.Errorf("statement %d runs as number %d", got, number)
			}
			end <- struct{}{}
			synctest.Wait()
		}
		leave, err := q.enter(t.Context())
		if err != nil {
			t.Fatalf("a statement after all others: %v", err)
		}
		leave()
	})
}

// TestCancelledStatementLeavesTheQueue cancels waiting statements.
func TestCancelledStatementLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue()
		for range maxRunning {
			if _, err := q.enter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 * maxWaiting {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				_, err := q.enter(ctx)
				ended <- err
			}()
			synctest.Wait()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v, want the cancellation", err)
			}
		}
	})
}
