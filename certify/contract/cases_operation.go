package contract

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// operationCases check the operation resource that Azure-AsyncOperation names.
func operationCases() []Case {
	return []Case{
		{
			ID: "operation/while-it-runs", Profile: Asynchronous, Section: operationFormat, On: asyncTypes,
			Rule: "reading it is always 200; status is required; id and name match the URL; times are ISO 8601; no properties, no error",
			Run: func(s *Scene) {
				begun := s.operation(s.Description.Asynchrony.Long)
				a := s.follow(begun.link("Azure-AsyncOperation"), begun).status(200)
				status := text(a.doc, "status")
				s.check(status != "" && !terminal(status), "a status that is not terminal", "%s", a)
				a.lacks("properties").lacks("error").lacks("endTime").wellFormed(begun.link("Azure-AsyncOperation"))
			},
		},
		{
			ID: "operation/that-succeeded", Profile: Asynchronous, Section: operationFormat, On: asyncTypes,
			Rule: "status Succeeded, without an error",
			Run: func(s *Scene) {
				begun := s.operation(s.Description.Asynchrony.Short)
				a := s.statusEnded(begun).lacks("error").wellFormed(begun.link("Azure-AsyncOperation"))
				s.check(text(a.doc, "status") == "Succeeded", "status Succeeded", "%s", a)
			},
		},
		{
			ID: "operation/that-failed-or-was-canceled", Profile: Asynchronous, Section: operationFormat, On: asyncTypes,
			Rule: "status Failed or Canceled with error.code and error.message, without properties; reading it is still 200",
			Run: func(s *Scene) {
				d := s.Description.Asynchrony
				for outcome, asked := range map[string]Headers{"Failed": d.Failed, "Canceled": d.Canceled} {
					begun := s.operation(d.Short, asked)
					a := s.statusEnded(begun).lacks("properties").envelope().wellFormed(begun.link("Azure-AsyncOperation"))
					s.check(text(a.doc, "status") == outcome, "status "+outcome, "%s", a)
					s.failed(s.result(begun))
				}
			},
		},
	}
}

// wellFormed checks the form of an operation resource's members.
func (a *Answer) wellFormed(link string) *Answer {
	u, err := url.Parse(link)
	if err != nil {
		a.s.fatal("the polling URL is well-formed", link)
	}
	if id := text(a.doc, "id"); id != "" {
		a.s.check(strings.EqualFold(id, u.Path), "the operation's id is "+u.Path, "%s", id)
	}
	if name := text(a.doc, "name"); name != "" {
		a.s.check(name == nameOf(u.Path), "the operation's name is "+nameOf(u.Path), "%s", name)
	}
	for _, member := range []string{"startTime", "endTime"} {
		v, there := lookup(a.doc, member)
		if !there || v == nil {
			continue
		}
		s, _ := v.(string)
		_, err := time.Parse(time.RFC3339, s)
		a.s.check(err == nil, member+" is ISO 8601", "%s", show(v))
	}
	if v, there := lookup(a.doc, "percentComplete"); there && v != nil {
		n, ok := v.(float64)
		a.s.check(ok && 0 <= n && n <= 100, "percentComplete is from 0 to 100", "%s", show(v))
	}
	return a
}

// inPlace expects the polling URL in the requested form.
func (s *Scene) inPlace(begun *Answer, form Place) {
	u, err := url.Parse(begun.link("Location"))
	if err != nil {
		s.fatal("the Location is well-formed", begun.link("Location"))
	}
	resource, _, _ := strings.Cut(begun.call.target, "?")
	want := strings.NewReplacer(
		"{subscription}", "/subscriptions/"+s.Adapter.Subscription,
		"{namespace}", s.Type.provider.Namespace,
		"{location}", s.place(s.Type),
		"{resource}", resource,
	).Replace(form.Path)
	got := collection(collection(u.EscapedPath()))
	s.check(strings.EqualFold(got, want), "the Location lies below "+want, "%s", u)
	s.check(u.Query().Get("api-version") != "", "the Location has an api-version", "%s", u)
}

