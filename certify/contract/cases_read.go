package contract

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// readCases check GET and HEAD.
func readCases() []Case {
	return []Case{
		{
			ID: "get/what-is-not-there", Profile: Core, Section: getResource, On: func(*Type) bool { return true },
			Rule:    "if the resource does not exist, 404 is returned, with an error",
			Through: "of a tracked resource that the gateway does not know: its own ResourceNotFound",
			Run: func(s *Scene) {
				a := s.get(beside(s.id, "absent")).refused(404)
				if s.Adapter.Through && isTracked(s.Type) {
					s.check(text(a.doc, "error.code") == "ResourceNotFound", "the code is ResourceNotFound", "%s", a)
				}
			},
		},
		{
			ID: "get/no-such-type", Profile: Core, Section: getResource, On: isTop, Once: true,
			Rule: "a type that the provider does not have is 404",
			Run: func(s *Scene) {
				s.get(s.group+"/providers/"+s.Type.provider.Namespace+"/noSuchThings/a", at(s.Type.version())).refused(404)
			},
		},
		{
			ID: "get/head", Profile: Core, Section: httpSemantics, On: writable,
			Rule:    "HEAD answers 200 where GET does, and 404, and never has a body",
			Through: "the gateway answers 204 where the resource is",
			Run: func(s *Scene) {
				s.made()
				s.call(http.MethodHead, s.id, nil).status(by(s, 200, 204))
				s.call(http.MethodHead, beside(s.id, "absent"), nil).status(404)
			},
		},
		{
			ID: "get/head-has-no-body-on-the-wire", Profile: Core, Section: httpSemantics, On: isTop, Once: true,
			Rule:    "the answer of HEAD ends with its header",
			Through: "as without",
			Run: func(s *Scene) {
				s.made()
				rest, err := s.rawHead(s.id)
				if err != nil {
					s.fatal("HEAD is answered on a plain connection", err.Error())
				}
				s.check(len(rest) == 0, "nothing follows the header of the answer to HEAD", "%q", clip(string(rest), 200))
			},
		},
	}
}

// rawHead makes a HEAD call on a new connection and returns the bytes after the
// answer's header, which client libraries hide.
func (s *Scene) rawHead(id string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(s.ctx, callLimit)
	defer cancel()
	target := escape(id) + "?api-version=" + s.Type.version()
	r, _, err := s.Adapter.request(ctx, call{method: http.MethodHead, target: target, region: s.endpoint(id)})
	if err != nil {
		return nil, err
	}
	r.Close = true
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", r.URL.Host)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }() // read to its end, or failed
	if err := conn.SetDeadline(time.Now().Add(callLimit)); err != nil {
		return nil, err
	}
	if err := r.Write(conn); err != nil {
		return nil, err
	}
	whole, err := io.ReadAll(conn)
	if err != nil {
		return nil, err
	}
	if _, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(whole)), r); err != nil { //nolint:bodyclose // a HEAD's answer has no body to close
		return nil, err
	}
	_, rest, _ := bytes.Cut(whole, []byte("\r\n\r\n"))
	return rest, nil
}

