package contract

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// operationCases check the operation resource at an Azure-AsyncOperation.
func operationCases() []Case {
	return []Case{
		{
			ID: "operation/reading-it-is-200", Profile: Asynchronous, Section: operationFormat, On: asyncTypes,
			Rule: "when the operation resource is read, the status code is always 200",
			Run: func(s *Scene) {
				started, link := s.statusURL(s.Description.Asynchrony.Long)
				s.follow(link, started).status(200)
			},
		},
		{
			ID: "operation/while-it-runs", Profile: Asynchronous, Section: operationFormat, On: asyncTypes,
			Rule: "status is required; id and name match the URL; times are ISO 8601; properties are shown only after success",
			Run: func(s *Scene) {
				started, link := s.statusURL(s.Description.Asynchrony.Long)
				a := s.follow(link, started)
				status := text(a.doc, "status")
				a.check(status != "", "the operation resource has a status", "%s", a)
				if s.Description.Asynchrony.steered() {
					a.check(!terminal(status), "a status that is not terminal", "%s", a)
				}
				if status != "Succeeded" {
					a.lacks("properties")
				}
				a.wellFormed(link)
			},
		},
		{
			ID: "operation/that-succeeded", Profile: Asynchronous, Section: operationFormat, On: asyncTypes,
			Rule: "the operation resource ends with the status Succeeded",
			Run: func(s *Scene) {
				started, link := s.statusURL(s.Description.Asynchrony.Short)
				a := s.awaitStatus(started).wellFormed(link)
				a.check(text(a.doc, "status") == "Succeeded", "status Succeeded", "%s", a)
			},
		},
		{
			ID: "operation/that-failed-or-was-canceled", Profile: Asynchronous, Section: operationFormat, On: asyncTypes,
			Rule: "an operation that failed or was canceled shows that status with error.code and error.message, without properties",
			Run: func(s *Scene) {
				d := s.Description.Asynchrony
				for outcome, headers := range map[string]Headers{"Failed": d.Failed, "Canceled": d.Canceled} {
					s.failing(Pattern{}, headers)
					started, link := s.statusURL(d.Short, headers)
					a := s.awaitStatus(started).lacks("properties").envelope().wellFormed(link)
					a.check(text(a.doc, "status") == outcome, "status "+outcome, "%s", a)
				}
			},
		},
	}
}

// statusURL starts an operation that has an operation resource, and returns its URL.
func (s *Scene) statusURL(headers ...Headers) (*Answer, string) {
	for started := range s.operations(headers...) {
		if link := started.Header.Get("Azure-AsyncOperation"); link != "" {
			return started, link
		}
	}
	s.leaveOut("no write was answered with an Azure-AsyncOperation, which is optional")
	return nil, ""
}

