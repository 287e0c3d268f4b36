package contract

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Answer is the answer to a call. Its methods compare it with what is expected and
// record the differences in words.
type Answer struct {
	call   call
	ids    ids
	Status int
	Header http.Header
	Body   []byte

	s    *Scene
	sent *http.Request
	doc  any
}

// String is the call, formatted for a report.
func (c call) String() string {
	path, rest, _ := strings.Cut(c.target, "?")
	if at := strings.Index(path, "/resourceGroups/"); at >= 0 {
		path = "…" + path[at+len("/resourceGroups"):]
	}
	words := c.method + " " + path
	if _, extra, ok := strings.Cut(rest, "&"); ok {
		words += "?" + extra
	}
	var notes []string
	for name, values := range c.header {
		value := clip(strings.Join(values, ", "), 60)
		if secretHeader(name) {
			value = concealed
		}
		notes = append(notes, name+": "+value)
	}
	slices.Sort(notes)
	if len(notes) > 0 {
		words += " (" + strings.Join(notes, "; ") + ")"
	}
	return words
}

func (a *Answer) String() string {
	body := "no body"
	if len(a.Body) > 0 {
		body = clip(string(a.Body), 300)
	}
	return fmt.Sprintf("%d, %s", a.Status, body)
}

// status expects one of these statuses; any other ends the scene.
func (a *Answer) status(allowed ...int) *Answer {
	if !slices.Contains(allowed, a.Status) {
		words := make([]string, len(allowed))
		for i, status := range allowed {
			words[i] = fmt.Sprint(status)
		}
		a.s.fatal(a.call.String()+" answers "+strings.Join(words, " or "), a.String())
	}
	return a
}

// refused expects an error with one of these statuses, in the contract's envelope.
func (a *Answer) refused(allowed ...int) *Answer {
	return a.status(allowed...).envelope()
}

// envelope expects the body that every error has.
func (a *Answer) envelope() *Answer {
	code, message := text(a.doc, "error.code"), text(a.doc, "error.message")
	a.s.check(code != "" && message != "", a.call.String()+": the error has an error.code and an error.message", "%s", a)
	return a
}

// shows expects the members of want, at least.
func (a *Answer) shows(want Object) *Answer {
	if len(want) == 0 {
		return a
	}
	lack := missing(a.doc, want, "")
	a.s.check(lack == "", a.call.String()+" shows "+show(want), "%s in %s", lack, a)
	return a
}

// lacks expects no member at the path.
func (a *Answer) lacks(path string) *Answer {
	v, there := lookup(a.doc, path)
	a.s.check(!there || v == nil, a.call.String()+" shows no "+path, "%s: %s", path, show(v))
	return a
}

// empty expects no body.
func (a *Answer) empty() *Answer {
	a.s.check(len(a.Body) == 0, a.call.String()+" has no body", "%s", a)
	return a
}

// named expects the resource to have this id, casing included.
func (a *Answer) named(id string) *Answer {
	a.s.check(text(a.doc, "id") == id, a.call.String()+" shows the id "+id, "%s", text(a.doc, "id"))
	a.s.check(text(a.doc, "name") == nameOf(id), a.call.String()+" shows the name "+nameOf(id), "%s", text(a.doc, "name"))
	return a
}

// state is the provisioningState; a resource without one has succeeded.
func (a *Answer) state() string {
	if state := text(a.doc, "properties.provisioningState"); state != "" {
		return state
	}
	return "Succeeded"
}

func terminal(state string) bool {
	return state == "Succeeded" || state == "Failed" || state == "Canceled"
}

// inState expects a provisioningState.
func (a *Answer) inState(state string) *Answer {
	a.s.check(a.state() == state, a.call.String()+" shows the provisioningState "+state, "%s", a.state())
	return a
}

// running expects a provisioningState that is not terminal.
func (a *Answer) running() *Answer {
	a.s.check(!terminal(a.state()), a.call.String()+" shows a provisioningState that is not terminal", "%s", a.state())
	return a
}

// etag is the tag of the header.
func (a *Answer) etag() string { return a.Header.Get("ETag") }

// link expects a header with an absolute URL on the public host, and returns it.
func (a *Answer) link(header string) string {
	link := a.Header.Get(header)
	expected := fmt.Sprintf("%s has a header %s with an absolute URL on %s", a.call, header, a.s.Adapter.Public)
	u, err := url.Parse(link)
	switch {
	case link == "":
		a.s.fatal(expected, "no such header: "+a.String())
	case err != nil:
		a.s.fatal(expected, link)
	}
	a.s.check(u.Scheme+"://"+u.Host == a.s.Adapter.Public, expected, "%s", link)
	return link
}

// follow calls the URL of a link by its path and query, whatever its host: link checks
// that.
func (s *Scene) follow(link string, from *Answer, options ...option) *Answer {
	u, err := url.Parse(link)
	if err != nil {
		s.fatal("the URL "+link+" is well-formed", err.Error())
	}
	c := call{method: http.MethodGet, target: u.RequestURI(), region: from.call.region, caller: from.call.caller, header: http.Header{}}
	for _, o := range options {
		o(&c)
	}
	return s.do(c)
}

// escape writes an id as a path.
func escape(id string) string {
	segments := strings.Split(id, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}
