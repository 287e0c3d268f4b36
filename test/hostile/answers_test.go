package hostile

import (
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Nor does the form of a provider's answer: a resource with a million tags is passed
// on, and none of them are stored; invalid JSON does not grow without bound as a text
// in a batch's answer.
func TestNoAnswerCostsMuchMoreThanItself(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the peak of a process's memory is read from /proc")
	}
	w, thing := newThing(t, options{Environment: tight})
	list := w.GroupPath("rg") + "/providers/Evil.Test/things" + api
	before := peak(t, w.Portico.Pid())
	tagged := numbered(`{"location":"westus","tags":{`, `"%d":""`, `}}`)
	for _, c := range []struct{ name, ask, method, path, body, answer, want string }{
		{"tags of a resource that was written", "PUT", "PUT", thing + api, located("westus"), tagged, "200"},
		{"tags of a resource", "GET", "GET", thing + "/providers/Microsoft.Resources/tags/default?api-version=2021-04-01", "", tagged, "502 InvalidProviderResponse"},
		{"a page in a batch", "GET", "POST", "/batch?api-version=2020-06-01", `{"requests":[{"httpMethod":"GET","url":"` + thing + api + `"}]}`, filled("<html>", "<", ""), "200"},
		{"a refusal", "GET", "GET", list, "", filled(`{"error":{"code":"`, "<", `"}}`), "400"},
		{"a list of nothing", "GET", "GET", list, "", `{"value":[` + strings.Repeat(`{},`, 99_999) + `{}]}`, ""},
	} {
		w.provider.On(c.ask, "Evil.Test/things", func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			if c.want == "400" {
				rw.WriteHeader(http.StatusBadRequest)
			}
			_, _ = io.WriteString(rw, c.answer) // Portico may have ended
		})
		var attack sync.WaitGroup
		for range 4 {
			attack.Go(func() {
				if got := w.as(t, alice, c.method, c.path, c.body); !strings.HasPrefix(refusalOf(got), c.want) || got.Status == 500 {
					t.Errorf("%s: %s, want %s: %.300s", c.name, refusalOf(got), c.want, got.Body)
				}
			})
		}
		attack.Wait()
		if now := peak(t, w.Portico.Pid()); now > before+mostOfAttack {
			t.Fatalf("%s: the process held %d MiB at its peak, and %d MiB before", c.name, now>>20, before>>20)
		}
	}
}