// pollerCases check who may read an operation.
func pollerCases() []Case {
	return []Case{
		{
			ID: "poll/by-somebody-else", Profile: Asynchronous, Section: resultRules, On: isTop,
			Rule:    "an operation is 404 to another caller of the same tenant and to another tenant; to who began it, it stays readable",
			Through: "another tenant does not see the subscription: 404 SubscriptionNotFound, by the gateway",
			Run: func(s *Scene) {
				begun := s.operation(s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(begun) {
					for _, caller := range []Caller{Colleague, Stranger} {
						s.follow(link, begun, as(caller)).refused(404)
					}
					s.follow(link, begun).status(200, 202)
				}
			},
		},
		{
			ID: "poll/after-its-end-by-somebody-else", Profile: Asynchronous, Section: resultRules, On: isTop,
			Rule: "the same once the operation has ended",
			Run: func(s *Scene) {
				begun := s.operation(s.Description.Asynchrony.Short)
				s.result(begun).status(200)
				for _, link := range pollingURLs(begun) {
					for _, caller := range []Caller{Colleague, Stranger} {
						s.follow(link, begun, as(caller)).refused(404)
					}
					s.follow(link, begun).status(200)
				}
			},
		},
		{
			ID: "poll/in-another-subscription", Profile: Asynchronous, Section: resultRules, On: isTop,
			Rule: "an operation id that does not exist in the subscription is 404",
			Run: func(s *Scene) {
				begun := s.operation(s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(begun) {
					s.follow(strings.Replace(link, s.Adapter.Subscription, s.Adapter.Sibling, 1), begun).refused(404)
				}
			},
		},
		{
			ID: "poll/of-an-id-that-nobody-gave", Profile: Asynchronous, Section: resultRules, On: isTop,
			Rule: "an operation id that does not exist is 404",
			Run: func(s *Scene) {
				begun := s.operation(s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(begun) {
					u, err := url.Parse(link)
					if err != nil {
						s.fatal("the polling URL is well-formed", link)
					}
					u.Path = collection(u.Path) + "/" + uuid.NewString()
					u.RawPath = ""
					s.follow(u.String(), begun).refused(404)
				}
			},
		},
		{
			ID: "poll/by-a-caller-without-an-object-id", Profile: Asynchronous, Section: resultRules, On: isTop, Side: StraightOnly,
			Rule: "where there is no object id, x-ms-client-puid tells who began the operation",
			Run: func(s *Scene) {
				begun := s.operationBy(Passport, s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(begun) {
					s.follow(link, begun, as(Passport)).status(200, 202)
					s.follow(link, begun, as(OtherPassport)).refused(404)
					s.follow(link, begun, as(Owner)).refused(404)
				}
			},
		},
		{
			ID: "poll/the-id-appears-nowhere-else", Profile: Asynchronous, Section: resultRules, On: isTop,
			Rule: "the operation's id is not exposed by other means: it is neither a correlation nor a request id",
			Run: func(s *Scene) {
				begun := s.operation(s.Description.Asynchrony.Long)
				for _, link := range pollingURLs(begun) {
					path, _, _ := strings.Cut(link, "?")
					id := strings.ToLower(nameOf(path))
					for what, other := range s.exposed(begun) {
						s.check(!strings.Contains(strings.ToLower(other), id), "the operation's id is not in "+what, "%s", other)
					}
				}
			},
		},
		{
			ID: "poll/after-more-than-a-day", Profile: Asynchronous, Section: moreThanADay, On: func(t *Type) bool { return t.Contract.LongRun.Action != "" },
			Rule: "the latest status of such an operation is read from a proxy resource, at any time and by anybody who may read",
			Run: func(s *Scene) {
				run := s.Type.Contract.LongRun
				s.made()
				s.post(s.id+"/"+run.Action, nil, withAll(s.Description.Asynchrony.Short)).status(202)
				status := func() (*Answer, bool) {
					a := s.get(s.id + "/" + run.Child).status(200)
					return a, terminal(text(a.doc, run.Status))
				}
				done := s.await("the newest result is told", status)
				s.check(text(done.doc, run.Status) == "Succeeded", run.Status+" is Succeeded", "%s", done)
				s.post(s.id+"/"+run.Action, nil, withAll(s.Description.Asynchrony.Long)).status(202)
				for _, caller := range []Caller{Owner, Colleague} {
					a := s.get(s.id+"/"+run.Child, as(caller)).status(200)
					word := text(a.doc, run.Status)
					s.check(word != "" && !terminal(word), run.Status+" tells of the run under way", "%s", a)
				}
			},
		},
	}
}

func pollingURLs(begun *Answer) []string {
	var links []string
	for _, header := range []string{"Location", "Azure-AsyncOperation"} {
		if link := begun.Header.Get(header); link != "" {
			links = append(links, link)
		}
	}
	return links
}

// exposed are the ids that others may see of the request that started an operation, and
// of its first poll.
func (s *Scene) exposed(begun *Answer) map[string]string {
	all := map[string]string{
		"the correlation id": begun.ids.correlation, "the client-request id": begun.ids.client, "the routing id": begun.ids.routing,
	}
	answers := append([]*Answer{begun}, s.polls(begun)...)
	for _, a := range answers {
		for _, name := range []string{"x-ms-request-id", "x-ms-correlation-request-id", "x-ms-routing-request-id"} {
			if id := a.Header.Get(name); id != "" {
				all["the "+name+" of "+a.call.method] = id
			}
		}
	}
	body := s.get(idOf(begun)).status(http.StatusOK)
	all["the resource"] = string(body.Body)
	return all
}

// idOf is the id that a call was about.
func idOf(a *Answer) string {
	path, _, _ := strings.Cut(a.call.target, "?")
	id, err := url.PathUnescape(path)
	if err != nil {
		return path
	}
	return id
}
