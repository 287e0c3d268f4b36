package wire

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// row is one line of a table: a request and its expected effects.
type row struct {
	name string
	message
	want
}

// want is the expected effect of a request. Its zero value accepts nothing: a row names
// at least a status.
type want struct {
	status  int
	code    string // error.code; an ARM error is expected exactly if set
	text    string // error.message, exactly
	like    string // a regular expression for error.message
	target  bool   // error.target must name the fault's place
	about   string // error.target, exactly
	reaches string // the one provider that gets the request; none when empty
	either  bool   // what providers get is not checked
	as      string // the path and query that it gets; the request's own if empty
	check   func(*testing.T, reply, []received)
}

// table runs rows one after the other, each with empty records of the providers.
func (w *world) table(t *testing.T, rows []row) {
	t.Helper()
	seen := map[string]bool{}
	forgotten := false // nothing has come since the records were emptied
	for _, r := range rows {
		if seen[r.name] {
			t.Fatalf("two rows are called %q", r.name)
		}
		seen[r.name] = true
		t.Run(r.name, func(t *testing.T) {
			none := forgotten
			forgotten = false                                    // where the row ends early
			forgotten = w.try(t, r, none) == 0 && r.check == nil // which may send something
		})
	}
}

func (w *world) run(t *testing.T, r row) {
	t.Helper()
	w.try(t, r, false)
}

// try runs a row, and returns how many requests have reached providers.
func (w *world) try(t *testing.T, r row, forgotten bool) int {
	t.Helper()
	if !forgotten {
		w.forget(t)
	}
	explanation, read := w.explained(t, r.message), w.explainedRaw(t, r.message)
	if r.either { // else what an explanation has called shows below
		if called := w.received(t); len(called) > 0 {
			t.Errorf("the explanation called %v", called)
		}
	}
	got := w.send(t, r.message)
	if got.status != r.status {
		t.Errorf("status %d, want %d\n%s %.300s\n%s", got.status, r.status, r.verb(), r.message.target, got)
	}
	if r.code != "" {
		r.failed(t, got)
	}
	reached := w.received(t)
	r.arrived(t, got, reached)
	if explanation != nil && got.status != http.StatusUnauthorized { // which names no caller
		r.happened(t, explanation, got, reached)
	}
	if read != nil {
		r.happened(t, read, got, reached)
	}
	if r.check != nil {
		r.check(t, got, reached)
	}
	return len(reached)
}

// failed checks an error of the gateway itself.
func (r row) failed(t *testing.T, got reply) {
	t.Helper()
	ownAnswer(t, got)
	if cause := got.header.Get("x-ms-failure-cause"); cause != "gateway" {
		t.Errorf("x-ms-failure-cause %q, want gateway", cause)
	}
	if r.verb() == http.MethodHead {
		return
	}
	if kind := got.header.Get("Content-Type"); kind != "application/json; charset=utf-8" {
		t.Errorf("Content-Type %q, want application/json; charset=utf-8", kind)
	}
	f := got.failure(t).Error
	if f.Code != r.code {
		t.Errorf("error.code %q, want %q\n%s %.300s\n%s", f.Code, r.code, r.verb(), r.message.target, got)
	}
	if f.Message == "" {
		t.Error("error.message is empty")
	}
	if r.text != "" && f.Message != r.text {
		t.Errorf("error.message\n got %q\nwant %q", f.Message, r.text)
	}
	if r.like != "" && !regexp.MustCompile(r.like).MatchString(f.Message) {
		t.Errorf("error.message\n got %q\nwant something like %q", f.Message, r.like)
	}
	if r.want.target && f.Target == "" {
		t.Errorf("error.target is empty\n%s", got)
	}
	if r.about != "" && f.Target != r.about {
		t.Errorf("error.target %q, want %q\n%s", f.Target, r.about, got)
	}
}

// arrived checks that the request reached exactly the expected provider, once and
// unchanged.
func (r row) arrived(t *testing.T, got reply, reached []received) {
	t.Helper()
	if r.either {
		return
	}
	if r.reaches == "" {
		for _, x := range reached {
			t.Errorf("%s got %s %.300s, want no provider to get anything (answer %d)", x.region, x.method, x.target, got.status)
		}
		return
	}
	if len(reached) != 1 {
		t.Fatalf("%d requests reached providers, want 1 (answer %d)\n%v\n%s", len(reached), got.status, reached, got)
	}
	x := reached[0]
	path := r.as
	if path == "" {
		path = r.message.target
	}
	if x.region != r.reaches || x.method != r.verb() || !samePath(x.target, path) {
		t.Errorf("%s got %s %s\nwant %s to get %s %s", x.region, x.method, x.target, r.reaches, r.verb(), path)
	}
	for name, values := range x.header {
		if stamped(name) && len(values) != 1 {
			t.Errorf("the provider got %d lines of %s: %q", len(values), name, values)
		}
	}
}

// samePath reports whether two request targets are the same: the query byte by byte,
// the path except for needless escapes.
func samePath(a, b string) bool {
	pathA, queryA, _ := strings.Cut(a, "?")
	pathB, queryB, _ := strings.Cut(b, "?")
	if queryA != queryB || strings.Count(pathA, "/") != strings.Count(pathB, "/") {
		return false
	}
	plainA, errA := url.PathUnescape(pathA)
	plainB, errB := url.PathUnescape(pathB)
	return errA == nil && errB == nil && plainA == plainB
}

// stamped reports whether only the gateway may set the header name.
func stamped(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "referer", "x-ms-correlation-request-id", "host":
		return true
	case "x-ms-client-request-id":
		return false
	}
	for _, family := range []string{"client-", "home-", "arm-", "identity-", "routing-", "management-group-", "providerhub-", "original-"} {
		if strings.HasPrefix(name, "x-ms-"+family) {
			return true
		}
	}
	return false
}

func quoteMeta(text string) string { return regexp.QuoteMeta(text) }

// listing is a check that a collection contains exactly one item, with these members.
func listing(members ...string) func(*testing.T, reply, []received) {
	return func(t *testing.T, got reply, _ []received) {
		t.Helper()
		var v struct {
			Value []map[string]any `json:"value"`
		}
		if err := json.Unmarshal(got.body, &v); err != nil || len(v.Value) != 1 {
			t.Fatalf("want a collection of one (%v)\n%s", err, got)
		}
		for i := 0; i+1 < len(members); i += 2 {
			if v.Value[0][members[i]] != members[i+1] {
				t.Errorf("%s is %v, want %q", members[i], v.Value[0][members[i]], members[i+1])
			}
		}
	}
}
