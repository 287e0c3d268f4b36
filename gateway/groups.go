package gateway

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"strings"

	"portico/arm"
	"portico/filter"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/jsonscan"
	"portico/routing"
)

const groupType = "Microsoft.Resources/resourceGroups"

// groupBody is a resource group as clients see it.
type groupBody struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Type       string            `json:"type"`
	Location   string            `json:"location"`
	ManagedBy  string            `json:"managedBy,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
	Properties *groupProperties  `json:"properties,omitempty"`
	ETag       string            `json:"etag,omitempty"`
}

type groupProperties struct {
	ProvisioningState string `json:"provisioningState"`
}

func groupState(s inventory.GroupState) string {
	switch s {
	case inventory.GroupDeleting:
		return "Deleting"
	case inventory.GroupMoving:
		return "MovingResources"
	case inventory.GroupActive:
	}
	return "Succeeded"
}

// stable is the representation without what changes by itself, of which the
// entity tag is made.
func stable(g inventory.Group) groupBody {
	return groupBody{
		ID: routing.GroupID(g.Subscription, g.Name), Name: g.Name, Type: groupType,
		Location: g.Location, ManagedBy: g.ManagedBy, Tags: g.Tags,
	}
}

func represent(g inventory.Group) groupBody {
	body := stable(g)
	body.Properties = &groupProperties{groupState(g.State)}
	body.ETag = g.ETag
	return body
}

// groupRequest is what a client sends for a group. Members that only the
// service sets may come back from a GET: they are compared, not taken.
type groupRequest struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Type       string            `json:"type"`
	Location   string            `json:"location"`
	ManagedBy  *string           `json:"managedBy"`
	Tags       map[string]string `json:"tags"`
	Properties groupProperties   `json:"properties"`
	ETag       string            `json:"etag"`

	hasTags, hasManagedBy bool
}

// longestManager is the longest ID of what manages a group.
const longestManager = 8 << 10

func readGroup(x *exchange.Exchange, content []byte, tagLimit int) (groupRequest, error) {
	var sent groupRequest
	if len(content) == 0 {
		content = []byte("{}")
	}
	body, fault := routing.ReadObject(content)
	if fault != nil {
		return sent, fault
	}
	if fault := body.CheckTagCount(tagLimit); fault != nil {
		return sent, fault
	}
	if fault := exchange.ReadJSON(content, &sent); fault != nil {
		return sent, fault
	}
	_ = jsonscan.Object(content, func(m jsonscan.Member) error {
		sent.hasTags = sent.hasTags || string(m.Key) == "tags"
		// The decoder takes the member in any casing.
		sent.hasManagedBy = sent.hasManagedBy || bytes.EqualFold(m.Key, []byte("managedBy"))
		return nil
	})
	if body.HasTags {
		if fault := arm.CheckTags(sent.Tags, tagLimit); fault != nil {
			return sent, fault
		}
	}
	if sent.ManagedBy != nil && len(*sent.ManagedBy) > longestManager {
		return sent, overlong("managedBy", len(*sent.ManagedBy), longestManager)
	}
	name := x.Request.Path.Group()
	if fault := matchURL(echoed{"id", sent.ID, routing.GroupID(x.Request.Path.Subscription(), name)},
		echoed{"name", sent.Name, name}, echoed{"type", sent.Type, groupType}); fault != nil {
		return sent, fault
	}
	return sent, nil
}

// checkState compares the provisioningState that came back from a GET.
func (sent groupRequest) checkState(state inventory.GroupState) error {
	if s := sent.Properties.ProvisioningState; s != "" && !strings.EqualFold(s, groupState(state)) {
		return arm.NewError(arm.InvalidRequestContent, "The provisioningState is read-only. Path 'properties.provisioningState'").About("properties.provisioningState")
	}
	return nil
}

func (g *Gateway) putGroup(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	sent, contentErr := readGroup(x, c.content, g.config.Limits.TagsPerResource)
	conditions := arm.ParsePreconditions(r.Header)
	name := x.Request.Path.Group()
	location := arm.Location(sent.Location)
	group, created, err := g.store.EditGroup(r.Context(), c.Subscription.ID, name, func(current *inventory.Group) (*inventory.Group, error) {
		next := inventory.Group{Subscription: c.Subscription.ID, Location: location}
		etag := ""
		if current != nil {
			next, etag = *current, current.ETag
		}
		if fault := conditions.Write(etag, x.Request.Path.String()); fault != nil {
			return nil, fault
		}
		if contentErr != nil {
			return nil, contentErr
		}
		if err := g.checkGroup(sent, current, location); err != nil {
			return nil, err
		}
		next.Name, next.Tags, next.ManagedBy = name, sent.Tags, ""
		if sent.ManagedBy != nil {
			next.ManagedBy = *sent.ManagedBy
		}
		next.ETag = arm.WeakETag(stable(next))
		return &next, nil
	})
	if err != nil {
		return groupRefusal(x, err)
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
	return g.answerGroup(w, x, status, group)
}

func (g *Gateway) checkGroup(sent groupRequest, current *inventory.Group, location string) error {
	state := inventory.GroupActive
	if current != nil {
		state = current.State
		if state != inventory.GroupActive {
			return routing.GroupClosed(state, current.Name)
		}
	}
	if location == "" {
		return arm.NewError(arm.LocationRequired).About("location")
	}
	if _, known := g.router.Map.Region(location); !known {
		var names []string
		for _, region := range g.router.Map.Regions() {
			names = append(names, region.Name)
		}
		return arm.NewError(arm.LocationNotAvailableForGroup, sent.Location, strings.Join(names, ",")).About("location")
	}
	if current != nil && current.Location != location {
		return arm.NewError(arm.InvalidResourceGroupLocation, location, current.Location).About("location")
	}
	return sent.checkState(state)
}

func groupRefusal(x *exchange.Exchange, err error) error {
	name := x.Request.Path.Group()
	var quota *inventory.QuotaError
	var state *inventory.GroupStateError
	switch {
	case errors.As(err, &state):
		return routing.GroupClosed(state.State, name)
	case errors.As(err, &quota):
		return arm.NewError(arm.ResourceGroupQuotaExceeded, name, quota.Limit, quota.Current)
	case errors.Is(err, inventory.ErrNotFound):
		return arm.NewError(arm.ResourceGroupNotFound, name).About("resourceGroupName")
	}
	return admission.Refusal(x, err)
}

func (g *Gateway) patchGroup(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	sent, contentErr := readGroup(x, c.content, g.config.Limits.TagsPerResource)
	conditions := arm.ParsePreconditions(r.Header)
	name := x.Request.Path.Group()
	group, _, err := g.store.EditGroup(r.Context(), c.Subscription.ID, name, func(current *inventory.Group) (*inventory.Group, error) {
		if current == nil {
			return nil, inventory.ErrNotFound
		}
		if fault := conditions.Write(current.ETag, x.Request.Path.String()); fault != nil {
			return nil, fault
		}
		if contentErr != nil {
			return nil, contentErr
		}
		location := current.Location
		if sent.Location != "" {
			location = arm.Location(sent.Location)
		}
		if err := g.checkGroup(sent, current, location); err != nil {
			return nil, err
		}
		next := *current
		next.Name = name
		if sent.hasTags {
			next.Tags = maps.Clone(sent.Tags)
		}
		if sent.hasManagedBy {
			next.ManagedBy = ""
			if sent.ManagedBy != nil {
				next.ManagedBy = *sent.ManagedBy
			}
		}
		next.ETag = arm.WeakETag(stable(next))
		return &next, nil
	})
	if err != nil {
		return groupRefusal(x, err)
	}
	return g.answerGroup(w, x, http.StatusOK, group)
}

func (g *Gateway) answerGroup(w http.ResponseWriter, x *exchange.Exchange, status int, group inventory.Group) error {
	w.Header()["ETag"] = []string{group.ETag}
	return x.Answer(w, status, represent(group))
}

func (g *Gateway) getGroup(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	group, err := g.store.Group(r.Context(), c.Subscription.ID, x.Request.Path.Group())
	if err != nil {
		return groupRefusal(x, err)
	}
	if arm.ParsePreconditions(r.Header).NotModified(group.ETag) {
		w.Header()["ETag"] = []string{group.ETag}
		return x.Answer(w, http.StatusNotModified, nil)
	}
	return g.answerGroup(w, x, http.StatusOK, group)
}

func (g *Gateway) headGroup(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	if _, err := g.store.Group(r.Context(), c.Subscription.ID, x.Request.Path.Group()); err != nil {
		return groupRefusal(x, err)
	}
	return x.Answer(w, http.StatusNoContent, nil)
}

func (g *Gateway) listGroups(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	p, err := g.pageOf(x.Request)
	if err != nil {
		return err
	}
	wanted, err := filterOf(x.Request.Query, filter.TagName, filter.TagValue, filter.Name, filter.Location)
	if err != nil {
		return err
	}
	groups, rest, err := source[inventory.Group]{
		read: func(after string, limit int) ([]inventory.Group, error) {
			return g.store.Groups(r.Context(), inventory.GroupQuery{Subscription: c.Subscription.ID, After: after, Limit: limit})
		},
		key:  func(group inventory.Group) string { return group.Key },
		keep: func(group inventory.Group) bool { return wanted.Match(groupItem{&group}) },
	}.cut(p)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, listOf(g, x, groups, rest, func(group inventory.Group) any { return represent(group) }))
}

// groupItem is a group as a filter looks at it.
type groupItem struct{ group *inventory.Group }

func (i groupItem) Tags() map[string]string { return i.group.Tags }

func (i groupItem) Value(f filter.Field) string {
	if f == filter.Location {
		return i.group.Location
	}
	return i.group.Name // the list knows no others
}
