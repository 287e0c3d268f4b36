package contract

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
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
	broken    string // the rule that it breaks; "" for none

	mu         sync.Mutex
	resources  map[string]*thing
	order      []string
	operations map[string]*running
	requests   int
	made       []string // names of all that was created
}

// thing is a resource of an outside provider.
type thing struct {
	id, kind         string
	location         string
	tags, properties Object
	state            string
	version          int
	hidden           bool
}

// running is an operation of an outside provider.
type running struct {
	owner, tenant, subscription string
	left                        int // questions about it until it ends: it depends on no clock
	finish                      func()
	result                      func() (int, any)
	target                      string
	over                        bool
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
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_ = json.NewEncoder(w).Encode(body) // the client may have gone
	}
}

// asked counts a question about an operation, and ends the operation with the last.
func (o *outside) asked(op *running) {
	if op.left--; op.left < 0 && !op.over {
		op.over = true
		op.finish()
	}
}

var (
	version = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-(preview|alpha|beta|rc|privatepreview))?$`)
	badName = regexp.MustCompile(`[<>%&:\\?/\x00-\x1f\x7f]`)
)

func (o *outside) serve(w http.ResponseWriter, r *http.Request) {
	if !version.MatchString(r.URL.Query().Get("api-version")) && !o.is("any-api-version") {
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

// owner refuses what is below a resource that is not there.
func (o *outside) owner(segments []string) {
	parent := "/" + strings.Join(segments[:8], "/")
	if o.find(parent) == nil && !o.is("orphans") {
		panic(refuse(404, "NoParent"))
	}
}

func (o *outside) key(id string) string {
	if o.is("names-with-case") {
		return id
	}
	return strings.ToLower(id)
}

func (o *outside) find(id string) *thing {
	if t := o.resources[o.key(id)]; t != nil && !t.hidden {
		return t
	}
	return nil
}

// show is a resource as a GET has it.
func (o *outside) show(t *thing) Object {
	properties := maps.Clone(t.properties)
	delete(properties, "password")
	if o.defaults {
		if _, said := properties["note"]; !said {
			properties["note"] = "none"
		}
		properties["created"] = "by Acme"
		for _, p := range properties {
			if ports, ok := p.([]any); ok {
				for _, port := range ports {
					port.(Object)["protocol"] = "tcp"
				}
			}
		}
	}
	if o.state && !(o.is("state-vanishes") && t.state == "Succeeded") {
		properties["provisioningState"] = t.state
	}
	id, typeName := t.id, o.namespace+"/widgets"
	if t.kind == "parts" {
		typeName += "/parts"
	}
	switch {
	case o.odd:
		typeName = strings.ToUpper(typeName)
	case o.is("type-without-namespace"):
		typeName = t.kind
	case o.is("id-encoded"):
		id = escape(id)
	case o.is("id-with-host"):
		id = "https://acme.example" + id
	case o.is("names-normalized"):
		id = strings.ToLower(id)
	}
	shown := Object{"id": id, "name": nameOf(id), "type": typeName, "properties": properties}
	if o.tracked && t.kind == "widgets" {
		shown["location"] = t.location
		shown["tags"] = t.tags
	} else if o.is("proxy-with-tags") && t.tags != nil {
		shown["tags"] = t.tags
	}
	if o.etags {
		shown["etag"] = t.tag(o)
	}
	if o.odd {
		shown["properties"] = overlay(properties, Object{"acmeExtra": Object{"a": nil}})
	}
	return shown
}

func (t *thing) tag(o *outside) string {
	version := t.version
	if o.is("etag-constant") {
		version = 1
	}
	tag := fmt.Sprintf(`"v%d"`, version)
	if o.is("etag-strong") {
		return tag
	}
	return "W/" + tag
}

func (o *outside) answer(w http.ResponseWriter, r *http.Request, status int, t *thing) {
	if o.etags && !o.is("etag-not-in-header") {
		w.Header().Set("ETag", t.tag(o))
	}
	body := o.show(t)
	if o.is("put-answers-id-alone") && r.Method == http.MethodPut {
		body = Object{"id": t.id, "name": nameOf(t.id), "type": o.namespace + "/widgets"}
	}
	o.write(w, r, status, body)
}

func (o *outside) resource(w http.ResponseWriter, r *http.Request, id, kind string) {
	for _, op := range o.operations {
		if r.Method == http.MethodGet && o.key(op.target) == o.key(id) {
			o.asked(op)
		}
	}
	t := o.find(id)
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if t == nil {
			if o.is("absent-204") {
				w.WriteHeader(204)
				return
			}
			panic(refuse(404, "NotFound"))
		}
		if o.is("secret-lost") {
			shown := *t
			shown.properties = maps.Clone(t.properties)
			delete(shown.properties, "limits")
			t = &shown
		}
		o.answer(w, r, 200, t)
	case http.MethodPut:
		o.putThing(w, r, id, kind, t)
	case http.MethodPatch:
		o.patchThing(w, r, id, t)
	case http.MethodDelete:
		o.deleteThing(w, r, id, t)
	default:
		panic(refuse(405, "NotAllowed"))
	}
}

// body reads a request's object.
func (o *outside) body(r *http.Request) Object {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		panic(refuse(400, "BadBody"))
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		panic(refuse(400, "BadBody"))
	}
	body, ok := v.(Object)
	if !ok {
		if o.is("arrays-accepted") {
			return Object{"location": "westus", "properties": Object{}}
		}
		panic(refuse(400, "BadBody"))
	}
	if o.is("properties-first-refused") && strings.HasPrefix(string(text), `{"properties"`) && strings.Contains(string(text), `"location"`) {
		panic(refuse(400, "BadOrder"))
	}
	return body
}

// precondition refuses by the contract's table.
func (o *outside) precondition(r *http.Request, t *thing) {
	if !o.etags || o.is("preconditions-ignored") {
		return
	}
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case match != "" && t == nil && r.Method == http.MethodPut:
		panic(refuse(412, "Stale"))
	case match != "" && match != "*" && t != nil && match != t.tag(o) && !(o.is("delete-without-precondition") && r.Method == http.MethodDelete):
		panic(refuse(412, "Stale"))
	case none == "*" && t != nil && r.Method == http.MethodPut && !o.is("if-none-match-ignored"):
		panic(refuse(412, "Stale"))
	}
}

// writable are the members of a request beside properties.
func (o *outside) members(body Object, t *thing, kind string, patch bool) {
	for name, value := range body {
		switch name {
		case "id", "name", "type", "etag", "systemData":
			if o.strict && t != nil && value != o.show(t)[name] {
				panic(refuse(422, "ReadOnly"))
			} else if o.strict && t == nil {
				panic(refuse(422, "Unknown"))
			}
		case "properties":
		case "location", "tags":
			if o.strict && (!o.tracked || kind == "parts") {
				panic(refuse(400, "NotTracked"))
			}
		default:
			if o.strict {
				panic(refuse(400, "Unknown"))
			}
		}
	}
	properties, isObject := body["properties"].(Object)
	if body["properties"] != nil && !isObject {
		panic(refuse(400, "BadProperties"))
	}
	if sent, said := properties["provisioningState"]; said && o.state && !o.is("state-not-compared") {
		if t == nil || sent != t.state {
			panic(refuse(400, "BadState"))
		}
	}
	if o.strict {
		for name := range properties {
			if !slices.Contains([]string{"size", "note", "limits", "ports", "password", "provisioningState", "created", "acmeExtra"}, name) {
				panic(refuse(400, "UnknownProperty"))
			}
		}
	}
	if tags, said := body["tags"]; said && tags != nil {
		o.checkTags(tags)
	}
	location, _ := body["location"].(string)
	if o.tracked && kind == "widgets" && location == "" && !patch && !o.is("location-optional") {
		panic(refuse(400, "LocationRequired"))
	}
	if t != nil && location != "" && o.tracked && kind == "widgets" && !samePlace(location, t.location) && !o.is("location-changes") {
		panic(refuse(409, "LocationStays"))
	}
	if o.strict && location != "" && !samePlace(location, "westus") {
		panic(refuse(400, "NotHere"))
	}
}

func (o *outside) checkTags(v any) {
	tags, ok := v.(Object)
	if !ok {
		panic(refuse(400, "BadTags"))
	}
	for name, value := range tags {
		s, isText := value.(string)
		long := len(s) > 256 && !o.is("long-tags")
		if !isText || long || len(name) > 512 || regexp.MustCompile(`[<>%&\\?/\x00-\x1f]`).MatchString(name) && !o.is("any-tag-name") {
			panic(refuse(400, "BadTag"))
		}
	}
}

func (o *outside) putThing(w http.ResponseWriter, r *http.Request, id, kind string, t *thing) {
	if o.is("put-refused-where-it-exists") && t != nil {
		panic(refuse(409, "Exists"))
	}
	body := o.body(r)
	o.precondition(r, t)
	o.members(body, t, kind, false)
	if name, _ := body["name"].(string); o.is("name-from-the-body") && name != "" {
		id = collection(id) + "/" + name
		t = o.find(id)
	}
	status := 200
	if t == nil {
		if o.restricts && !regexp.MustCompile("^[a-z0-9]{3,24}$").MatchString(nameOf(id)) {
			panic(refuse(400, "RestrictedName"))
		}
		status = 201
		o.made = append(o.made, nameOf(id))
		t = &thing{kind: kind}
		o.resources[o.key(id)] = t
		if !slices.Contains(o.order, o.key(id)) { // another creation may be under way
			o.order = append(o.order, o.key(id))
		}
	}
	if status == 201 && o.is("creates-with-200") {
		status = 200
	}
	properties, _ := body["properties"].(Object)
	properties = maps.Clone(properties)
	delete(properties, "provisioningState")
	delete(properties, "created")
	delete(properties, "acmeExtra")
	if o.is("put-merges") {
		properties, _ = mergePatch(t.properties, properties).(Object)
	}
	if properties == nil {
		properties = Object{}
	}
	apply := func() {
		t.id, t.properties, t.state, t.version, t.hidden = id, properties, "Succeeded", t.version+1, false
		if location, _ := body["location"].(string); location != "" {
			t.location = location
			if !o.odd {
				t.location = place(location)
			}
		}
		tags, _ := body["tags"].(Object)
		if o.is("put-keeps-tags") && t.tags != nil {
			tags = t.tags
		}
		t.tags = tags
	}
	switch o.put {
	case "":
		apply()
		o.answer(w, r, status, t)
	case "201":
		apply()
		t.state = "Acme is at work"
		if o.is("terminal-at-once") {
			t.state = "Succeeded"
		}
		op := o.begin(w, r, id, func() {
			t.state = "Succeeded"
			if o.is("ends-in-failed") {
				t.state = "Failed"
			}
		}, func() (int, any) { return 200, o.show(t) })
		if op != "" {
			w.Header().Del("Location")
		}
		o.answer(w, r, status, t)
	case "202":
		t.hidden = status == 201 && !o.is("visible-too-soon")
		if status == 201 {
			t.id, t.properties, t.state = id, Object{}, "Succeeded"
		}
		o.begin(w, r, id, apply, func() (int, any) { return status, o.show(t) })
		o.accepted(w, r)
	}
}

func (o *outside) patchThing(w http.ResponseWriter, r *http.Request, id string, t *thing) {
	body := o.body(r)
	if t == nil {
		if o.is("patch-creates") {
			o.write(w, r, 200, Object{"id": id})
			return
		}
		panic(refuse(404, "NotFound"))
	}
	o.precondition(r, t)
	o.members(body, nil, t.kind, true)
	if o.strict {
		for _, name := range []string{"location", "name", "type"} {
			if _, said := body[name]; said {
				panic(refuse(400, "Immutable"))
			}
		}
	}
	apply := func() {
		t.state = "Succeeded"
		if change, ok := body["properties"].(Object); ok {
			if o.is("patch-replaces-properties") {
				t.properties = change
			} else {
				t.properties, _ = mergePatch(t.properties, change).(Object)
			}
			if o.is("patch-loses-tags") {
				t.tags = nil
			}
		}
		if tags, ok := body["tags"].(Object); ok {
			if o.is("patch-merges-tags") {
				merged, _ := mergePatch(t.tags, tags).(Object)
				tags = merged
			}
			t.tags = tags
		}
		if location, _ := body["location"].(string); location != "" && o.is("location-changes") {
			t.location = location
		}
	}
	if o.later == "" {
		t.version++
		apply()
		if o.is("patch-answers-as-before") {
			o.write(w, r, 200, Object{"id": t.id, "name": nameOf(t.id)})
			return
		}
		o.answer(w, r, 200, t)
		return
	}
	t.version++
	if !o.is("state-stays") {
		t.state = "Updating"
	}
	o.begin(w, r, id, apply, func() (int, any) {
		if o.is("patch-ends-with-nothing") {
			return 204, nil
		}
		return 200, o.show(t)
	})
	o.accepted(w, r)
}

func (o *outside) deleteThing(w http.ResponseWriter, r *http.Request, id string, t *thing) {
	if t == nil {
		if o.is("absent-deleted-with-404") {
			panic(refuse(404, "NotFound"))
		}
		w.WriteHeader(204)
		return
	}
	o.precondition(r, t)
	apply := func() {
		if o.is("deletes-nothing") {
			t.state = "Succeeded"
			return
		}
		for _, key := range slices.Clone(o.order) {
			below := strings.HasPrefix(key, o.key(id)+"/") && !o.is("parts-survive")
			if key == o.key(id) || below {
				delete(o.resources, key)
				o.order = slices.DeleteFunc(o.order, func(other string) bool { return other == key })
			}
		}
	}
	if o.later == "" {
		apply()
		if o.is("delete-with-body") {
			o.write(w, r, 200, Object{"id": id})
			return
		}
		w.WriteHeader(200)
		return
	}
	if !o.is("state-stays") {
		t.state = "Deleting"
	}
	o.begin(w, r, id, apply, func() (int, any) { return 204, nil })
	o.accepted(w, r)
}

// begin starts an operation, and names its URLs in the answer's header.
func (o *outside) begin(w http.ResponseWriter, r *http.Request, target string, finish func(), result func() (int, any)) string {
	id := uuid.NewString()
	if o.is("operation-id-is-the-request-id") {
		id = w.Header().Get("x-ms-request-id")
	}
	subscription := strings.Split(target, "/")[2]
	o.operations[id] = &running{
		owner: who(r), tenant: r.Header.Get("x-ms-home-tenant-id"), subscription: subscription,
		left: 10, finish: finish, result: result, target: target,
	}
	referer, err := url.Parse(r.Header.Get("Referer"))
	if err != nil {
		panic(refuse(400, "BadReferer"))
	}
	base := referer.Scheme + "://" + referer.Host
	switch {
	case o.is("urls-relative"):
		base = ""
	case o.is("urls-of-the-request"):
		base = "http://" + r.Host
	}
	base += "/subscriptions/" + subscription + "/providers/" + o.namespace
	if o.is("urls-elsewhere") {
		base = strings.Replace(base, "/providers/"+o.namespace, "/providers/Acme.Else", 1)
	}
	if o.put != "201" || r.Method != http.MethodPut {
		if !o.is("no-location") {
			w.Header().Set("Location", base+"/operationResults/"+id+"?api-version=2024-01-01")
		}
	}
	if o.status {
		w.Header().Set("Azure-AsyncOperation", base+"/operationStatuses/"+id+"?api-version=2024-01-01")
	}
	o.retryAfter(w)
	return id
}

func (o *outside) retryAfter(w http.ResponseWriter) {
	switch {
	case o.is("retry-after-a-date"):
		w.Header().Set("Retry-After", time.Now().UTC().Format(http.TimeFormat))
	case o.is("retry-after-too-soon"):
		w.Header().Set("Retry-After", "3")
	case o.retry != "":
		w.Header().Set("Retry-After", o.retry)
	}
}

func who(r *http.Request) string {
	if id := r.Header.Get("x-ms-client-object-id"); id != "" {
		return id
	}
	return r.Header.Get("x-ms-client-puid")
}

func (o *outside) accepted(w http.ResponseWriter, r *http.Request) {
	if o.is("accepted-with-body") {
		o.write(w, r, 202, Object{"status": "running"})
		return
	}
	w.WriteHeader(202)
}

func (o *outside) poll(w http.ResponseWriter, r *http.Request, segments []string) {
	id := segments[len(segments)-1]
	op := o.operations[id]
	if op == nil || !strings.EqualFold(op.subscription, segments[1]) && !o.is("seen-in-other-subscriptions") {
		panic(refuse(404, "NoSuchOperation"))
	}
	stranger := op.tenant != r.Header.Get("x-ms-home-tenant-id")
	if stranger && !o.is("seen-by-tenants") || op.owner != who(r) && !o.is("seen-by-others") && !(stranger && o.is("seen-by-tenants")) {
		panic(refuse(404, "NoSuchOperation"))
	}
	o.asked(op)
	if strings.EqualFold(segments[4], "operationResults") {
		if !op.over && !o.is("location-done-too-soon") {
			w.Header().Set("Location", r.Header.Get("Referer"))
			o.retryAfter(w)
			o.accepted(w, r)
			return
		}
		status, body := op.result()
		o.write(w, r, status, body)
		return
	}
	word := "Acme is at work"
	if op.over {
		word = "Succeeded"
		if o.is("status-stays-odd") {
			word = "Done"
		}
	}
	form := "2006-01-02T15:04:05.0000000Z"
	if o.is("times-not-iso") {
		form = time.RFC1123
	}
	path, _, _ := strings.Cut(r.URL.Path, "?")
	body := Object{"id": path, "name": id, "status": word, "startTime": time.Now().UTC().Format(form), "percentComplete": 33.3}
	switch {
	case o.is("no-status") && !op.over:
		delete(body, "status")
	case o.is("percent-beyond"):
		body["percentComplete"] = 133
	case o.is("properties-while-it-runs") && !op.over:
		body["properties"] = Object{"a": 1}
	case o.is("operation-named-otherwise"):
		body["name"] = "another"
	}
	if o.is("status-polled-with-202") && !op.over {
		o.write(w, r, 202, body)
		return
	}
	o.write(w, r, 200, body)
}

// list answers with a page of what lies below an id.
func (o *outside) list(w http.ResponseWriter, r *http.Request, below, kind string) {
	if r.Method != http.MethodGet {
		panic(refuse(405, "NotAllowed"))
	}
	var all []any
	for _, key := range o.order {
		t := o.resources[key]
		within := strings.HasPrefix(strings.ToLower(t.id)+"/", strings.ToLower(below))
		if o.is("groups-by-prefix") {
			group, _, _ := strings.Cut(strings.ToLower(below), "/providers/")
			within = strings.HasPrefix(strings.ToLower(t.id), group)
		}
		if !t.hidden && t.kind == kind && within {
			item := o.show(t)
			if o.is("items-without-properties") {
				delete(item, "properties")
			}
			all = append(all, item)
		}
	}
	if o.noTop && r.URL.Query().Has("$top") {
		panic(refuse(400, "NoTop"))
	}
	skip, _ := strconv.Atoi(r.URL.Query().Get("$skipToken"))
	size := o.page
	if top, err := strconv.Atoi(r.URL.Query().Get("$top")); err == nil && o.page > 0 && !o.is("top-ignored") {
		size = min(size, top)
	}
	first := min(skip, len(all))
	page := all[first:]
	var next string
	if size > 0 && len(page) > size {
		page = page[:size]
		link, err := url.Parse(r.Header.Get("Referer"))
		if err != nil {
			panic(refuse(400, "BadReferer"))
		}
		q := link.Query()
		q.Set("$skipToken", strconv.Itoa(first+size))
		switch {
		case o.is("page-loses-one"):
			q.Set("$skipToken", strconv.Itoa(first+size+1))
		case o.is("next-link-without-version"):
			q.Del("api-version")
		case o.is("next-link-of-the-request"):
			link.Host = r.Host
		}
		link.RawQuery = q.Encode()
		next = link.String()
	}
	if page == nil && !o.is("empty-is-null") {
		page = []any{}
	}
	answer := Object{"value": page}
	switch {
	case next != "":
		answer["nextLink"] = next
	case o.is("next-link-empty"):
		answer["nextLink"] = ""
	case o.odd:
		answer["nextLink"] = nil
	}
	o.write(w, r, 200, answer)
}
