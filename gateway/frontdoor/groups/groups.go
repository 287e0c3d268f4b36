// Package groups serves resource groups: reading and editing them, deleting them, moving
// resources between them, and the operations of deletions and moves. Long work is checked
// here and handed to a job.
package groups

import (
	"bytes"
	"cmp"
	"errors"
	"net/http"
	"strings"

	"portico/arm"
	"portico/arm/filter"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/internal/jsontext"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/transaction"
	"portico/regions"
	"portico/routing"
)

const (
	namespace = "Microsoft.Resources"
	groupType = namespace + "/resourceGroups"
	onePath   = "/subscriptions/{s}/resourcegroups/{g}"
)

// Groups serves the resource groups of all subscriptions.
type Groups struct {
	Store    *inventory.Store
	Map      *regions.Map
	Lists    route.Lists
	TagLimit int
}

// Routes returns the routes of groups, except for their deletion.
func (g Groups) Routes() []route.Route {
	return []route.Route{
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/resourcegroups",
			Action: "Microsoft.Resources/subscriptions/resourceGroups/read", Partly: true, Handle: g.list,
		},
		{Method: http.MethodPut, Path: onePath, Action: "Microsoft.Resources/subscriptions/resourceGroups/write", Handle: g.edit},
		{Method: http.MethodPatch, Path: onePath, Action: "Microsoft.Resources/subscriptions/resourceGroups/write", Handle: g.edit},
		{Method: http.MethodGet, Path: onePath, Action: "Microsoft.Resources/subscriptions/resourceGroups/read", Handle: g.get},
		{Method: http.MethodHead, Path: onePath, Action: "Microsoft.Resources/subscriptions/resourceGroups/read", Handle: g.get},
	}
}

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

// ETag returns the entity tag of a group: it covers what clients can change, without its
// state.
func ETag(g inventory.Group) string {
	body := represent(g)
	body.Properties, body.ETag = nil, ""
	return arm.WeakETag(body)
}

func represent(g inventory.Group) groupBody {
	return groupBody{
		ID: routing.GroupID(g.Subscription, g.Name), Name: g.Name, Type: groupType,
		Location: g.Location, ManagedBy: g.ManagedBy, Tags: g.Tags,
		Properties: &groupProperties{g.State.ProvisioningState()}, ETag: g.ETag,
	}
}

// groupContent is what a client sends for a group. Members that only the service sets are
// compared and ignored.
type groupContent struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Type       string            `json:"type"`
	Location   string            `json:"location"`
	ManagedBy  *string           `json:"managedBy"`
	Tags       map[string]string `json:"tags"`
	Properties groupProperties   `json:"properties"`
	ETag       string            `json:"etag"`

	hasLocation, hasTags, hasManagedBy bool
}

// longestManager bounds the ID in managedBy.
const longestManager = 8 << 10

func readGroup(x *exchange.Exchange, content []byte, tagLimit int) (groupContent, error) {
	var sent groupContent
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
	_ = jsontext.Object(content, func(m jsontext.Member) error {
		sent.hasLocation = sent.hasLocation || string(m.Key) == "location"
		sent.hasTags = sent.hasTags || string(m.Key) == "tags"
		// The decoder accepts the member in any casing.
		sent.hasManagedBy = sent.hasManagedBy || bytes.EqualFold(m.Key, []byte("managedBy"))
		return nil
	})
	if body.HasTags {
		if fault := arm.CheckTags(sent.Tags, tagLimit); fault != nil {
			return sent, fault
		}
	}
	if sent.ManagedBy != nil && len(*sent.ManagedBy) > longestManager {
		return sent, route.TooLong("managedBy", len(*sent.ManagedBy), longestManager)
	}
	name := x.Request.Path.Group()
	if fault := (route.Names{ID: sent.ID, Name: sent.Name, Type: sent.Type}).Check(route.Names{
		ID: routing.GroupID(x.Request.Path.Subscription(), name), Name: name, Type: groupType,
	}); fault != nil {
		return sent, fault
	}
	return sent, nil
}

// checkState refuses a provisioningState that differs from the current one.
func (sent groupContent) checkState(state index.GroupState) error {
	if s := sent.Properties.ProvisioningState; s != "" && !strings.EqualFold(s, state.ProvisioningState()) {
		return arm.NewError(arm.InvalidRequestContent, "The provisioningState is read-only. Path 'properties.provisioningState'").
			WithTarget("properties.provisioningState")
	}
	return nil
}

