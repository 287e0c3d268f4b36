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

// Scene is the setting of one trial: its own resource id, with the parents
// and hosts that the resource needs. Scenes share a resource group unless
// their case asks for its own.
type Scene struct {
	*Target
	Type *Type // nil if the case concerns no type

	ctx    context.Context
	number int64
	region string // where the scene's resources lie
	group  string // the group's id
	id     string // of the case's resource

	faults    []Fault // in the rule
	obstacles []Fault // in its preparation
	preparing int     // nesting depth of prepare
	unreached string  // why the rule could not be tried
	untried   string  // why there was nothing to try
	last      *Answer // the latest

	steps   []step        // what was sent, in order
	paused  time.Duration // since the latest step
	showing []*Answer     // answers that show faults
	timed   bool          // a fault is about the time that answers take
}

// stop is the panic value that ends a scene whose further steps would be meaningless.
type stop struct{}

func newScene(ctx context.Context, target Target, t trial, number int64) *Scene {
	s := &Scene{Target: &target, Type: t.on, ctx: ctx, number: number}
	s.region = target.Adapter.Regions[int(number)%len(target.Adapter.Regions)]
	s.group = target.groupID(target.Group)
	if t.OwnGroup {
		s.group = s.furtherGroup(number)
	}
	return s
}

// play prepares the scene and runs the case in it.
func (s *Scene) play(c Case) {
	defer func() {
		failure := recover()
		if _, ours := failure.(stop); failure != nil && !ours {
			s.unreached = fmt.Sprintf("the suite itself failed: %v", failure)
		}
	}()
	s.prepare(func() {
		if c.OwnGroup {
			s.makeGroup(s.group)
		}
		if s.Type != nil {
			s.id = s.home(s.Type) + "/" + s.Type.nameOf(s.number)
		}
	})
	c.Run(s)
}

// prepare runs preparations of a case. A fault in them breaks another rule:
// it ends the scene, and the case counts as unreached.
func (s *Scene) prepare(do func()) {
	s.preparing++
	do()
	s.preparing--
}

// outcome returns the scene's outcome, and the reason if it is neither kept nor broken.
func (s *Scene) outcome() (Outcome, string) {
	switch {
	case len(s.faults) > 0:
		return Broken, ""
	case s.unreached != "":
		return Unreached, s.unreached
	case s.untried != "":
		return LeftOut, s.untried
	}
	return Kept, ""
}

// furtherGroup returns the id of a group in addition to the configured one.
func (s *Scene) furtherGroup(number int64) string {
	return s.groupID(fmt.Sprintf("%s-%d", s.Group, number))
}

// makeGroup creates a group if a front door has to know it.
func (s *Scene) makeGroup(group string) {
	ctx, cancel := context.WithTimeout(s.ctx, s.Limits.Call)
	defer cancel()
	answers, err := s.Adapter.putGroup(ctx, group, s.region)
	if err != nil {
		s.fatal("the resource group "+group+" can be made", err.Error())
	}
	for _, a := range answers {
		a.s = s
		s.recordStep(a)
	}
}

// home creates the parent or host of a resource of the type, if it needs one,
// and returns the path of its collection.
func (s *Scene) home(t *Type) string {
	switch {
	case t.nested():
		parent := s.home(t.parent) + "/" + t.parent.nameOf(s.number)
		s.create(parent, s.body(t.parent))
		return parent + "/" + t.last()
	case t.Kind == Extension:
		return s.newHost() + "/providers/" + t.FullName()
	}
	return s.group + "/providers/" + t.FullName()
}

// newHost creates a resource that can have extensions. If no type can be
// their host, the group is.
func (s *Scene) newHost() string {
	host := s.Description.host()
	if host == nil {
		return s.group
	}
	id := s.group + "/providers/" + host.FullName() + "/" + host.nameOf(s.number)
	s.create(id, s.body(host))
	return id
}

// collection returns the path of a resource's collection.
func collection(id string) string {
	before, _, _ := strings.CutLast(id, "/")
	return before
}

func nameOf(id string) string {
	_, name, _ := strings.CutLast(id, "/")
	return name
}

// sibling returns the id of another resource in the same collection. Its name
// begins with the first one's, so that scenes do not collide, and uses no
// other kinds of characters: a type may restrict its names.
func sibling(id, name string) string {
	first := nameOf(id)
	if strings.Contains(first, "-") {
		return collection(id) + "/" + first + "-" + name
	}
	plain := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(name))
	return collection(id) + "/" + first + "x" + plain
}

// body returns a valid body of the type, with location and tags if the type has them.
func (s *Scene) body(t *Type, further ...Object) Object {
	return s.located(t, overlay(t.Contract.Body, further...))
}

// other returns another valid body.
func (s *Scene) other(t *Type) Object {
	return s.located(t, overlay(t.Contract.Other))
}

func (s *Scene) located(t *Type, body Object) Object {
	if isTracked(t) {
		if _, given := body["location"]; !given {
			body["location"] = s.locationFor(t)
		}
	}
	return body
}

// locationFor returns the location of this scene's resources of the type.
func (s *Scene) locationFor(t *Type) string {
	if t.global() {
		return Global
	}
	return s.region
}

