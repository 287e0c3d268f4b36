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

// String formats the call for a report.
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

// check records a fault, shown by this answer, unless ok.
func (a *Answer) check(ok bool, expected, got string, args ...any) {
	if !ok {
		a.s.faultOf(a, expected, fmt.Sprintf(got, args...))
	}
}

// fatal records a fault, shown by this answer, and ends the scene.
func (a *Answer) fatal(expected, got string) {
	a.s.faultOf(a, expected, got)
	panic(stop{})
}

// status expects one of these statuses; any other ends the scene.
func (a *Answer) status(allowed ...int) *Answer {
	if !slices.Contains(allowed, a.Status) {
		words := make([]string, len(allowed))
		for i, status := range allowed {
			words[i] = fmt.Sprint(status)
		}
		a.fatal(a.call.String()+" answers "+strings.Join(words, " or "), a.String())
	}
	return a
}

// done expects any status of success; any other ends the scene.
func (a *Answer) done() *Answer {
	if a.Status < 200 || a.Status > 299 {
		a.fatal(a.call.String()+" succeeds", a.String())
	}
	return a
}

// succeeds expects the status of a synchronous success or the start of an
// operation: 202, or for a PUT a state that is not terminal.
func (a *Answer) succeeds(status int) *Answer {
	if a.Status == http.StatusAccepted || a.call.method == http.MethodPut && a.Status == http.StatusCreated && a.asynchronous() {
		return a
	}
	return a.status(status)
}

// refused expects one of these statuses. Without any it expects a refusal
// that is the client's fault: a 4xx other than 403, which is only for
// untrusted certificates. The body of the error has a rule of its own.
func (a *Answer) refused(allowed ...int) *Answer {
	if len(allowed) > 0 {
		return a.status(allowed...)
	}
	if !a.denied() || a.Status == http.StatusForbidden {
		a.fatal(a.call.String()+" is refused with 4xx, not 403", a.String())
	}
	return a
}

// denied reports whether the answer is 4xx.
func (a *Answer) denied() bool { return a.Status >= 400 && a.Status <= 499 }

// gone expects a GET to show no resource. The exact status has a rule of its own.
func (a *Answer) gone() {
	if !a.isGone() {
		a.fatal(a.call.String()+" shows no resource", a.String())
	}
}

func (a *Answer) isGone() bool { return a.Status > 299 && a.Status < 500 || len(a.Body) == 0 }

// envelope expects the body that every error must have.
func (a *Answer) envelope() *Answer {
	code, message := text(a.doc, "error.code"), text(a.doc, "error.message")
	a.check(code != "" && message != "", a.call.String()+": the error has an error.code and an error.message", "%s", a)
	return a
}

// shows expects at least the members of want, except members that the type never shows.
func (a *Answer) shows(want Object) *Answer {
	want = a.visible(want)
	if len(want) == 0 {
		return a
	}
	lack := missing(a.doc, want, "")
	a.check(lack == "", a.call.String()+" shows "+show(want), "%s in %s", lack, a)
	return a
}

// visible returns an object without the members that the answer's type never shows.
func (a *Answer) visible(o Object) Object {
	t := a.s.Description.typeAt(idOf(a))
	if t == nil {
		t = a.s.Type
	}
	return t.visible(o)
}

// lacks expects the path to be absent or null.
func (a *Answer) lacks(path string) *Answer {
	v, there := lookup(a.doc, path)
	a.check(!there || v == nil, a.call.String()+" shows no "+path, "%s: %s", path, show(v))
	return a
}

// empty expects no body.
func (a *Answer) empty() {
	a.check(len(a.Body) == 0, a.call.String()+" has no body", "%s", a)
}

// showsExactID expects the resource to have this id, casing included.
func (a *Answer) showsExactID(id string) {
	a.check(bare(text(a.doc, "id")) == id, a.call.String()+" shows the id "+id, "%s", text(a.doc, "id"))
	a.check(text(a.doc, "name") == nameOf(id), a.call.String()+" shows the name "+nameOf(id), "%s", text(a.doc, "name"))
}

// showsID expects the resource to have this id and its name, in any casing.
func (a *Answer) showsID(id string) *Answer {
	a.check(strings.EqualFold(bare(text(a.doc, "id")), id), a.call.String()+" shows the id "+id, "%s", show(text(a.doc, "id")))
	a.check(strings.EqualFold(text(a.doc, "name"), nameOf(id)), a.call.String()+" shows the name "+nameOf(id), "%s", show(text(a.doc, "name")))
	return a
}

// bare returns the path of a resource's id that is shown as a URL. Another
// rule judges the rest of the URL.
func bare(shown string) string {
	u, err := url.Parse(shown)
	if err != nil || u.Path == "" {
		return shown
	}
	return u.Path
}

// state returns the provisioningState; a resource without one has succeeded.
func (a *Answer) state() string {
	if state := text(a.doc, "properties.provisioningState"); state != "" {
		return state
	}
	return "Succeeded"
}

// terminal reports whether a state ends an operation. It accepts a misspelling that some
// providers write, which the case that expects Canceled reports.
func terminal(state string) bool { return ofContract(state) || misspelled(state) }

func ofContract(state string) bool {
	return state == "Succeeded" || state == "Failed" || state == "Canceled"
}

func misspelled(state string) bool { return state == "Cancelled" }

// inState expects a provisioningState.
func (a *Answer) inState(state string) *Answer {
	a.check(a.state() == state, a.call.String()+" shows the provisioningState "+state, "%s", a.state())
	return a
}

// running expects a provisioningState that is not terminal.
func (a *Answer) running() *Answer {
	a.check(!terminal(a.state()), a.call.String()+" shows a provisioningState that is not terminal", "%s", a.state())
	return a
}

// etag returns the resource's tag: the header's, or the body's if there is no
// header. A missing header breaks a rule of its own.
func (a *Answer) etag() string {
	if tag := a.Header.Get("ETag"); tag != "" {
		return tag
	}
	return text(a.doc, "etag")
}

// link returns the URL in a header that the answer must have.
func (a *Answer) link(header string) string {
	link := a.Header.Get(header)
	if link == "" {
		a.fatal(a.call.String()+" has a header "+header, "no such header: "+a.String())
	}
	return link
}

// public expects the URL of a header, if there is one, to be absolute and on the host
// that clients call.
func (a *Answer) public(header string) {
	link := a.Header.Get(header)
	if link == "" {
		return
	}
	u, err := url.Parse(link)
	a.check(err == nil && strings.EqualFold(u.Scheme+"://"+u.Host, a.s.Adapter.Public),
		fmt.Sprintf("%s has a header %s with an absolute URL on %s", a.call, header, a.s.Adapter.Public), "%s", link)
}

// follow calls a link by its path and query, whatever its host: public checks that.
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
