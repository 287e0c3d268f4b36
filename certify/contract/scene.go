package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Scene is the setting of one trial: its own resource group, a resource id in it, and
// the parents and hosts that the resource needs.
type Scene struct {
	*Target
	Type *Type // nil if the case concerns no type

	ctx    context.Context
	number int64
	region string // where the scene's resources lie
	group  string // the group's id
	id     string // of the case's resource

	faults    []Fault
	preparing int     // how many calls of prepare are under way
	unreached bool    // what the case needs was not to be had
	untried   bool    // the description lacks what the case needs
	last      *Answer // the latest
}

// stop ends a scene whose further steps would be meaningless.
type stop struct{}

func newScene(ctx context.Context, target Target, on *Type, number int64) *Scene {
	s := &Scene{Target: &target, Type: on, ctx: ctx, number: number}
	s.region = target.Adapter.Regions[int(number)%len(target.Adapter.Regions)]
	s.group = fmt.Sprintf("/subscriptions/%s/resourceGroups/Contract-%d", target.Adapter.Subscription, number)
	return s
}

// play sets the scene and runs the case in it.
func (s *Scene) play(run func(*Scene)) {
	defer func() {
		failure := recover()
		if _, ours := failure.(stop); failure != nil && !ours {
			panic(failure)
		}
	}()
	s.prepare(func() {
		if err := s.Adapter.putGroup(s.ctx, s.group, s.region); err != nil {
			s.fatal("the scene's resource group can be made", err.Error())
		}
		if s.Type != nil {
			s.id = s.home(s.Type) + "/Name-" + fmt.Sprint(s.number)
		}
	})
	run(s)
}

// prepare does what a case needs before it can try its rule. A fault in it is that of
// another rule: it ends the scene, and the case counts as unreached.
func (s *Scene) prepare(do func()) {
	s.preparing++
	do()
	s.preparing--
}

// outcome is what the scene found out, and why if it is neither kept nor broken.
func (s *Scene) outcome() (Outcome, string) {
	switch {
	case s.unreached:
		return Unreached, "what the case needs first was not to be had"
	case len(s.faults) > 0:
		return Broken, ""
	case s.untried:
		return LeftOut, "the description gives no means to try it"
	}
	return Kept, ""
}

// home creates the parent or host of a resource of the type, if it needs one, and
// returns the path of its collection.
func (s *Scene) home(t *Type) string {
	switch {
	case t.nested():
		parent := s.home(t.parent) + "/parent"
		s.put(parent, s.body(t.parent)).status(200, 201)
		return parent + "/" + t.last()
	case t.Kind == Extension:
		return s.newHost() + "/providers/" + t.FullName()
	}
	return s.group + "/providers/" + t.FullName()
}

// newHost creates a resource that can have extensions.
func (s *Scene) newHost() string {
	host := s.Description.host()
	id := s.group + "/providers/" + host.FullName() + "/host"
	s.put(id, s.body(host)).status(200, 201)
	return id
}

// collection is the path of a resource's collection.
func collection(id string) string {
	before, _, _ := cutLast(id)
	return before
}

func nameOf(id string) string {
	_, name, _ := cutLast(id)
	return name
}

// beside is the id of another resource in the same collection.
func beside(id, name string) string { return collection(id) + "/" + name }

// body is a valid body of the type, with location and tags if the type has them.
func (s *Scene) body(t *Type, further ...Object) Object {
	return s.located(t, overlay(t.Contract.Body, further...))
}

// other is another valid body.
func (s *Scene) other(t *Type) Object {
	return s.located(t, overlay(t.Contract.Other))
}

func (s *Scene) located(t *Type, body Object) Object {
	if isTracked(t) {
		if _, given := body["location"]; !given {
			body["location"] = s.place(t)
		}
	}
	return body
}

// place is the location of this scene's resources of the type.
func (s *Scene) place(t *Type) string {
	if t.global() {
		return Global
	}
	return s.region
}

// endpoint is the region whose endpoint is called for a path.
func (s *Scene) endpoint(path string) string {
	if t := s.Description.typeAt(path); t != nil {
		return s.place(t)
	}
	return s.region
}

// by returns the expectation for the suite's way: straight or through a front door.
func by[T any](s *Scene, straight, through T) T {
	if s.Adapter.Through {
		return through
	}
	return straight
}

// option varies a call.
type option func(*call)

func with(name, value string) option {
	return func(c *call) { c.header.Set(name, value) }
}

