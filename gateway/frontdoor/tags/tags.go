// Package tags serves the tags of subscriptions, groups and resources, and the names of
// tags that a subscription defines. Tags of resources are kept by their providers, all
// others by the inventory.
package tags

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/groups"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/inventory/index"
	"portico/regions"
	"portico/routing"
)

const (
	tagsNamespace = "Microsoft.Resources"
	tagsType      = tagsNamespace + "/tags"
	tagsSuffix    = "/providers/" + tagsType + "/default"
)

// Tags serves all tags of one scope.
type Tags struct {
	Store  *inventory.Store
	Scopes route.Scopes
	Limit  int // on the tags of one scope

	// The further members are for the tags of resources.
	Providers Sender
	// A provider has CallTime to answer; the call has certainly ended CallMargin later.
	CallTime, CallMargin time.Duration
}

// Routes implements frontdoor.Resource.
func (g Tags) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Matches: tagsPath, Action: "Microsoft.Resources/tags/read", Handle: g.get},
		{Method: http.MethodPut, Matches: tagsPath, Action: "Microsoft.Resources/tags/write", Handle: g.edit},
		{Method: http.MethodPatch, Matches: tagsPath, Action: "Microsoft.Resources/tags/write", Handle: g.edit},
		{Method: http.MethodDelete, Matches: tagsPath, Action: "Microsoft.Resources/tags/delete", Handle: g.edit},
	}
}

// tagsBody holds all tags of a scope as clients see them. It exists even without a tag.
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

// sentTags are tags as clients send them. To delete a tag by its name only, they send
// null as its value.
type sentTags struct {
	Tags map[string]*string `json:"tags"`
}

func tagsOf(scopeID string, tags map[string]string) tagsBody {
	if tags == nil {
		tags = map[string]string{}
	}
	body := tagsBody{ID: scopeID + tagsSuffix, Name: "default", Type: tagsType, Properties: tagsProperties{tags}}
	body.ETag = arm.WeakETag(body)
	return body
}

func tagsPath(q *routing.Request) bool {
	return q.Path.Subscription() != "" && route.EndsIn(q, tagsNamespace, "tags", 2) && arm.EqualFold(q.Path.LastHop().Segment(1), "default")
}

// tagEdit is a change of the tags of a scope: a pure function of the current ones.
type tagEdit struct {
	operation  arm.TagOperation
	sent       map[string]string
	kind       index.WriteKind // for the check of locks
	limit      int
	conditions func(etag string) error
	fault      error // of the content; the preconditions are checked first
}

func (e tagEdit) apply(scopeID string, current map[string]string) (map[string]string, error) {
	if err := cmp.Or(e.conditions(tagsOf(scopeID, current).ETag), e.fault); err != nil {
		return nil, err
	}
	next := e.operation.Apply(current, e.sent)
	if fault := arm.CheckTags(next, e.limit); fault != nil {
		return nil, fault
	}
	return next, nil
}

// readEdit reads what a client sends for the tags of a scope. Members that only the
// service sets must agree with the URL.
func (g Tags) readEdit(r *http.Request, x *exchange.Exchange, content []byte, scopeID string) tagEdit {
	e := tagEdit{limit: g.Limit, conditions: route.Preconditions(r, x)}
	if r.Method == http.MethodDelete {
		e.kind = index.Delete
		return e
	}
	var sent struct {
		tagsBody
		Operation  string    `json:"operation"`
		Properties *sentTags `json:"properties"`
	}
	if fault := exchange.ReadJSON(content, &sent); fault != nil {
		e.fault = fault
		return e
	}
	if sent.Properties == nil {
		e.fault = arm.NewError(arm.InvalidRequestContent, "The properties are required. Path 'properties'").WithTarget("properties")
		return e
	}
	e.sent = make(map[string]string, len(sent.Properties.Tags))
	var null []string
	for name, value := range sent.Properties.Tags {
		if value == nil {
			null = append(null, name)
			value = new(string)
		}
		e.sent[name] = *value
	}
	want := route.Names{ID: scopeID + tagsSuffix, Name: "default", Type: tagsType}
	if fault := (route.Names{ID: sent.ID, Name: sent.Name, Type: sent.Type}).Check(want); fault != nil {
		e.fault = fault
		return e
	}
	known := r.Method == http.MethodPut && sent.Operation == ""
	if r.Method == http.MethodPatch {
		e.operation, known = arm.ParseTagOperation(sent.Operation)
	}
	if !known {
		e.fault = arm.NewError(arm.InvalidRequestContent, "The operation of a PATCH is Merge, Replace or Delete; no other request has one. Path 'operation'").
			WithTarget("operation")
	} else if len(null) > 0 && e.operation != arm.TagDelete {
		e.fault = arm.NewError(arm.InvalidRequestContent, "A tag's value is no string. Path 'properties.tags'").WithTarget("properties.tags")
	} else if fault := arm.CheckTags(e.sent, len(e.sent)); fault != nil && e.operation != arm.TagDelete {
		e.fault = fault
	}
	return e
}

