package contract

import (
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

func judgesPlans(t *Type) bool { return isFirst(t) && t.Capabilities.Preflight }

const (
	// preflightVersion is the api-version of a front door's preflight requests.
	preflightVersion = "2020-10-01"
	// preflightTime is how long a front door waits for the answer.
	preflightTime = 5 * time.Second
)

// preflightCases check a provider's verdicts on planned resources. Through a front door
// they send a deployment's validation, which combines the verdicts of both.
func preflightCases() []Case {
	cases := []Case{
		{
			ID: "preflight/accepts-what-the-put-accepts", Rule: "a preflight accepts every body that a PUT accepts, for new and for existing resources",
			Run: func(s *Scene) {
				body := s.body(s.Type)
				accepted := s.preflight(planned{s.id, body})
				s.create(s.id, body)
				s.check(accepted.succeeded(), "the status is Succeeded", "%s", accepted)
				again := s.preflight(planned{s.id, body})
				s.check(again.succeeded(), "the status is Succeeded for the same body again", "%s", again)
			},
		},
		{
			ID: "preflight/refuses-what-the-put-refuses", Rule: "a preflight refuses every body that a PUT refuses, with a code and a message",
			Run: func(s *Scene) {
				refused := 0
				for _, body := range s.invalidBodies() {
					verdict := s.preflight(planned{s.id, body})
					put := s.put(s.id, body)
					if !put.denied() {
						s.removed(s.id)
						continue
					}
					refused++
					s.check(verdict.failed(), "the status is Failed, as the PUT is refused with "+http.StatusText(put.Status), "%s", verdict)
				}
				if refused == 0 {
					s.leaveOut("the provider accepts all bodies that were tried")
				}
			},
		},
		{
			ID: "preflight/answers-200", Side: StraightOnly, Rule: "a preflight is answered with 200, whether it accepts or refuses",
			Run: func(s *Scene) {
				s.preflight(planned{s.id, s.body(s.Type)}).status(200).verdict()
				for _, body := range s.invalidBodies() {
					s.preflight(planned{s.id, body}).status(200).verdict()
				}
			},
		},
		{
			ID: "preflight/keeps-nothing", Rule: "a preflight creates nothing and changes nothing",
			Run: func(s *Scene) {
				s.accepts()
				s.get(s.id).gone()
			},
		},
		{
			ID: "preflight/of-several", Side: StraightOnly, Rule: "a preflight of several resources checks each of them",
			Run: func(s *Scene) {
				good := planned{sibling(s.id, "good"), s.body(s.Type)}
				s.check(s.preflight(good, planned{sibling(s.id, "better"), s.body(s.Type)}).succeeded(), "two good resources are accepted", "%s", s.last)
				for _, body := range s.invalidBodies() {
					if s.preflight(planned{s.id, body}).failed() {
						s.check(s.preflight(good, planned{s.id, body}).failed(), "a bad resource after a good one is refused", "%s", s.last)
						return
					}
				}
				s.leaveOut("the provider accepts all bodies that were tried")
			},
		},
		{
			ID: "preflight/of-an-unknown-type", Side: StraightOnly, Rule: "a preflight refuses a resource of an unknown type",
			Run: func(s *Scene) {
				s.accepts()
				a := postPreflight(s, []any{Object{
					"name": nameOf(s.id), "type": s.Type.provider.Namespace + "/noSuchType", "apiVersion": s.Type.version(), "location": s.locationFor(s.Type),
				}})
				s.check(a.denied() || a.failed(), "the preflight is refused", "%s", a)
			},
		},
		{
			ID: "preflight/within-its-time", Side: StraightOnly, Rule: "a preflight is answered within 5 seconds",
			Run: func(s *Scene) {
				s.timed = true
				began := time.Now()
				s.accepts()
				took := time.Since(began)
				s.check(took < preflightTime, "the answer takes less than 5 s", "it took %s", took.Round(time.Millisecond))
			},
		},
	}
	for i := range cases {
		c := &cases[i]
		c.Profile, c.Section, c.On = Preflights, preflights, judgesPlans
	}
	return cases
}

// planned is a resource that does not exist yet, with the body of its PUT.
type planned struct {
	id   string
	body Object
}

// preflight requests a verdict on planned resources of the scene's type.
func (s *Scene) preflight(all ...planned) *Answer {
	var resources []any
	for _, p := range all {
		resource := Object{"name": nameOf(p.id), "type": s.Type.FullName(), "apiVersion": s.Type.version()}
		maps.Copy(resource, p.body)
		resources = append(resources, resource)
	}
	return postPreflight(s, resources)
}

func postPreflight(s *Scene, resources []any) *Answer {
	scope, _, _ := strings.Cut(s.id, "/providers/")
	if s.Adapter.Through {
		return s.post("/providers/Microsoft.Resources/validateResources", Object{"scope": scope, "resources": resources}, withVersion(preflightVersion))
	}
	path := scope + "/providers/" + s.Type.provider.Namespace + "/deployments/" + uuid.NewString() + "/preflight"
	return s.post(path, Object{"resources": resources}, withVersion(preflightVersion), inPlaceOf(s.Type, s))
}

// accepts prepares a case by a preflight that must accept.
func (s *Scene) accepts() {
	s.prepare(func() {
		a := s.preflight(planned{s.id, s.body(s.Type)})
		s.check(a.succeeded(), "a preflight of a good resource is Succeeded", "%s", a)
	})
}

// verdict expects a preflight to accept or to refuse.
func (a *Answer) verdict() {
	a.check(a.succeeded() || a.failed(), "the status is Succeeded, or Failed with an error", "%s", a)
}

// succeeded reports whether a preflight accepts.
func (a *Answer) succeeded() bool {
	_, validated := lookup(a.doc, "properties.validatedResources")
	return text(a.doc, "status") == "Succeeded" || validated && a.s.Adapter.Through
}

// failed reports whether a preflight refuses and gives a reason.
func (a *Answer) failed() bool {
	said := text(a.doc, "status") == "Failed" || a.s.Adapter.Through && text(a.doc, "error.code") == "ResourceValidationFailed"
	return said && text(a.doc, "error.code") != "" && text(a.doc, "error.message") != ""
}

// invalidBodies returns bodies that most providers refuse.
func (s *Scene) invalidBodies() []Object {
	bodies := []Object{s.body(s.Type, Object{"properties": "none"})}
	if isTracked(s.Type) && !s.Type.global() {
		bodies = append(bodies, s.body(s.Type, Object{"location": "nowhere"}))
	}
	return bodies
}
