package contract

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const storeTypes = `
providers:
  - namespace: Some.Where
    resourceTypes:
      - {name: things, kind: tracked, apiVersions: ["2020-01-01"], contract: {body: {properties: {}}}}
      - {name: things/parts, kind: proxyOnly, apiVersions: ["2020-01-01"], contract: {body: {properties: {}}}}
`

// store is a provider whose resources lie in memory.
type store struct {
	t   *testing.T
	url string

	mu        sync.Mutex
	resources map[string]string // the state, by id
	notices   []string
	deletes   int
	answer    func(s *store, w http.ResponseWriter, r *http.Request) bool // in place of the usual one
}

func newStore(t *testing.T, answer func(s *store, w http.ResponseWriter, r *http.Request) bool) *store {
	t.Helper()
	s := &store{t: t, resources: map[string]string{}, answer: answer}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answer != nil && s.answer(s, w, r) {
		return
	}
	id := r.URL.Path
	_, there := s.resources[id]
	switch segments := strings.Count(id, "/"); {
	case segments == 2 && r.Method == http.MethodPut:
		var notice struct{ State string }
		_ = json.NewDecoder(r.Body).Decode(&notice)
		s.notices = append(s.notices, id+" "+notice.State)
	case segments%2 == 1: // a collection
		s.list(w, id)
	case r.Method == http.MethodPut:
		s.resources[id] = "Succeeded"
		if !there {
			w.WriteHeader(http.StatusCreated)
		}
	case r.Method == http.MethodDelete:
		s.deletes++
		if !there {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		delete(s.resources, id)
	case !there:
		w.WriteHeader(http.StatusNotFound)
	default:
		s.show(w, id)
	}
}

func (s *store) show(w http.ResponseWriter, id string) {
	_ = json.NewEncoder(w).Encode(Object{"id": id, "properties": Object{"provisioningState": s.resources[id]}})
}

func (s *store) list(w http.ResponseWriter, collection string) {
	items := []Object{}
	for id := range s.resources {
		before, _, _ := strings.CutLast(id, "/")
		of, _, _ := strings.Cut(collection, "/providers/")
		if before == collection || strings.Count(of, "/") == 2 && strings.HasPrefix(id, of+"/") && !isPart(id) {
			items = append(items, Object{"id": id})
		}
	}
	_ = json.NewEncoder(w).Encode(Object{"value": items})
}

func (s *store) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.resources {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// keep begins the ledger of runs on the store.
func (s *store) keep() (Target, *Ledger) {
	s.t.Helper()
	d, err := Load([]byte(storeTypes))
	if err != nil {
		s.t.Fatal(err)
	}
	target := Target{Adapter: Straight(map[string]string{"westus": s.url}), Description: d, Group: "mine", Limits: Limits{Call: 10 * time.Second}}
	return target, Keep(target, 10*time.Second)
}

// put writes as a case does; the answer does not matter.
func put(t *testing.T, target Target, ids ...string) {
	t.Helper()
	for _, id := range ids {
		_, _ = target.sendBounded(t.Context(), call{method: http.MethodPut, target: escape(id) + "?api-version=2020-01-01", region: "westus", body: []byte(`{}`)})
	}
}

func below(target Target, group, name string) string {
	return "/subscriptions/" + target.Adapter.Subscription + "/resourceGroups/" + group + "/providers/Some.Where/things/" + name
}

// clean cleans up, and holds the ledger to leave nothing but left.
func clean(t *testing.T, l *Ledger, left ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got := l.Clean(ctx); !slices.Equal(got, left) {
		t.Errorf("left %q, want %q", got, left)
	}
}

func isPart(id string) bool { return strings.Contains(id, "/parts/") }

func TestCleanRemovesWhatWasCreated(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]func(s *store, w http.ResponseWriter, r *http.Request) bool{
		"as usual": nil,
		"a connection that is lost after the write": func(s *store, w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut {
				return false
			}
			s.resources[r.URL.Path] = "Succeeded"
			panic(http.ErrAbortHandler)
		},
		"an error after the write": func(s *store, w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				s.resources[r.URL.Path] = "Succeeded"
				w.WriteHeader(http.StatusInternalServerError)
			}
			return r.Method == http.MethodPut
		},
		"a refusal in spite of the write": func(s *store, w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut {
				s.resources[r.URL.Path] = "Succeeded"
				w.WriteHeader(http.StatusBadRequest)
			}
			return r.Method == http.MethodPut
		},
		"a delete that is refused at first": func(s *store, w http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodDelete && s.deletes < 3 {
				s.deletes++
				w.WriteHeader(http.StatusConflict)
				return true
			}
			return false
		},
		"a delete that goes on": func(s *store, w http.ResponseWriter, r *http.Request) bool {
			switch state := s.resources[r.URL.Path]; {
			case r.Method == http.MethodDelete && state != "":
				s.resources[r.URL.Path] = "Deleting"
				w.WriteHeader(http.StatusAccepted)
				return true
			case r.Method == http.MethodGet && state == "Deleting":
				s.show(w, r.URL.Path)
				delete(s.resources, r.URL.Path)
				return true
			}
			return false
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, answer)
			target, ledger := s.keep()
			thing := below(target, "mine", "a")
			put(t, target, thing, thing+"/parts/b", below(target, "Mine-2", "c d"))
			if len(s.ids()) != 3 {
				t.Fatalf("the store has %q", s.ids())
			}
			clean(t, ledger)
			if ids := s.ids(); len(ids) > 0 {
				t.Errorf("still there: %q", ids)
			}
		})
	}
}