func (g Tags) get(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	s, err := g.findScope(r.Context(), x)
	if err != nil {
		return err
	}
	switch {
	case s.Resource != nil:
		return g.getResource(w, r, x, s)
	case req.Group.Key != "":
		return respond(w, r, x, tagsOf(routing.GroupID(req.Group.Subscription, req.Group.Name), req.Group.Tags))
	}
	return respond(w, r, x, tagsOf("/subscriptions/"+req.Subscription.ID, req.Subscription.Tags))
}

func respond(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, body tagsBody) error {
	if r.Method == http.MethodDelete {
		return x.Answer(w, http.StatusOK, nil)
	}
	return route.AnswerTagged(w, r, x, http.StatusOK, body.ETag, body)
}

// findScope returns the scope whose tags a request is about. Only tracked resources have
// tags (addendum, tracked and proxy-only resources).
func (g Tags) findScope(ctx context.Context, x *exchange.Exchange) (route.Scope, error) {
	s, err := g.Scopes.Find(ctx, x)
	if err == nil && s.Resource != nil && s.Resource.Type.Kind != regions.Tracked {
		return s, arm.NewError(arm.TagsNotSupported, s.Resource.Type.FullName).WithTarget(s.ID)
	}
	return s, err
}

// edit changes the tags of a scope: a resource's at its provider, others in the
// inventory.
func (g Tags) edit(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	s, err := g.findScope(r.Context(), x)
	if err != nil {
		return err
	}
	e := g.readEdit(r, x, req.Content, s.ID)
	switch {
	case s.Resource != nil:
		return g.editResource(w, r, x, s, e)
	case req.Group.Key != "":
		return g.editGroup(w, r, x, req, e)
	}
	id := "/subscriptions/" + req.Subscription.ID
	tags, err := g.Store.EditSubscriptionTags(r.Context(), req.Subscription.ID, e.kind, func(current map[string]string) (map[string]string, error) {
		return e.apply(id, current)
	}, func(tags map[string]string) string { return tagsOf(id, tags).ETag })
	if err != nil {
		return admission.Refusal(x, err)
	}
	return respond(w, r, x, tagsOf(id, tags))
}

func (g Tags) editGroup(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request, e tagEdit) error {
	group, _, err := g.Store.EditGroup(r.Context(), req.Subscription.ID, req.Group.Name, func(current *inventory.Group) (*inventory.Group, error) {
		switch {
		case current == nil:
			return nil, inventory.ErrNotFound
		case current.State != index.GroupActive:
			return nil, routing.GroupClosed(current.State, current.Name)
		}
		next := *current
		var err error
		if next.Tags, err = e.apply(routing.GroupID(current.Subscription, current.Name), maps.Clone(current.Tags)); err != nil {
			return nil, err
		}
		next.ETag = groups.ETag(next)
		return &next, nil
	})
	if err != nil {
		return groups.Refusal(x, err)
	}
	return respond(w, r, x, tagsOf(routing.GroupID(group.Subscription, group.Name), group.Tags))
}