// edit answers a PUT, which resets what the content lacks, and a PATCH, which keeps it
// and removes what is null (RFC 7396).
func (g Groups) edit(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	sent, contentErr := readGroup(x, req.Content, g.TagLimit)
	conditions := route.Preconditions(r, x)
	patches := r.Method == http.MethodPatch
	change := func(current *inventory.Group) (*inventory.Group, error) {
		next := inventory.Group{Subscription: req.Subscription.ID}
		if current != nil {
			next = *current
		} else if patches {
			return nil, inventory.ErrNotFound
		}
		if err := cmp.Or(conditions(next.ETag), contentErr); err != nil {
			return nil, err
		}
		if !patches || sent.hasLocation {
			next.Location = arm.Location(sent.Location)
		}
		if err := g.check(sent, current, next.Location); err != nil {
			return nil, err
		}
		next.Name = x.Request.Path.Group()
		if !patches || sent.hasTags {
			next.Tags = sent.Tags
		}
		if !patches || sent.hasManagedBy {
			next.ManagedBy = ""
			if sent.ManagedBy != nil {
				next.ManagedBy = *sent.ManagedBy
			}
		}
		next.ETag = ETag(next)
		return &next, nil
	}
	group, created, err := g.Store.EditGroup(r.Context(), req.Subscription.ID, x.Request.Path.Group(), change)
	if err != nil {
		return Refusal(x, err)
	}
	return answer(w, r, x, route.StatusOf(created), group)
}

// check refuses content that contradicts the group, or a group that is closed.
func (g Groups) check(sent groupContent, current *inventory.Group, location string) error {
	state := index.GroupActive
	if current != nil {
		state = current.State
		if state != index.GroupActive {
			return routing.GroupClosed(state, current.Name)
		}
	}
	if location == "" {
		return arm.NewError(arm.LocationRequired).WithTarget("location")
	}
	if _, known := g.Map.Region(location); !known {
		var names []string
		for _, region := range g.Map.Regions() {
			names = append(names, region.Name)
		}
		return arm.NewError(arm.LocationNotAvailableForGroup, sent.Location, strings.Join(names, ",")).WithTarget("location")
	}
	if current != nil && current.Location != location {
		return arm.NewError(arm.InvalidResourceGroupLocation, location, current.Location).WithTarget("location")
	}
	return sent.checkState(state)
}

// Refusal converts the inventory's refusal to change a group to ARM's.
func Refusal(x *exchange.Exchange, err error) error {
	name := x.Request.Path.Group()
	var quota *transaction.QuotaError
	switch {
	case errors.As(err, &quota):
		return arm.NewError(arm.ResourceGroupQuotaExceeded, name, quota.Limit, quota.Current)
	case errors.Is(err, inventory.ErrNotFound):
		return arm.NewError(arm.ResourceGroupNotFound, name).WithTarget("resourceGroupName")
	}
	return admission.Refusal(x, err)
}

func answer(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, status int, group inventory.Group) error {
	return route.AnswerTagged(w, r, x, status, group.ETag, represent(group))
}

// get answers with the group that was resolved for the request.
func (g Groups) get(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	if r.Method == http.MethodHead {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	return answer(w, r, x, http.StatusOK, req.Group)
}

func (g Groups) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	p, wanted, err := g.Lists.ReadFiltered(x, filter.TagName, filter.TagValue, filter.Name, filter.Location)
	if err != nil {
		return err
	}
	source := route.ListSource[inventory.Group]{
		Read: func(after string, limit int) ([]inventory.Group, error) {
			return g.Store.Groups(r.Context(), inventory.GroupQuery{Subscription: req.Subscription.ID, After: after, Limit: limit})
		},
		Key:  func(group inventory.Group) string { return group.Key },
		Keep: func(group inventory.Group) bool { return wanted.Match(groupItem{&group}) },
		Show: func(group inventory.Group) any { return represent(group) },
	}
	if req.Readable != nil {
		source.Ranges = route.SingleKeys(groupsAmong(req.Readable.Within(x.Request.Scope())))
		source.ReadIn = func(in route.KeyRange, _ string, _ int) ([]inventory.Group, error) {
			group, err := g.Store.Group(r.Context(), req.Subscription.ID, in.First)
			if errors.Is(err, inventory.ErrNotFound) {
				return nil, nil
			}
			return []inventory.Group{group}, err
		}
	}
	return source.Answer(w, x, g.Lists, p)
}

// groupsAmong returns the folded names of the groups among scopes, which are folded ids
// below a subscription. A right to read something in a group is not a right to read the
// group.
func groupsAmong(scopes []string) (names []string) {
	for _, scope := range scopes {
		if segments := strings.Split(scope, "/"); len(segments) == groupSegments && segments[3] == "resourcegroups" {
			names = append(names, segments[4])
		}
	}
	return names
}

// groupSegments is the number of parts between the slashes in the id of a group.
const groupSegments = 5

// groupItem is a group as a filter sees it.
type groupItem struct{ group *inventory.Group }

func (i groupItem) Tags() map[string]string { return i.group.Tags }

func (i groupItem) Value(f filter.Field) string {
	if f == filter.Location {
		return i.group.Location
	}
	return i.group.Name // the list supports no others
}
