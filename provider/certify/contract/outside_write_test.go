package contract

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

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
		o.created = append(o.created, nameOf(id))
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
				t.location = locationOf(location)
			}
		}
		tags, _ := body["tags"].(Object)
		if o.is("put-keeps-tags") && t.tags != nil {
			tags = t.tags
		}
		if _, said := body["tags"]; !said && o.is("put-without-tags-keeps-them") {
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