// A PUT that was accepted makes its resource when its operation ends, maybe after the
// first DELETE.
func TestCleanWaitsForWhatIsStillBeingCreated(t *testing.T) {
	t.Parallel()
	polls := 0
	s := newStore(t, func(s *store, w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method == http.MethodPut:
			w.Header().Set("Location", "https://elsewhere.example/poll?id="+r.URL.Path)
			w.WriteHeader(http.StatusAccepted)
		case r.URL.Path == "/poll":
			if polls++; polls < 3 {
				w.WriteHeader(http.StatusAccepted)
			} else if polls == 3 {
				s.resources[r.URL.Query().Get("id")] = "Succeeded"
			}
		default:
			return false
		}
		return true
	})
	target, ledger := s.keep()
	put(t, target, below(target, "mine", "late"))
	clean(t, ledger)
	if ids := s.ids(); len(ids) > 0 || polls < 3 {
		t.Errorf("after %d polls: %q", polls, ids)
	}
}

func TestCleanSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := newStore(t, func(_ *store, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodDelete && isPart(r.URL.Path) {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	})
	target, ledger := s.keep()
	thing := below(target, "mine", "a")
	put(t, target, thing, thing+"/parts/the b")
	clean(t, ledger, thing+"/parts/the b")
}

// What was refused and is not there was never made, even where nothing is answered as it
// should be.
func TestNothingIsLeftWhereEverythingIsRefused(t *testing.T) {
	t.Parallel()
	s := newStore(t, func(_ *store, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusTeapot)
		return true
	})
	target, ledger := s.keep()
	put(t, target, below(target, "mine", "a"))
	clean(t, ledger)
}

func TestCleanLeavesWhatIsNotTheRunsOwn(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	target, ledger := s.keep()
	foreign := []string{below(target, "mine-too", "a"), below(target, "minerals", "a"), below(target, "yours", "a")}
	for _, id := range foreign {
		s.resources[id] = "Succeeded"
	}
	untouched := below(target, "yours", "untouched")
	s.resources[untouched] = "Succeeded"
	put(t, target, append(slices.Clone(foreign), below(target, "elsewhere", "made"))...)
	slices.Sort(foreign)
	clean(t, ledger, foreign...)
	if want := append(slices.Clone(foreign), untouched); !slices.Equal(s.ids(), want) {
		t.Errorf("there is %q, want %q", s.ids(), want)
	}
}

// What no call has named shows in the lists of the run's groups.
func TestCleanFindsWhatWasCreatedByMistake(t *testing.T) {
	t.Parallel()
	s := newStore(t, func(s *store, _ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut && !isPart(r.URL.Path) {
			s.resources[r.URL.Path+"-twin"] = "Succeeded"
			s.resources[r.URL.Path+"-twin/parts/x"] = "Succeeded"
		}
		return false
	})
	target, ledger := s.keep()
	if held, err := ledger.Occupied(t.Context()); err != nil || len(held) > 0 {
		t.Fatal(held, err)
	}
	put(t, target, below(target, "mine", "a"))
	clean(t, ledger)
	if ids := s.ids(); len(ids) > 0 {
		t.Errorf("still there: %q", ids)
	}
}