// listCases check collections and their pages.
func listCases() []Case {
	return []Case{
		{
			ID: "list/of-what-it-hangs-on", Profile: Core, Section: getResource, On: writable,
			Rule: "a collection has each of its resources once, as a GET shows it, and nothing else",
			Run: func(s *Scene) {
				s.check(len(s.walk(collection(s.id)).items) == 0, "a collection without resources is empty", "it is not")
				ids := []string{s.id, beside(s.id, "b"), beside(s.id, "C")}
				for _, id := range ids {
					s.put(id, s.body(s.Type)).status(201)
				}
				items := s.walk(collection(s.id))
				s.check(len(items.items) == len(ids), "the collection has 3 resources", "%s", items)
				for _, id := range ids {
					s.check(items.has(id), "the collection has "+id, "%s", items)
					for _, item := range items.like(id) {
						lack := missing(item, s.get(id).status(200).doc, "")
						s.check(lack == "", "the item of "+nameOf(id)+" is what a GET shows", "%s", lack)
					}
				}
			},
		},
		{
			ID: "list/of-a-subscription", Profile: TrackedResources, Section: getResource, On: func(t *Type) bool { return isTop(t) && writable(t) },
			Rule: "the collection of a type under a subscription has its resources of every group",
			Run: func(s *Scene) {
				s.made()
				items := s.walk(subscriptionCollection(s.Adapter.Subscription, s.Type))
				s.check(items.has(s.id), "the collection has "+s.id, "it has not; %d others", len(items.items))
			},
		},
		{
			ID: "list/over-several-regions", Profile: TrackedResources, Section: getResource, On: func(t *Type) bool { return isTop(t) && !t.global() }, Side: ThroughOnly,
			Rule:    "each regional endpoint is asked that has such resources, and the answers are one collection",
			Through: "the gateway puts it together, for a group and for a subscription",
			Run: func(s *Scene) {
				var ids []string
				for i, region := range s.Adapter.Regions {
					id := beside(s.id, fmt.Sprintf("in-%d", i))
					s.put(id, s.body(s.Type, Object{"location": region})).status(201)
					ids = append(ids, id)
				}
				inGroup := s.walk(collection(s.id))
				s.check(len(inGroup.items) == len(ids), "the group's collection has one of each region", "%s", inGroup)
				inSubscription := s.walk(subscriptionCollection(s.Adapter.Subscription, s.Type))
				for _, id := range ids {
					s.check(inGroup.has(id), "the group's collection has "+id, "%s", inGroup)
					s.check(len(inSubscription.like(id)) == 1, "the subscription's collection has "+id+" once", "%d times", len(inSubscription.like(id)))
				}
			},
		},
		{
			ID: "list/groups-are-apart", Profile: Core, Section: getResource, On: isTop,
			Rule: "a group's collection has resources of that group alone, whatever the names",
			Run: func(s *Scene) {
				s.made()
				longer := s.group + "-longer"
				if err := s.Adapter.putGroup(s.ctx, longer, s.region); err != nil {
					s.fatal("a second group can be made", err.Error())
				}
				id := longer + "/providers/" + s.Type.FullName() + "/" + nameOf(s.id)
				s.put(id, s.body(s.Type)).status(201)
				items := s.walk(collection(s.id))
				s.check(len(items.items) == 1 && items.has(s.id), "the collection has "+s.id+" alone", "%s", items)
			},
		},
		{
			ID: "list/every-page-is-reached", Profile: Core, Section: paging, On: func(t *Type) bool { return t.Kind != Extension && writable(t) },
			Rule:    "following nextLink until it is absent or null reaches every resource once; nextLink is never an empty string",
			Through: "nextLink leads to the public URL; a list over several regions may come on one page",
			Run: func(s *Scene) {
				want := s.several(5)
				options := []option{query("$top=2")}
				if s.Description.PageSize != "" {
					options = []option{with(s.Description.PageSize, "2")}
				}
				items := s.walk(collection(s.id), options...)
				s.check(len(items.items) == len(want), "5 resources on all pages", "%s", items)
				for _, id := range want {
					s.check(len(items.like(id)) == 1, "the pages have "+nameOf(id)+" once", "%d times", len(items.like(id)))
				}
			},
		},
		{
			ID: "list/top", Profile: Core, Section: paging, On: func(t *Type) bool { return t.Kind != Extension && writable(t) },
			Rule: "$top is the maximum number of records returned; the rest is reached by nextLink",
			Run: func(s *Scene) {
				want := s.several(3)
				first := s.get(collection(s.id), query("$top=2")).status(200)
				s.check(len(values(first)) <= 2, "at most 2 records", "%d", len(values(first)))
				items := s.walk(collection(s.id), query("$top=2"))
				s.check(len(items.items) == len(want), "3 resources on all pages", "%s", items)
			},
		},
		{
			ID: "list/nextlink-keeps-the-clients-query", Profile: Core, Section: paging, On: isTop, Side: StraightOnly,
			Rule: "nextLink is {refererHeaderUrl} with a $skipToken; the client's query parameters stay",
			Run: func(s *Scene) {
				s.several(3)
				first := s.get(collection(s.id), query("$top=1")).status(200)
				link := text(first.doc, "nextLink")
				u, err := url.Parse(link)
				if err != nil {
					s.fatal("nextLink is a URL", link)
				}
				path, _, _ := strings.Cut(first.call.target, "?")
				s.check(u.EscapedPath() == path, "nextLink has the path of the referer", "%s", link)
				s.check(u.Query().Get("api-version") == s.Type.version(), "nextLink has the api-version of the request", "%s", link)
				s.check(folded(u.Query(), "$skiptoken") != "", "nextLink has a $skipToken", "%s", link)
			},
		},
		{
			ID: "list/an-empty-collection", Profile: Core, Section: paging, On: isTop,
			Rule: "when there are none and all parents exist, the collection is empty: 200, value [], nextLink absent or null",
			Run: func(s *Scene) {
				s.get(collection(s.id)).status(200).emptyList()
			},
		},
		{
			ID: "list/of-an-unknown-subscription", Profile: Core, Section: getResource, On: isTop, Side: StraightOnly,
			Rule: "the list of a subscription that the provider was never told of is empty or 404, never 5xx or 403",
			Run:  func(s *Scene) { s.emptyOrAbsent(s.Adapter.Sibling) },
		},
		{
			ID: "list/of-an-unregistered-subscription", Profile: Core, Section: getResource, On: isTop, Side: ThroughOnly,
			Rule:    "the list of a subscription that is not registered is empty or 404, never 5xx or 403",
			Through: "the gateway answers 200 and an empty list; providers are not asked",
			Run:     func(s *Scene) { s.emptyOrAbsent(s.Adapter.Sibling) },
		},
	}
}

