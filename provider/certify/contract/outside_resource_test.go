package contract

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// thing is a resource of an outside provider.
type thing struct {
	id, kind         string
	location         string
	tags, properties Object
	state            string
	version          int
	hidden           bool
}

func (o *outside) find(id string) *thing {
	if t := o.resources[o.key(id)]; t != nil && !t.hidden {
		return t
	}
	return nil
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
	if r.Method == http.MethodGet {
		key := o.key(id)
		for _, op := range o.operations {
			if len(op.target) == len(id) && o.key(op.target) == key {
				o.headers(op)
			}
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
