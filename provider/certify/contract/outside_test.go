package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// outside is a provider as somebody writes one who knows the contract alone: right, and in
// everything that the contract leaves free as its fields say. It shares no code with the
// reference provider.
type outside struct {
	namespace string
	tracked   bool
	parts     bool   // has the nested type parts
	put       string // "201": shows what it creates; "202": hides it until it is there; "": synchronous
	later     string // of PATCH and DELETE: "202", or "": synchronous
	status    bool   // gives an Azure-AsyncOperation
	retry     string // Retry-After of what is asynchronous
	state     bool   // shows provisioningState
	etags     bool
	page      int  // records on a page, where $top does not say less; 0 for no pages
	strict    bool // refuses all that it does not know
	odd       bool // spells and adds what the contract does not fix
	defaults  bool // adds what was not said
	secret    bool // has a member that it never shows
	noHead    bool
	restricts bool   // names are of small letters and digits
	throttles bool   // refuses every fifth request for now
	noTop     bool   // refuses $top
	appends   bool   // makes a nextLink of the Referer as it came and a token behind it
	endless   string // how its lists do not end
	thin      bool   // is described by bodies of one member alone
	broken    string // the rule that it breaks; "" for none

	mu         sync.Mutex
	resources  map[string]*thing
	order      []string
	operations map[string]*running
	requests   int
	created    []string // names of all that was created
}