// times are the layouts of ISO 8601 in use.
var times = []string{time.RFC3339, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999Z0700"}

func isTime(v any) bool {
	s, _ := v.(string)
	return slices.ContainsFunc(times, func(form string) bool {
		_, err := time.Parse(form, s)
		return err == nil
	})
}

// wellFormed checks the form of an operation resource's members.
func (a *Answer) wellFormed(link string) *Answer {
	u, err := url.Parse(link)
	if err != nil {
		a.fatal("the polling URL is well-formed", link)
	}
	if id := text(a.doc, "id"); id != "" {
		a.check(strings.EqualFold(id, u.Path), "the operation's id is "+u.Path, "%s", id)
		if name := text(a.doc, "name"); name != "" {
			a.check(strings.EqualFold(name, nameOf(id)), "the operation's name is "+nameOf(id), "%s", name)
		}
	}
	for _, member := range []string{"startTime", "endTime"} {
		if v, there := lookup(a.doc, member); there && v != nil {
			a.check(isTime(v), member+" is ISO 8601", "%s", show(v))
		}
	}
	if v, there := lookup(a.doc, "percentComplete"); there && v != nil {
		n, ok := v.(float64)
		a.check(ok && 0 <= n && n <= 100, "percentComplete is from 0 to 100", "%s", show(v))
	}
	return a
}

// inAnyPlace expects the polling URL below the provider in the subscription, or below the
// resource.
func inAnyPlace(s *Scene, started *Answer) {
	link := started.Header.Get("Location")
	if link == "" {
		s.leaveOut("no write was answered with a Location")
	}
	u, err := url.Parse(link)
	path := ""
	if err == nil {
		path = strings.ToLower(u.Path)
	}
	under := func(id string) bool { return strings.HasPrefix(path, strings.ToLower(id)+"/") }
	provider := "/subscriptions/" + s.Adapter.Subscription + "/providers/" + s.Type.provider.Namespace
	started.check(under(provider) || under(idOf(started)), "the Location lies below "+provider+" or the resource", "%s", link)
}

// inPlace expects the polling URL in the requested form.
func inPlace(s *Scene, started *Answer, form Place) {
	u, err := url.Parse(started.link("Location"))
	if err != nil {
		started.fatal("the Location is well-formed", started.link("Location"))
	}
	resource, _, _ := strings.Cut(started.call.target, "?")
	want := strings.NewReplacer(
		"{subscription}", "/subscriptions/"+s.Adapter.Subscription,
		"{namespace}", s.Type.provider.Namespace,
		"{location}", s.locationFor(s.Type),
		"{resource}", resource,
	).Replace(form.Path)
	got := collection(collection(u.EscapedPath()))
	s.check(strings.EqualFold(got, want), "the Location lies below "+want, "%s", u)
	s.check(u.Query().Get("api-version") != "", "the Location has an api-version", "%s", u)
}

// pollerCases check which callers may poll an operation.
func pollerCases() []Case {
	return []Case{
		{
			ID: "poll/in-another-tenant", Profile: Asynchronous, Section: resultRules, On: asyncTypes,
			Rule:    "an operation is 404 to callers of another tenant, even with the same object id; its own caller can still read it",
			Through: "the gateway answers another tenant with 404 SubscriptionNotFound",
			Run: func(s *Scene) {
				started := s.operation(s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(started) {
					s.follow(link, started, as(Stranger)).refused(404)
					if elsewhere := s.Adapter.identities[Stranger].TenantID; !s.Adapter.Through {
						s.follow(link, started, with("x-ms-home-tenant-id", elsewhere), with("x-ms-client-tenant-id", elsewhere)).refused(404)
					}
					s.follow(link, started).done()
				}
			},
		},
		{
			ID: "poll/by-somebody-else", Profile: Asynchronous, Section: resultRules, On: asyncTypes,
			Rule: "only the caller that started an operation can poll it",
			Run: func(s *Scene) {
				started := s.operation(s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(started) {
					s.follow(link, started, as(Colleague)).refusedToOthers()
				}
			},
		},
		{
			ID: "poll/after-its-end-by-somebody-else", Profile: Asynchronous, Section: resultRules, On: asyncTypes,
			Rule: "only the caller that started an operation can poll it, also after it has ended",
			Run: func(s *Scene) {
				started := s.operation(s.Description.Asynchrony.Short)
				s.prepare(func() { s.followed(started) })
				for _, link := range pollingURLs(started) {
					for _, caller := range []Caller{Colleague, Stranger} {
						s.follow(link, started, as(caller)).refusedToOthers()
					}
				}
			},
		},
		{
			ID: "poll/in-another-subscription", Profile: Asynchronous, Section: resultRules, On: asyncTypes,
			Rule: "an operation id that does not exist in the subscription is 404",
			Run: func(s *Scene) {
				started := s.operation(s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(started) {
					s.follow(strings.Replace(link, s.Adapter.Subscription, s.Adapter.Sibling, 1), started).refused(404)
				}
			},
		},
		{
			ID: "poll/of-an-id-that-nobody-gave", Profile: Asynchronous, Section: resultRules, On: asyncTypes,
			Rule: "an operation id that does not exist is 404",
			Run: func(s *Scene) {
				started := s.operation(s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(started) {
					u, err := url.Parse(link)
					if err != nil {
						s.fatal("the polling URL is well-formed", link)
					}
					u.Path = collection(u.Path) + "/" + uuid.NewString()
					u.RawPath = ""
					s.follow(u.String(), started).refused(404)
				}
			},
		},
		{
			ID: "poll/by-a-caller-without-an-object-id", Profile: Asynchronous, Section: resultRules, On: asyncTypes, Side: StraightOnly,
			Rule: "without an object id, x-ms-client-puid identifies the caller that started an operation",
			Run: func(s *Scene) {
				started := s.operationBy(Passport, s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(started) {
					s.follow(link, started, as(Passport)).done()
					for _, caller := range []Caller{OtherPassport, Owner} {
						s.follow(link, started, as(caller)).refusedToOthers()
					}
				}
			},
		},
		{
			ID: "poll/the-id-appears-nowhere-else", Profile: Asynchronous, Section: resultRules, On: asyncTypes,
			Rule: "the operation's id is not exposed by other means: it is neither a correlation nor a request id",
			Run: func(s *Scene) {
				started := s.operation(s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(started) {
					path, _, _ := strings.Cut(link, "?")
					id := strings.ToLower(nameOf(path))
					for what, other := range exposed(s, started) {
						s.check(!strings.Contains(strings.ToLower(other), id), "the operation's id is not in "+what, "%s", other)
					}
				}
			},
		},
		{
			ID: "poll/after-more-than-a-day", Profile: Asynchronous, Section: moreThanADay, On: func(t *Type) bool { return t.Contract.LongRun.Action != "" },
			Rule: "the latest status of a very long operation is readable from a proxy resource, at any time and by every reader",
			Run: func(s *Scene) {
				run := s.Type.Contract.LongRun
				s.created()
				begin := func(headers Headers) {
					s.prepare(func() { s.post(s.id+"/"+run.Action, nil, withAll(headers)).status(202) })
				}
				begin(s.Description.Asynchrony.Short)
				status := func() (*Answer, bool) {
					a := s.get(s.id + "/" + run.Child)
					return a, a.Status != http.StatusNotFound && (a.Status != http.StatusOK || terminal(text(a.doc, run.Status)))
				}
				done := s.await("the latest run ends", status).status(200)
				done.check(text(done.doc, run.Status) == "Succeeded", run.Status+" is Succeeded", "%s", done)
				if !s.Description.Asynchrony.steered() {
					return
				}
				begin(s.Description.Asynchrony.Long)
				for _, caller := range []Caller{Owner, Colleague} {
					a := s.get(s.id+"/"+run.Child, as(caller)).status(200)
					word := text(a.doc, run.Status)
					a.check(word != "" && !terminal(word), run.Status+" shows the running operation", "%s", a)
				}
			},
		},
	}
}

func pollingURLs(started *Answer) []string {
	var links []string
	for _, header := range []string{"Location", "Azure-AsyncOperation"} {
		if link := started.Header.Get(header); link != "" {
			links = append(links, link)
		}
	}
	return links
}

// exposed returns those ids of the request that started an operation, and of
// its first poll, that others may see.
func exposed(s *Scene, started *Answer) map[string]string {
	all := map[string]string{
		"the correlation id": started.ids.correlation, "the client-request id": started.ids.client, "the routing id": started.ids.routing,
	}
	answers := append([]*Answer{started}, s.polls(started)...)
	for _, a := range answers {
		for _, name := range []string{"x-ms-request-id", "x-ms-correlation-request-id", "x-ms-routing-request-id"} {
			if id := a.Header.Get(name); id != "" {
				all["the "+name+" of "+a.call.method] = id
			}
		}
	}
	all["the resource"] = string(s.get(idOf(started)).Body)
	return all
}

// idOf returns the id in a call's path.
func idOf(a *Answer) string {
	path, _, _ := strings.Cut(a.call.target, "?")
	id, err := url.PathUnescape(path)
	if err != nil {
		return path
	}
	return id
}

// refusedToOthers expects the poll by a caller who did not start the operation to be
// refused.
func (a *Answer) refusedToOthers() {
	a.check(a.denied(), "the operation is not shown to another caller", "%s", a)
}
