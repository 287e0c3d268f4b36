package hostile

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// settled limits the wait for events that only time brings, such as expiry.
const settled = 2 * time.Minute

// eventuallySettled waits for such an event.
func eventuallySettled(t *testing.T, what string, is func() bool) {
	t.Helper()
	harness.Await(t, settled, what, is)
}

// big makes the provider answer every GET of things/big with size bytes.
func (w world) big(size int) {
	text := `{"properties":{"text":"` + strings.Repeat("x", size) + `"}}`
	w.provider.On(http.MethodGet, "/things/big", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(text))
	})
}

func (w world) databaseSize(t *testing.T) int64 {
	t.Helper()
	info, err := os.Stat(w.Portico.Database)
	harness.OK(t, err)
	return info.Size()
}

// The store keeps the answers of one caller's batches only up to a limit. Other callers
// still have room.
func TestStoreSpaceOfBatchesIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: "limits: {answerBody: 5MiB}\nbatch: {immediate: 1, atOnce: 1, stored: 12MiB, totalStored: 64MiB}\n"})
	w.group(t, "rg")
	thing := w.thing("rg", "big")
	w.put(t, thing)
	w.big(4 << 20)
	refused, kept := 0, 0
	for range 8 {
		a := w.as(t, alice, http.MethodPost, batchPath, batchOf(3, thing+api)).Want(t, 202, 429)
		if a.Status == 429 {
			a.WantError(t, 429, "TooManyRequests")
			if a.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			refused++
			continue
		}
		for _, r := range w.end(t, alice, w.resultOf(a)) {
			switch {
			case r.HTTPStatusCode == 200:
				kept += r.ContentLength
			case r.HTTPStatusCode == 429 && r.code() == "TooManyRequests" && r.Headers["Retry-After"] != "":
				refused++
			default:
				t.Errorf("%d %s", r.HTTPStatusCode, r.Content)
			}
		}
	}
	if most := 12 << 20; kept > most || refused == 0 {
		t.Errorf("the answers of one caller take %d bytes of %d, and %d were refused", kept, most, refused)
	}
	if size := w.databaseSize(t); size > 24<<20 {
		t.Errorf("the store has %d bytes", size)
	}
	for _, r := range w.end(t, carol, w.begin(t, carol, batchOf(2, thing+api))) {
		if r.HTTPStatusCode != 200 {
			t.Errorf("another caller got %d %s", r.HTTPStatusCode, r.Content)
		}
	}
}

// Answers of batches expire, and their space is reused: the file does not grow.
func TestTheStoreReusesSpaceOfBatches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: "limits: {answerBody: 5MiB}\nbatch: {immediate: 1, atOnce: 1, stored: 12MiB, totalStored: 64MiB, answersKept: 1s}\n"})
	w.group(t, "rg")
	thing := w.thing("rg", "big")
	w.put(t, thing)
	w.big(2 << 20)
	var most int64
	for round := range 6 {
		polls := []string{}
		for range 2 {
			eventuallySettled(t, "room for a batch", func() bool {
				a := w.as(t, alice, http.MethodPost, batchPath, batchOf(2, thing+api)).Want(t, 202, 429)
				if a.Status == 202 {
					polls = append(polls, w.resultOf(a))
				}
				return a.Status == 202
			})
		}
		for _, poll := range polls {
			eventuallySettled(t, "expiry of a batch", func() bool {
				// If a batch is forgotten while its answer is sent, the answer breaks off.
				a, err := w.Portico.Try(t.Context(), harness.Request{Path: poll, Header: harness.Header("Authorization", "Bearer "+alice.Raw)})
				return err == nil && a.Want(t, 200, 202, 404).Status == 404
			})
		}
		if size := w.databaseSize(t); round < 3 {
			most = max(most, size)
		} else if size > most+4<<20 {
			t.Fatalf("after round %d the store has %d bytes, after the first ones %d", round, size, most)
		}
	}
}

