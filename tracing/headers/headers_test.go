package headers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestToProvider(t *testing.T) {
	from := http.Header{
		"Accept": {"a", "b"}, "X-Ms-Version": {"1"}, "X-Ms-Client-Request-Id": {"mine"}, "X-Mark": {"2"}, "Empty": nil, "If-Match": {},
		"X-Ms-Client-Object-Id": {"x"}, "X-Ms-Authorization-Auxiliary": {"x"}, "X-Ms-Odd~name": {"x"}, "X-Ms_odd": {"x"}, "X-Other": {"x"}, "X-Hop": {"x"},
		"Content-Length": {"5"}, "Host": {"x"}, "Te": {"x"}, "Connection": {"X-Hop, accept", " x-marked"}, "Authorization": {"x"},
	}
	got := ToProvider(from, map[string]bool{"X-Mark": true, "X-Hop": true})
	want := http.Header{"Accept": {"a", "b"}, "X-Ms-Version": {"1"}, "X-Ms-Client-Request-Id": {"mine"}, "X-Mark": {"2"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got.Add("Accept", "c")
	if len(from["Accept"]) != 2 {
		t.Error("the request's own header was changed")
	}
}

// ToProvider allocates only the map of the call.
func TestPassingAllocatesNothingPerHeader(t *testing.T) {
	few, many := http.Header{}, http.Header{}
	for name := range requestNames {
		many[name] = []string{"a"}
	}
	for i := range 30 {
		many[fmt.Sprintf("X-Ms-Other-%d", i)], many[fmt.Sprintf("X-Unknown-%d", i)] = []string{"a"}, []string{"b"}
	}
	also := map[string]bool{"X-Mark": true}
	for what, call := range map[string]func(h http.Header){
		"judging": func(h http.Header) {
			for name := range h {
				_ = PassesToProviders(name) || PassesToClients(name) || also[name]
			}
		},
		"the bound":      func(h http.Header) { TooMuchForProvider(h, also) },
		"the Connection": func(h http.Header) { _ = NamedByConnection(h) },
	} {
		if n := testing.AllocsPerRun(100, func() { call(many) }); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	empty := testing.AllocsPerRun(100, func() { ToProvider(few, also) })
	clone := testing.AllocsPerRun(100, func() { _ = many.Clone() })
	if n := testing.AllocsPerRun(100, func() { ToProvider(many, also) }); n > clone || empty > clone {
		t.Errorf("%v allocations of a call with many headers, %v of one with none; a copy of the headers takes %v", n, empty, clone)
	}
}

func TestTooMuchForProvider(t *testing.T) {
	h := http.Header{"X-Unknown": {strings.Repeat("a", 20<<10)}}
	for i := range maxLines {
		h[fmt.Sprintf("X-Ms-%d", i)] = []string{"a"}
	}
	if TooMuchForProvider(h, nil) {
		t.Error("what does not pass counts")
	}
	if !TooMuchForProvider(h, map[string]bool{"X-Unknown": true}) {
		t.Error("what the map lets through does not count")
	}
	h["Accept"] = []string{"a"}
	if !TooMuchForProvider(h, nil) {
		t.Error("too many lines")
	}
	if !TooMuchForProvider(http.Header{"Accept": {strings.Repeat("a", maxBytes)}}, nil) {
		t.Error("too many bytes")
	}
}

func TestNamedByConnection(t *testing.T) {
	for line, want := range map[string]string{
		"": "", "close": "", "keep-alive, Upgrade, HTTP2-Settings, TE, Trailer": "", "x-hop": "", "x-ms-client-tenant-id": "", "Transfer-Encoding": "",
		"if-match": "If-Match", "close,\tIF-MATCH ": "If-Match", ", ,content-type": "Content-Type", "authorization": "Authorization", "x-ms-version": "X-Ms-Version",
	} {
		if got := NamedByConnection(http.Header{"Connection": {"close", line}}); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestToClient(t *testing.T) {
	from := http.Header{
		"Etag": {"a"}, "Location": {strings.Repeat("a", 20<<10)}, "X-Ms-Version": {"1"}, "X-Ms-Arm-Service-Request-Id": {"2"}, "X-Mark": {"3"}, "X-Ms-Request-Id": {"4"},
		"Set-Cookie": {"x"}, "X-Ms-Routing-Request-Id": {"x"}, "X-Ms-Correlation-Request-Id": {"x"}, "X-Ms-Portico-Completed": {"x"}, "X-Ms-Failure-Cause": {"x"}, "Date": {"x"},
	}
	to := http.Header{"Before": {"a"}}
	if n := ToClient(to, from, map[string]bool{"X-Mark": true}); n != 0 {
		t.Errorf("%d lines were dropped", n)
	}
	for name := range from {
		if passed := to[name] != nil; passed == (from[name][0] == "x") {
			t.Errorf("%s: %v", name, passed)
		}
	}
	if to["Before"] == nil {
		t.Error("what was there is gone")
	}
}

// If there are too many headers, the standard ones stay.
func TestToClientDropsTheRestFirst(t *testing.T) {
	from := http.Header{"Etag": {"a"}, "Content-Type": {"b"}, "Location": {"c"}, "X-Ms-Many": slices.Repeat([]string{"a"}, maxLines), "X-Ms-Long": {strings.Repeat("a", maxBytes)}}
	for i := range 100 {
		from[fmt.Sprintf("X-Ms-%03d", i)] = []string{"a"}
	}
	to := http.Header{}
	dropped := ToClient(to, from, nil)
	if to["Etag"] == nil || to["Content-Type"] == nil || to["Location"] == nil || to["X-Ms-000"] == nil || to["X-Ms-Many"] != nil || to["X-Ms-Long"] != nil {
		t.Errorf("%v", to)
	}
	if lines := len(to); lines != maxLines+1 || dropped != 100+maxLines+1+3-lines {
		t.Errorf("%d lines, %d dropped", lines, dropped)
	}
}

func TestMayList(t *testing.T) {
	for name, want := range map[string][2]bool{ // of requests, of answers
		"X-Contoso-Trace": {true, true}, "x-contoso-trace": {true, true}, "Link": {true, true}, "x-ms-version": {true, true}, "Set-Cookie": {true, false}, "Access-Control-Max-Age": {true, false},
		"x-accel-redirect": {true, false}, "Authorization": {}, "cookie": {}, "Connection": {}, "Te": {}, "Proxy": {}, "Expect": {}, "Host": {}, "Transfer-Encoding": {},
		"x-ms-client-object-id": {}, "x-ms-portico-completed": {}, "X_odd": {}, "": {}, "a b": {}, strings.Repeat("a", maxNameLength+1): {},
		"Content-Length": {false, true}, "Www-Authenticate": {true, false}, "x-ms-failure-cause": {true, false}, "Remote-User": {},
	} {
		if got := [2]bool{CanListRequest(name), CanListAnswer(name)}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for name, passes := range map[string]bool{
		"X-Ms-Ratelimit-Remaining-Resource": true, "X-Ms-Ratelimit-Remaining-Subscription-Reads": false, "X-Ms-Ratelimit-Remaining-Subscription-Global-Deletes": false,
		"X-Ms-Ratelimit-Remaining-Subscription-Resource-Requests": false, "X-Ms-Ratelimit-Remaining-Tenant-Writes": false,
	} {
		if PassesToClients(name) != passes || CanListAnswer(name) != passes {
			t.Errorf("%s passes to clients: %v, or may be listed", name, !passes)
		}
	}
	for _, name := range hopByHop {
		if CanListRequest(name) || CanListAnswer(name) || PassesToProviders(name) || PassesToClients(name) {
			t.Errorf("%s", name)
		}
	}
}

func TestFields(t *testing.T) {
	f := Stamps()
	for i := range stampCapacity + 2 {
		f.Set(fmt.Sprintf("X-%d", i), "a")
	}
	f.Set("X-1", "b")
	h := http.Header{"X-0": {"c", "d"}, "X-Other": {"e"}}
	f.AddTo(h)
	if len(f) != stampCapacity+2 || f.Get("X-1") != "b" || f.Get("X-2") != "a" || f.Get("X-None") != "" || len(h) != stampCapacity+3 || fmt.Sprint(h["X-0"], h["X-1"], h["X-Other"]) != "[a] [b] [e]" {
		t.Errorf("%v; %v", f, h)
	}
}