// description is what its owner says of it.
func (o *outside) description(t *testing.T) *Description {
	t.Helper()
	kind := ProxyOnly
	if o.tracked {
		kind = Tracked
	}
	contract := Object{
		"body":   Object{"properties": Object{"size": "small", "note": "first", "limits": Object{"most": 3, "least": 1}, "ports": []any{Object{"number": 80}}}},
		"other":  Object{"properties": Object{"size": "large", "limits": Object{"most": 5, "least": 1}}},
		"change": Object{"size": "medium", "note": nil, "limits": Object{"least": nil, "usual": 2}},
	}
	if o.thin {
		contract = Object{"body": Object{"properties": Object{"size": "small"}}, "other": Object{"properties": Object{"size": "large"}}, "change": Object{"size": "large"}}
	}
	if o.restricts {
		contract["names"] = "certify{n}"
	}
	if o.secret {
		contract["body"].(Object)["properties"].(Object)["password"] = "a secret"
		contract["writeOnly"] = []string{"properties.password"}
	}
	widgets := Object{"name": "widgets", "kind": kind, "apiVersions": []string{"2024-01-01"}, "capabilities": Object{"etags": o.etags}, "contract": contract}
	types := []any{widgets}
	if o.parts {
		types = append(types, Object{"name": "widgets/parts", "kind": ProxyOnly, "apiVersions": []string{"2024-01-01"}, "contract": contract})
	}
	text, err := json.Marshal(Object{"providers": []any{Object{"namespace": o.namespace, "resourceTypes": types}}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Load(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// certify runs the suite on the provider.
func (o *outside) certify(t *testing.T, profiles []Profile) []Result {
	t.Helper()
	if o.namespace == "" {
		o.namespace = "Acme.Stuff"
	}
	o.resources, o.operations = map[string]*thing{}, map[string]*running{}
	server := httptest.NewServer(o)
	defer server.Close()
	var r Recorder
	err := Try(t.Context(), Target{
		Adapter: Straight(map[string]string{"westus": server.URL}), Description: o.description(t),
		Claimed: profiles, Workers: 16, Limits: Limits{Wait: 10 * time.Second, Pause: 5 * time.Millisecond},
	}, &r)
	if err != nil {
		t.Fatal(err)
	}
	return r.Results()
}

// is reports whether the provider breaks a rule.
func (o *outside) is(name string) bool { return o.broken == name }

// refusal is an error answer.
type refusal struct {
	status        int
	code, message string
}

func refuse(status int, code string) refusal { return refusal{status, code, "it is " + code} }

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests++
	id := fmt.Sprintf("request-%d", o.requests)
	switch {
	case o.is("request-id-is-the-routing-id"):
		id = r.Header.Get("x-ms-routing-request-id")
	case o.is("request-id-repeated"):
		id = "request"
	case o.is("request-id-is-the-correlation-id"):
		id = r.Header.Get("x-ms-correlation-request-id")
	}
	if !o.is("no-request-id") {
		w.Header().Set("x-ms-request-id", id)
	}
	defer func() {
		if failure := recover(); failure != nil {
			e, ours := failure.(refusal)
			if !ours {
				panic(failure)
			}
			o.fail(w, r, e)
		}
	}()
	if o.throttles && o.requests%5 == 0 {
		w.Header().Set("Retry-After", "0")
		panic(refuse(429, "TooMany"))
	}
	o.serve(w, r)
}

func (o *outside) fail(w http.ResponseWriter, r *http.Request, e refusal) {
	body := any(Object{"error": Object{"code": e.code, "message": e.message}})
	switch {
	case o.is("errors-are-bare"):
		body = Object{"code": e.code, "message": e.message}
	case o.odd:
		body = Object{"error": Object{"code": "Acme" + e.code, "message": e.message, "target": "it", "details": []any{}}, "trace": "x"}
	}
	o.write(w, r, e.status, body)
}

func (o *outside) write(w http.ResponseWriter, r *http.Request, status int, body any) {
	if body == nil || status == http.StatusNoContent || status == http.StatusNotModified {
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	polls := strings.Contains(strings.ToLower(r.URL.Path), "/operation")
	switch {
	case o.is("json-as-text"), status < 300 && (o.is("writes-as-text") && r.Method != http.MethodGet || o.is("polls-as-text") && polls):
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	case o.is("json-in-a-parameter"):
		w.Header().Set("Content-Type", `text/plain; profile="application/json"`)
	}
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(body) // the client may have gone
	}
}

var (
	badName  = regexp.MustCompile(`[<>%&:\\?/\x00-\x1f\x7f]`)
	badGroup = regexp.MustCompile(`[^A-Za-z0-9_().-]|\.$|^.{91}`)
)

func (o *outside) serve(w http.ResponseWriter, r *http.Request) {
	if version := r.URL.Query().Get("api-version"); version != "2024-01-01" && version != "2.0" && !o.is("any-api-version") {
		panic(refuse(400, "BadVersion"))
	}
	if r.Method == http.MethodHead && o.noHead {
		panic(refuse(405, "NotAllowed"))
	}
	segments := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil {
			panic(refuse(400, "BadPath"))
		}
		segments[i] = plain
	}
	if len(segments) > 3 && badGroup.MatchString(segments[3]) {
		panic(refuse(400, "BadGroup"))
	}
	same := func(i int, word string) bool { return i < len(segments) && strings.EqualFold(segments[i], word) }
	switch {
	case len(segments) == 2 && same(0, "subscriptions") && r.Method == http.MethodPut:
		o.write(w, r, 200, Object{})
		return
	case len(segments) > 4 && same(2, "providers") && (same(3, o.namespace) || o.is("urls-elsewhere") && same(3, "Acme.Else")) && (same(4, "operationResults") || same(4, "operationStatuses")):
		o.poll(w, r, segments)
		return
	case len(segments) == 5 && same(2, "providers") && same(3, o.namespace) && same(4, "widgets"):
		if o.is("foreign-list-403") && !slices.ContainsFunc(o.order, func(key string) bool { return strings.Contains(key, strings.ToLower(segments[1])) }) {
			panic(refuse(403, "Forbidden"))
		}
		o.list(w, r, "/subscriptions/"+segments[1]+"/", "widgets")
		return
	case len(segments) < 7 || !same(2, "resourceGroups") || !same(4, "providers") || !same(5, o.namespace) || !same(6, "widgets"):
		panic(refuse(404, "NoSuchType"))
	}
	var kind string
	switch rest := segments[6:]; {
	case len(rest) == 1:
		o.list(w, r, "/"+strings.Join(segments[:6], "/")+"/widgets/", "widgets")
		return
	case len(rest) == 2:
		kind = "widgets"
	case len(rest) == 3 && o.parts && strings.EqualFold(rest[2], "parts"):
		o.owner(segments)
		o.list(w, r, "/"+strings.Join(segments[:8], "/")+"/parts/", "parts")
		return
	case len(rest) == 4 && o.parts && strings.EqualFold(rest[2], "parts"):
		kind = "parts"
		if r.Method == http.MethodPut || r.Method == http.MethodGet {
			o.owner(segments)
		}
	default:
		panic(refuse(404, "NoSuchAction"))
	}
	name := segments[len(segments)-1]
	if o.is("bad-names-403") && badName.MatchString(name) {
		panic(refuse(403, "Forbidden"))
	}
	if !o.is("any-name") && (badName.MatchString(name) || len(name) > 260) {
		panic(refuse(400, "BadName"))
	}
	if o.strict && !regexp.MustCompile(`^[A-Za-z0-9-]{1,60}$`).MatchString(name) {
		panic(refuse(400, "StricterName"))
	}
	o.resource(w, r, "/"+strings.Join(segments, "/"), kind)
}