// emptyOrAbsent checks a subscription's list against the answer for an unregistered
// subscription.
func (s *Scene) emptyOrAbsent(subscription string) {
	a := s.get(subscriptionCollection(subscription, s.Type)).status(200, 404)
	if a.Status == http.StatusOK {
		a.emptyList()
	}
}

// emptyList expects a complete collection without elements.
func (a *Answer) emptyList() {
	v, _ := lookup(a.doc, "value")
	array, ok := v.([]any)
	a.s.check(ok && len(array) == 0, a.call.String()+" has an empty array, value", "%s", a)
	a.lacks("nextLink")
}

func subscriptionCollection(subscription string, t *Type) string {
	return "/subscriptions/" + subscription + "/providers/" + t.FullName()
}

// several creates resources beside the scene's own and returns all ids.
func (s *Scene) several(n int) []string {
	var ids []string
	for i := range n {
		id := beside(s.id, "item-"+string(rune('a'+i)))
		s.put(id, s.body(s.Type)).status(201)
		ids = append(ids, id)
	}
	return ids
}

// listing is a whole collection, from all its pages.
type listing struct{ items []any }

// like are the items of an id, in any casing.
func (l listing) like(id string) []any {
	var found []any
	for _, item := range l.items {
		if strings.EqualFold(text(item, "id"), id) {
			found = append(found, item)
		}
	}
	return found
}

// has reports whether there is an item with exactly this id.
func (l listing) has(id string) bool {
	for _, item := range l.items {
		if text(item, "id") == id {
			return true
		}
	}
	return false
}

func (l listing) String() string {
	names := make([]string, len(l.items))
	for i, item := range l.items {
		names[i] = text(item, "name")
	}
	return "[" + clip(strings.Join(names, ", "), 300) + "]"
}

func values(a *Answer) []any {
	v, _ := lookup(a.doc, "value")
	array, _ := v.([]any)
	return array
}

// mostPages ends an endless walk.
const mostPages = 1000

// walk reads a collection like a client: page after page until there is no nextLink,
// whatever the number of items on a page.
func (s *Scene) walk(path string, options ...option) listing {
	var l listing
	a := s.get(path, options...)
	for range mostPages {
		a.status(200)
		v, _ := lookup(a.doc, "value")
		if _, ok := v.([]any); !ok {
			s.fatal(a.call.String()+" has an array, value", a.String())
		}
		l.items = append(l.items, values(a)...)
		next, there := lookup(a.doc, "nextLink")
		if !there || next == nil {
			return l
		}
		link, _ := next.(string)
		if link == "" {
			s.fault("the last page has no nextLink, or null", "nextLink is "+show(next))
			return l
		}
		s.check(strings.HasPrefix(link, s.Adapter.Public+"/"), "nextLink is absolute and on "+s.Adapter.Public, "%s", link)
		header := a.call.header
		a = s.follow(link, a, func(c *call) { c.header = header })
	}
	s.fatal("the pages of "+path+" end", "they do not")
	return l
}

// folded is a query parameter by its name without case.
func folded(q url.Values, name string) string {
	for key := range q {
		if strings.EqualFold(key, name) {
			return q.Get(key)
		}
	}
	return ""
}
