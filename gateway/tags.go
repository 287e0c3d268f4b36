package gateway

import (
	"context"
	"maps"
	"net/http"

	"github.com/gorilla/mux"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
)

const (
	tagsNamespace = "Microsoft.Resources"
	tagsType      = tagsNamespace + "/tags"
	tagsPlace     = "/providers/" + tagsType + "/default"
)

// tagsBody is all tags of a scope as clients see them. Every scope has it, also
// without any tag.
type tagsBody struct {
	ID         string         `json:"id"`
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Properties tagsProperties `json:"properties"`
	ETag       string         `json:"etag,omitempty"`
}

type tagsProperties struct {
	Tags map[string]string `json:"tags"`
}

func tagsOf(scopeID string, tags map[string]string) tagsBody {
	if tags == nil {
		tags = map[string]string{}
	}
	body := tagsBody{ID: scopeID + tagsPlace, Name: "default", Type: tagsType, Properties: tagsProperties{tags}}
	body.ETag = arm.WeakETag(body)
	return body
}

// tagRoutes adds the tags of subscriptions, groups and resources: the last hop
// of their paths.
func (g *Gateway) tagRoutes(m *mux.Router) {
	here := func(r *http.Request, _ *mux.RouteMatch) bool { return tagsPath(exchange.From(r).Request) }
	for method, handler := range map[string]ownHandler{
		http.MethodGet: g.getTags, http.MethodPut: g.editTags, http.MethodPatch: g.editTags, http.MethodDelete: g.editTags,
	} {
		m.MatcherFunc(here).Methods(method).Handler(g.ownRoute(g.underLocks(handler)))
	}
}

func tagsPath(q *routing.Request) bool {
	if q.Path.Hops() == 0 || q.Path.Subscription() == "" {
		return false
	}
	hop := q.Path.LastHop()
	return hop.Len() == 2 && arm.EqualFold(hop.Namespace(), tagsNamespace) &&
		arm.EqualFold(hop.Segment(0), "tags") && arm.EqualFold(hop.Segment(1), "default")
}

// tagEdit is a change of the tags of a scope: a pure function of those that
// there are.
type tagEdit struct {
	operation  arm.TagOperation
	sent       map[string]string
	kind       inventory.WriteKind // by which locks judge it
	limit      int
	conditions arm.Preconditions
	target     string
	fault      error // of the content; the preconditions are judged first
}

func (e tagEdit) apply(scopeID string, current map[string]string) (map[string]string, error) {
	if fault := e.conditions.Write(tagsOf(scopeID, current).ETag, e.target); fault != nil {
		return nil, fault
	}
	if e.fault != nil {
		return nil, e.fault
	}
	next := e.operation.Apply(current, e.sent)
	if fault := arm.CheckTags(next, e.limit); fault != nil {
		return nil, fault
	}
	return next, nil
}

// readTags reads what a client sends for the tags of a scope. What only the
// service sets may come back from a GET, and is compared where it names the
// scope.
func (g *Gateway) readTags(r *http.Request, x *exchange.Exchange, content []byte, scopeID string) tagEdit {
	e := tagEdit{
		limit: g.config.Limits.TagsPerResource, conditions: arm.ParsePreconditions(r.Header), target: x.Request.Path.String(),
	}
	if r.Method == http.MethodDelete {
		e.kind = inventory.Delete
		return e
	}
	var sent struct {
		tagsBody
		Operation  string          `json:"operation"`
		Properties *tagsProperties `json:"properties"`
	}
	if fault := exchange.ReadJSON(content, &sent); fault != nil {
		e.fault = fault
		return e
	}
	if sent.Properties == nil {
		e.fault = arm.NewError(arm.InvalidRequestContent, "The properties are required. Path 'properties'").About("properties")
		return e
	}
	e.sent = sent.Properties.Tags
	if fault := matchURL(echoed{"id", sent.ID, scopeID + tagsPlace}, echoed{"name", sent.Name, "default"}, echoed{"type", sent.Type, tagsType}); fault != nil {
		e.fault = fault
		return e
	}
	known := r.Method == http.MethodPut && sent.Operation == ""
	if r.Method == http.MethodPatch {
		e.operation, known = arm.ParseTagOperation(sent.Operation)
	}
	if !known {
		e.fault = arm.NewError(arm.InvalidRequestContent, "The operation of a PATCH is Merge, Replace or Delete; no other request has one. Path 'operation'").About("operation")
	} else if fault := arm.CheckTags(e.sent, len(e.sent)); fault != nil && e.operation != arm.TagDelete {
		e.fault = fault
	}
	return e
}