func withAll(sets ...Headers) option {
	return func(c *call) {
		for _, set := range sets {
			for name, value := range set {
				c.header.Set(name, value)
			}
		}
	}
}

func as(caller Caller) option {
	return func(c *call) { c.caller = caller }
}

// query adds to the query string.
func query(part string) option {
	return func(c *call) { c.target += "&" + part }
}

// at sets another api-version.
func at(version string) option {
	return func(c *call) {
		path, _, _ := strings.Cut(c.target, "?")
		c.target = path + "?api-version=" + version
	}
}

// target replaces path and query.
func target(t string) option {
	return func(c *call) { c.target = t }
}

func (s *Scene) call(method, path string, body any, options ...option) *Answer {
	t := s.Description.typeAt(path)
	if t == nil {
		t = s.Type
	}
	if t == nil {
		t = s.Description.types()[0]
	}
	c := call{method: method, target: escape(path) + "?api-version=" + t.version(), region: s.endpoint(path), header: http.Header{}}
	switch b := body.(type) {
	case nil:
	case string:
		c.body = []byte(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			s.fatal("the case's body has a JSON form", err.Error())
		}
		c.body = text
	}
	for _, o := range options {
		o(&c)
	}
	return s.do(c)
}

// do makes a call; without an answer the scene ends.
func (s *Scene) do(c call) *Answer {
	began := time.Now()
	a, err := s.Adapter.send(s.ctx, c)
	if errors.Is(err, context.DeadlineExceeded) { // time/every-answer-within-60-seconds is about it
		s.watch.missed(c, time.Since(began))
		s.prepare(func() { s.fatal(c.String()+" is answered in time", err.Error()) })
	}
	if err != nil {
		s.fatal(c.String()+" is answered", err.Error())
	}
	s.watch.saw(a, time.Since(began))
	a.s = s
	a.doc = decode(a.Body)
	s.last = a
	return a
}

func (s *Scene) put(id string, body any, options ...option) *Answer {
	return s.call(http.MethodPut, id, body, options...)
}

func (s *Scene) patch(id string, body any, options ...option) *Answer {
	return s.call(http.MethodPatch, id, body, options...)
}

func (s *Scene) get(path string, options ...option) *Answer {
	return s.call(http.MethodGet, path, nil, options...)
}

func (s *Scene) remove(id string, options ...option) *Answer {
	return s.call(http.MethodDelete, id, nil, options...)
}

func (s *Scene) post(path string, body any, options ...option) *Answer {
	return s.call(http.MethodPost, path, body, options...)
}

// made creates the scene's resource; most cases begin so.
func (s *Scene) made(further ...Object) *Answer {
	var made *Answer
	s.prepare(func() { made = s.put(s.id, s.body(s.Type, further...)).status(201) })
	return made
}

// fault records a broken rule.
func (s *Scene) fault(expected, got string) {
	same := func(f Fault) bool { return f.Expected == expected && f.Got == got }
	if !slices.ContainsFunc(s.faults, same) { // polls may repeat the same fault
		s.faults = append(s.faults, Fault{expected, got, s.last.exchange()})
	}
	if s.preparing > 0 {
		s.unreached = true
		panic(stop{})
	}
}

// fatal records a broken rule and ends the scene.
func (s *Scene) fatal(expected, got string) {
	s.fault(expected, got)
	panic(stop{})
}

// pass ends a scene that the description gives no means to try: it is not reported at
// all, rather than as kept.
func (s *Scene) pass() {
	s.untried = true
	panic(stop{})
}

// check records a fault unless ok.
func (s *Scene) check(ok bool, expected, got string, args ...any) {
	if !ok {
		s.fault(expected, fmt.Sprintf(got, args...))
	}
}

// Bounds of waits for an operation's effects.
const (
	waitLimit = 20 * time.Second
	waitPause = 25 * time.Millisecond
)

// await repeats a question until the answer is right; after the limit, that is a fault
// and the scene ends.
func (s *Scene) await(what string, ask func() (*Answer, bool)) *Answer {
	limit := time.NewTimer(waitLimit)
	defer limit.Stop()
	pause := time.NewTicker(waitPause)
	defer pause.Stop()
	for {
		a, there := ask()
		if there {
			return a
		}
		select {
		case <-pause.C:
		case <-limit.C:
			s.fatal(what, "not within "+waitLimit.String()+"; last: "+a.String())
		case <-s.ctx.Done():
			s.fatal(what, s.ctx.Err().Error())
		}
	}
}

// headers merges sets of headers.
func headers(sets ...Headers) Headers {
	all := Headers{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}
