package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A client waits for two transactions, whatever its provider answers: the intent, which
// is on disk before the provider is called, and the answer's effect, which the next
// reader sees but whose flush no one waits for, unless the client is told of something to
// poll, which the effect has the record of.
func TestAWriteTakesTwoCommits(t *testing.T) {
	for _, engine := range engines {
		t.Run(engine, func(t *testing.T) {
			provider := httptest.NewServer(http.HandlerFunc(answerAsRequested))
			defer provider.Close()
			front, store := newGateway(t, engine, provider.URL)
			write := func(method, name, answer string) int {
				t.Helper()
				body := map[string]string{
					http.MethodPut: `{"location":"westus","tags":{"env":"prod"}}`, http.MethodPatch: `{"tags":{"env":"test"}}`,
				}[method]
				r := httptest.NewRequest(method, machines+name+version, strings.NewReader(body))
				r.Host = "portico.example"
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("X-Answer", answer)
				w := httptest.NewRecorder()
				front.ServeHTTP(w, r)
				return w.Code
			}
			for _, c := range []struct {
				method, name, answer string
				status               int
				durable, visible     uint64
			}{
				{"PUT", "a", "201", 201, 1, 1},
				{"PUT", "a", "200", 200, 1, 1},
				{"PUT", "a", "200 Updating", 200, 1, 1},
				{"PUT", "b", "201 Creating polled", 201, 2, 0},
				{"PUT", "c", "202 polled", 202, 2, 0},
				{"PUT", "d", "400", 400, 1, 1},
				{"PUT", "d", "409", 409, 1, 1},
				{"PUT", "e", "500", 500, 1, 1},
				{"PUT", "e", "broken", 502, 1, 1},
				{"PATCH", "a", "200", 200, 1, 1},
				{"PATCH", "a", "200 Updating", 200, 1, 1},
				{"PATCH", "a", "202 polled", 202, 2, 0},
				{"PATCH", "a", "404", 404, 1, 1},
				{"PATCH", "a", "broken", 502, 1, 1},
				{"DELETE", "a", "200", 200, 1, 1},
				{"DELETE", "b", "202 polled", 202, 2, 0},
				{"DELETE", "c", "409", 409, 1, 1},
				{"DELETE", "d", "404", 404, 1, 1},
				{"DELETE", "e", "204", 204, 1, 1},
				// Nothing is sent if nothing exists. What is refused is an event.
				{"DELETE", "none", "200", 204, 0, 0},
				{"PATCH", "none", "200", 404, 0, 1},
			} {
				before := store.Stats()
				if status := write(c.method, c.name, c.answer); status != c.status {
					t.Errorf("%s of %s, answered %s: %d", c.method, c.name, c.answer, status)
				}
				after := store.Stats()
				commits, durable := after.Commits-before.Commits, after.Flushes-before.Flushes
				if durable != c.durable || commits-durable != c.visible {
					t.Errorf("%s of %s, answered %s: %d durable and %d visible commits, want %d and %d",
						c.method, c.name, c.answer, durable, commits-durable, c.durable, c.visible)
				}
			}
		})
	}
}

// answerAsRequested is a provider that answers as X-Answer says: a status, or broken, then
// optionally a provisioningState and whether there is a polling URL.
func answerAsRequested(w http.ResponseWriter, r *http.Request) {
	replies := strings.Fields(r.Header.Get("X-Answer"))
	if len(replies) == 0 { // the gateway's own call
		replies = []string{"404"}
	}
	if replies[0] == "broken" {
		panic(http.ErrAbortHandler)
	}
	var status int
	if _, err := fmt.Sscan(replies[0], &status); err != nil {
		panic(err)
	}
	state := "Succeeded"
	for _, word := range replies[1:] {
		if word != "polled" {
			state = word
			continue
		}
		operation := "http://" + r.Host + "/subscriptions/" + subscription + "/providers/Contoso.Compute/locations/westus/"
		w.Header().Set("Azure-AsyncOperation", operation+"operationStatuses/1"+version)
		if status == http.StatusAccepted {
			w.Header().Set("Location", operation+"operationResults/1"+version)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		fmt.Fprintf(w, `{"id":%q,"location":"westus","properties":{"provisioningState":%q}}`, r.URL.Path, state)
	}
}