func (g *Gateway) getTags(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	s, err := g.taggable(r.Context(), x)
	if err != nil {
		return err
	}
	switch {
	case s.on != nil:
		return g.getResourceTags(w, r, x, s)
	case c.Group.Key != "":
		return g.answerTags(w, r, x, tagsOf(routing.GroupID(c.Group.Subscription, c.Group.Name), c.Group.Tags))
	}
	return g.answerTags(w, r, x, tagsOf("/subscriptions/"+c.Subscription.ID, c.Subscription.Tags))
}

func (g *Gateway) answerTags(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, body tagsBody) error {
	if r.Method == http.MethodDelete {
		return x.Answer(w, http.StatusOK, nil)
	}
	w.Header()["ETag"] = []string{body.ETag}
	if r.Method == http.MethodGet && arm.ParsePreconditions(r.Header).NotModified(body.ETag) {
		return x.Answer(w, http.StatusNotModified, nil)
	}
	return x.Answer(w, http.StatusOK, body)
}

// taggable is the scope whose tags a request is about. Of resources, the tracked
// ones have tags (addendum, tracked and proxy-only resources).
func (g *Gateway) taggable(ctx context.Context, x *exchange.Exchange) (scope, error) {
	s, err := g.scopeOf(ctx, x)
	if err == nil && s.on != nil && s.on.Type.Kind != regions.Tracked {
		return s, arm.NewError(arm.TagsNotSupported, s.on.Type.FullName).About(s.id)
	}
	return s, err
}

// editTags changes the tags of a scope, wherever they are kept: of a resource at
// its provider, of all else in the inventory.
func (g *Gateway) editTags(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	s, err := g.taggable(r.Context(), x)
	if err != nil {
		return err
	}
	e := g.readTags(r, x, c.content, s.id)
	switch {
	case s.on != nil:
		return g.editResourceTags(w, r, x, s, e)
	case c.Group.Key != "":
		return g.editGroupTags(w, r, x, c, e)
	}
	id := "/subscriptions/" + c.Subscription.ID
	tags, err := g.store.EditSubscriptionTags(r.Context(), c.Subscription.ID, e.kind, func(current map[string]string) (map[string]string, error) {
		return e.apply(id, current)
	})
	if err != nil {
		return groupRefusal(x, err)
	}
	return g.answerTags(w, r, x, tagsOf(id, tags))
}

func (g *Gateway) editGroupTags(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall, e tagEdit) error {
	group, _, err := g.store.EditGroup(r.Context(), c.Subscription.ID, c.Group.Name, func(current *inventory.Group) (*inventory.Group, error) {
		switch {
		case current == nil:
			return nil, inventory.ErrNotFound
		case current.State != inventory.GroupActive:
			return nil, routing.GroupClosed(current.State, current.Name)
		}
		next := *current
		var err error
		if next.Tags, err = e.apply(routing.GroupID(current.Subscription, current.Name), maps.Clone(current.Tags)); err != nil {
			return nil, err
		}
		next.ETag = arm.WeakETag(stable(next))
		return &next, nil
	})
	if err != nil {
		return groupRefusal(x, err)
	}
	return g.answerTags(w, r, x, tagsOf(routing.GroupID(group.Subscription, group.Name), group.Tags))
}