// Subscriptions that a run invented are writable while they are cleaned, and deleted then.
func TestCleanEndsInventedSubscriptions(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	target, ledger := s.keep()
	if _, err := Announce(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	const invented = "/subscriptions/11111111-0000-0000-0000-000000000000"
	_, _ = target.sendBounded(t.Context(), call{method: http.MethodPut, target: invented + "?api-version=2.0", region: "westus", body: []byte(`{"state":"Unregistered"}`)})
	clean(t, ledger)
	want := []string{"/subscriptions/" + target.Adapter.Subscription + " Registered", invented + " Unregistered", invented + " Registered", invented + " Deleted"}
	if !slices.Equal(s.notices, want) {
		t.Errorf("told %q, want %q", s.notices, want)
	}
}

// A run that is stopped finishes the write that is under way, and begins no other.
func TestWritesAreFinishedWhenTheRunStops(t *testing.T) {
	t.Parallel()
	arrived, proceed := make(chan struct{}), make(chan struct{})
	s := newStore(t, func(_ *store, _ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			close(arrived)
			<-proceed
		}
		return false
	})
	target, ledger := s.keep()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = target.sendBounded(ctx, call{method: http.MethodPut, target: below(target, "mine", "a") + "?api-version=2020-01-01", region: "westus"})
		_, _ = target.sendBounded(ctx, call{method: http.MethodPut, target: below(target, "mine", "b") + "?api-version=2020-01-01", region: "westus"})
	}()
	<-arrived
	stop()
	close(proceed)
	<-ended
	if want := []string{below(target, "mine", "a")}; !slices.Equal(s.ids(), want) {
		t.Errorf("made %q, want %q", s.ids(), want)
	}
	clean(t, ledger)
	if ids := s.ids(); len(ids) > 0 {
		t.Errorf("still there: %q", ids)
	}
}

// Where the provider is gone, all that it may have is said to be left, within the bound.
func TestCleanEndsWithoutTheProvider(t *testing.T) {
	t.Parallel()
	s := newStore(t, nil)
	target, ledger := s.keep()
	id := below(target, "mine", "a")
	put(t, target, id)
	s.mu.Lock()
	s.answer = func(*store, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if left := ledger.Clean(ctx); !slices.Equal(left, []string{id}) {
		t.Errorf("left %q", left)
	}
}

// A run begins only where its groups hold nothing, on whichever page that shows.
func TestOccupied(t *testing.T) {
	t.Parallel()
	s := newStore(t, func(s *store, w http.ResponseWriter, r *http.Request) bool {
		if strings.Count(r.URL.Path, "/") != 5 || r.URL.Query().Get("page") != "" {
			return false // a group's list, or the last page of the subscription's
		}
		_ = json.NewEncoder(w).Encode(Object{"value": []any{}, "nextLink": "https://elsewhere.example" + r.URL.Path + "?page=2"})
		return true
	})
	target, ledger := s.keep()
	s.resources[below(target, "other", "a")] = "Succeeded"
	if held, err := ledger.Occupied(t.Context()); err != nil || len(held) > 0 || !ledger.vacant {
		t.Errorf("%q, %v", held, err)
	}
	further := below(target, "Mine-2", "a")
	s.resources[further] = "Succeeded"
	if held, err := ledger.Occupied(t.Context()); err != nil || !slices.Equal(held, []string{further}) {
		t.Errorf("%q, %v", held, err)
	}
	thing := below(target, "mine", "a")
	s.resources[thing], s.resources[thing+"/parts/b"] = "Succeeded", "Succeeded"
	if held, err := ledger.Occupied(t.Context()); err != nil || !slices.Equal(held, []string{thing + "/parts/b", thing}) {
		t.Errorf("%q, %v", held, err)
	}
}

// Where no one could see what was there before, only what the run named is removed.
func TestCleanTrustsNoListThatCouldNotBeReadBefore(t *testing.T) {
	t.Parallel()
	broken := true
	s := newStore(t, func(_ *store, w http.ResponseWriter, r *http.Request) bool {
		if broken && r.Method == http.MethodGet {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	})
	target, ledger := s.keep()
	precious := below(target, "mine", "precious")
	s.resources[precious] = "Succeeded"
	if held, err := ledger.Occupied(t.Context()); err != nil || len(held) > 0 || ledger.vacant {
		t.Errorf("%q, %v", held, err)
	}
	put(t, target, below(target, "mine", "a"))
	s.mu.Lock()
	broken = false
	s.mu.Unlock()
	clean(t, ledger)
	if ids := s.ids(); !slices.Equal(ids, []string{precious}) {
		t.Errorf("there is %q", ids)
	}
}