// Names of tags, and locks below one resource, have limits.
func TestRowsOfASubscriptionAreBounded(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{Settings: "limits: {tagNamesPerSubscription: 6, locksPerSubscription: 25}\n"})
	name := func(i int) string {
		return fmt.Sprintf("%s/tagNames/n%d?api-version=2021-04-01", w.SubscriptionPath(), i)
	}
	for i := range 6 {
		w.as(t, alice, http.MethodPut, name(i), "").Want(t, 201)
	}
	w.as(t, alice, http.MethodPut, name(6), "").WantError(t, 409, "TagQuotaExceeded")
	value := strings.Replace(name(0), "?", "/tagValues/v?", 1)
	w.as(t, alice, http.MethodPut, value, "").WantError(t, 409, "TagQuotaExceeded")
	w.as(t, alice, http.MethodPut, name(5), "").Want(t, 200) // it exists
	w.as(t, alice, http.MethodDelete, name(5), "").Want(t, 200)
	w.as(t, alice, http.MethodPut, value, "").Want(t, 201)
	w.as(t, alice, http.MethodPut, name(6), "").WantError(t, 409, "TagQuotaExceeded")

	lock := func(i int) harness.Answer {
		path := fmt.Sprintf("%s/notes/n%d/providers/Microsoft.Authorization/locks/l?api-version=2020-05-01", thing, i)
		return w.as(t, alice, http.MethodPut, path, `{"properties":{"level":"CanNotDelete"}}`)
	}
	for i := range 25 {
		lock(i).Want(t, 201)
	}
	lock(25).WantError(t, 409, "LockQuotaExceeded")
	lock(0).Want(t, 200)
}

// A provider accepts every request, and returns a new polling URL each time. One caller
// has a limited number of records; beyond it her next call is not sent, and accepted
// operations can still be polled.
func TestOperationsOfACallerAreBounded(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{Settings: "operations: {perCaller: 12, learned: 3, retryAfterMin: 1s, firstAnswer: 0s}\n"})
	n := 0
	w.provider.On(http.MethodPost, "/start", func(rw http.ResponseWriter, _ *http.Request) {
		n++
		rw.Header().Set("Location", fmt.Sprintf("%s/providers/Evil.Test/locations/westus/operationResults/o%d%s", w.SubscriptionPath(), n, api))
		rw.WriteHeader(http.StatusAccepted)
	})
	w.provider.On(http.MethodGet, "/operationResults/", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"done":true}`))
	})
	var polls []string
	for range 40 {
		a := w.as(t, alice, http.MethodPost, thing+"/start"+api, `{}`).Want(t, 202, 429)
		if a.Status == 202 {
			polls = append(polls, w.resultOf(a))
			continue
		}
		a.WantError(t, 429, "TooManyRequests")
		if a.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		break
	}
	if len(polls) != 12 || n != 12 {
		t.Errorf("%d operations are remembered, and %d were sent", len(polls), n)
	}
	w.as(t, alice, http.MethodPut, thing+api, located("westus")).WantError(t, 429, "TooManyRequests")
	for _, poll := range polls {
		w.as(t, alice, http.MethodGet, poll, "").Want(t, 200)
		w.as(t, bob, http.MethodGet, poll, "").Want(t, 404)
	}
	w.as(t, carol, http.MethodPost, thing+"/start"+api, `{}`).Want(t, 202)
	w.as(t, carol, http.MethodPut, thing+api, located("westus")).Want(t, 200)
}

// Resources come and go, each with a new name. The records of deleted ones are limited.
func TestRemovedResourcesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Settings: "limits: {tombstonesPerSubscription: 6}\n"})
	w.group(t, "rg")
	removed := 0
	for i := range 20 {
		thing := w.thing("rg", fmt.Sprintf("t%d", i))
		a := w.as(t, alice, http.MethodPut, thing+api, located("westus")).Want(t, 201, 429)
		if a.Status == 429 {
			a.WantError(t, 429, "TooManyRequests")
			if a.Header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			break
		}
		w.as(t, alice, http.MethodDelete, thing+api, "").Want(t, 200)
		removed++
	}
	if removed != 6 {
		t.Errorf("%d resources that went are remembered", removed)
	}
	group := strings.Replace(w.GroupPath("rg"), ours, theirs, 1)
	thing := strings.Replace(w.thing("rg", "one"), ours, theirs, 1)
	w.as(t, bob, http.MethodPut, group+"?api-version=2021-04-01", located("westus")).Want(t, 201)
	w.as(t, bob, http.MethodPut, thing+api, located("westus")).Want(t, 201)
}
