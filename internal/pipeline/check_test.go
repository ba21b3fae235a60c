package pipeline_test

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"

	"placementsync/internal/pipeline"
)

func TestCheckPlansTheNight(t *testing.T) {
	t.Parallel()
	world := smallWorld()
	world.TokenType, world.Scopes = "custom", []string{"orders.lists", "orders.read"}
	h := newHouse(t, world, few()...)
	h.cfg.Warehouse.Dir = h.path("not there yet")

	plan, err := pipeline.Check(t.Context(), h.cfg)
	must(t, err)
	if _, err := os.Stat(h.path()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("check made the warehouse's folder: %v", err)
	}
	if plan.Latest != "" || plan.Requests != 0 || plan.Held != nil || plan.Token.TeamID != h.service.TeamID() {
		t.Errorf("before the first night the plan is %+v", plan)
	}
	if skip := planned(t, plan, "product_listings").Skip; skip != "missing scope products.read" {
		t.Errorf("product_listings is skipped for %q", skip)
	}

	res := h.goodNight()
	plan, err = pipeline.Check(t.Context(), h.cfg)
	must(t, err)
	want := streamOf(t, res.Run, "orders").Requests + streamOf(t, res.Run, "order_details").Requests
	if plan.Requests != want || plan.Latest != res.Run.ID {
		t.Errorf("the plan says %d requests after %s, want %d after %s", plan.Requests, plan.Latest, want, res.Run.ID)
	}
	if plan.NeedBytes <= 0 || plan.FreeBytes <= 0 || plan.Unknown != 0 {
		t.Errorf("the plan needs %d of %d bytes, and knows nothing of %d streams", plan.NeedBytes, plan.FreeBytes, plan.Unknown)
	}
	if one := planned(t, plan, "orders"); one.Skip != "" || one.LastRequests <= 0 {
		t.Errorf("the plan of orders is %+v", one)
	}
}

func planned(t *testing.T, p pipeline.Plan, name string) pipeline.Planned {
	t.Helper()
	i := slices.IndexFunc(p.Streams, func(s pipeline.Planned) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("the plan says nothing of %s", name)
	}
	return p.Streams[i]
}

// TestCheckSeesARunAtWork looks while a night is held up at its first list.
func TestCheckSeesARunAtWork(t *testing.T) {
	t.Parallel()
	h := newHouse(t, smallWorld(), few()...)
	arrived, proceed := make(chan struct{}), make(chan struct{})
	var once sync.Once
	h.arriving(func(r *http.Request) {
		if r.URL.Path != "/auth/token" {
			once.Do(func() { close(arrived) })
			<-proceed
		}
	})
	var night error
	var wg sync.WaitGroup
	wg.Go(func() { _, night = h.night() })
	<-arrived
	plan, err := pipeline.Check(t.Context(), h.cfg)
	close(proceed)
	wg.Wait()
	must(t, errors.Join(err, night))
	if plan.Held == nil || plan.Held.PID != os.Getpid() {
		t.Errorf("the plan says the lock is held by %+v", plan.Held)
	}
}