// endpoint returns the region whose endpoint serves a path.
func (s *Scene) endpoint(path string) string {
	if t := s.Description.typeAt(path); t != nil {
		return s.locationFor(t)
	}
	return s.region
}

// forWay returns the expectation for direct calls or for calls through a front door.
func forWay[T any](s *Scene, straight, through T) T {
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

// withVersion sets another api-version.
func withVersion(version string) option {
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

// do makes a call; without an answer the scene ends. It repeats a throttled
// call when the provider permits that.
func (s *Scene) do(c call) *Answer {
	s.needs(c.caller)
	for waits := s.newWait(); ; {
		a, err := s.send(c)
		if errors.Is(err, context.DeadlineExceeded) && s.ctx.Err() == nil {
			s.endLate(c) // time/every-answer-within-60-seconds is about it
		}
		if err != nil {
			s.unlessStopped(err)
			s.fatal(c.String()+" is answered", err.Error())
		}
		s.last = a
		s.recordStep(a)
		if a.Status != http.StatusTooManyRequests || !waits.until(a) {
			return a
		}
	}
}

// send makes a call within its time limit.
func (s *Scene) send(c call) (*Answer, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.Limits.Call)
	defer cancel()
	began := time.Now()
	a, err := s.Adapter.send(ctx, c)
	if err == nil {
		a.s, a.doc = s, decode(a.Body)
		s.watch.recordAnswer(a, time.Since(began))
	} else if ctx.Err() != nil && s.ctx.Err() == nil {
		s.watch.recordTimeout(c, time.Since(began))
	}
	return a, err
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

// created creates the scene's resource; most cases begin with it.
func (s *Scene) created(further ...Object) *Answer {
	return s.create(s.id, s.body(s.Type, further...))
}

// create prepares a resource: it PUTs the body, waits for the end of the
// operation and returns the resource as it is then.
func (s *Scene) create(id string, body any) *Answer {
	var created *Answer
	s.prepare(func() { created = s.settled(s.put(id, body).done(), id).inState("Succeeded") })
	return created
}

// changed prepares a resource by a PATCH.
func (s *Scene) changed(id string, body any, options ...option) {
	s.prepare(func() { s.settled(s.patch(id, body, options...).done(), id).inState("Succeeded") })
}

// overwritable checks that the provider lets a resource be overwritten,
// before a rule about that is tried.
func (s *Scene) overwritable(id string) { s.create(id, s.body(s.Type)) }

// removed prepares the absence of a resource.
func (s *Scene) removed(id string) {
	s.prepare(func() { s.settled(s.remove(id).done(), id).gone() })
}

// read returns a resource that must exist.
func (s *Scene) read(id string, options ...option) *Answer {
	var read *Answer
	s.prepare(func() { read = s.get(id, options...).status(http.StatusOK) })
	return read
}

// fault records a broken rule, shown by the latest call.
func (s *Scene) fault(expected, got string) { s.faultOf(s.last, expected, got) }

// faultOf records a broken rule, shown by an answer.
func (s *Scene) faultOf(a *Answer, expected, got string) {
	found := s.Adapter.newFault(expected, got, a)
	s.showing = append(s.showing, a)
	if s.preparing > 0 {
		s.obstacles = append(s.obstacles, found)
		s.unreached = "what the case needs first was not to be had"
		panic(stop{})
	}
	same := func(f Fault) bool { return f.Expected == found.Expected && f.Got == found.Got }
	if !slices.ContainsFunc(s.faults, same) { // polls may repeat the same fault
		s.faults = append(s.faults, found)
	}
}

// fatal records a broken rule and ends the scene.
func (s *Scene) fatal(expected, got string) {
	s.fault(expected, got)
	panic(stop{})
}

// leaveUndescribed leaves a case out if the description has no means to try it.
func (s *Scene) leaveUndescribed(means string) { s.leaveOut("the description does not have " + means) }

// leaveOut ends a scene that has nothing to try, with a reason.
func (s *Scene) leaveOut(why string) {
	s.untried = why
	panic(stop{})
}

// endLate ends the scene because a call was not answered in time.
func (s *Scene) endLate(c call) {
	s.unreached = c.String() + " was not answered within " + s.Limits.Call.String()
	s.obstacles = append(s.obstacles, Fault{"an answer within " + s.Limits.Call.String(), "none", s.last.exchange()})
	panic(stop{})
}

// unlessStopped ends the scene if it has no time left or the run was stopped,
// which is not the provider's fault.
func (s *Scene) unlessStopped(err error) {
	if s.ctx.Err() == nil {
		return
	}
	s.unreached = fmt.Sprintf("the case was ended: %v", context.Cause(s.ctx))
	if s.last != nil {
		s.obstacles = append(s.obstacles, s.Adapter.newFault("the case ends within its limit", err.Error(), s.last))
	}
	panic(stop{})
}

// check records a fault of the latest call unless ok.
func (s *Scene) check(ok bool, expected, got string, args ...any) {
	if !ok {
		s.fault(expected, fmt.Sprintf(got, args...))
	}
}

// mergedHeaders merges sets of headers.
func mergedHeaders(sets ...Headers) Headers {
	all := Headers{}
	for _, set := range sets {
		maps.Copy(all, set)
	}
	return all
}
