package frontdoor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/arm/filter"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/internal/jsontext"
	"portico/inventory"
	"portico/inventory/index"
	"portico/routing"
)

// resources lists tracked resources of all types and regions.
type resources struct {
	store *inventory.Store
	lists route.Lists
}

// Routes implements Resource.
func (g resources) Routes() []route.Route {
	return []route.Route{
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/resources",
			Action: "Microsoft.Resources/subscriptions/resources/read", Partly: true, Handle: g.list,
		},
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/resourcegroups/{g}/resources",
			Action: "Microsoft.Resources/subscriptions/resourceGroups/resources/read", Partly: true, Handle: g.list,
		},
	}
}

// resourceBody is a tracked resource as the lists of all types show it: from the index,
// without its properties.
type resourceBody struct {
	ID        string            `json:"id"`
	Name      string            `json:"name"`
	Type      string            `json:"type"`
	Location  string            `json:"location"`
	Kind      string            `json:"kind,omitempty"`
	ManagedBy string            `json:"managedBy,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	SKU       json.RawMessage   `json:"sku,omitempty"`
	Plan      json.RawMessage   `json:"plan,omitempty"`
	Identity  json.RawMessage   `json:"identity,omitempty"`
	Zones     json.RawMessage   `json:"zones,omitempty"`

	// Only if $expand names them.
	CreatedTime       string `json:"createdTime,omitempty"`
	ChangedTime       string `json:"changedTime,omitempty"`
	ProvisioningState string `json:"provisioningState,omitempty"`
}

// expansion holds the members that $expand names.
type expansion struct{ created, changed, state bool }

func expansionOf(text string) (expansion, error) {
	var e expansion
	for name := range strings.SplitSeq(text, ",") {
		switch name = strings.TrimSpace(name); {
		case name == "":
		case strings.EqualFold(name, "createdTime"):
			e.created = true
		case strings.EqualFold(name, "changedTime"):
			e.changed = true
		case strings.EqualFold(name, "provisioningState"):
			e.state = true
		default:
			return e, arm.NewError(arm.InvalidQueryParameter, "$expand", "it lists createdTime, changedTime and provisioningState").WithTarget("$expand")
		}
	}
	return e, nil
}

func resourceOf(row inventory.Resource, e expansion) resourceBody {
	body := resourceBody{
		ID: row.ID, Name: row.Name, Type: row.TypeName, Location: row.Location,
		Kind: row.Details.Kind, ManagedBy: row.Details.ManagedBy, Tags: row.Details.Tags,
		SKU: row.Details.SKU, Plan: row.Details.Plan, Identity: row.Details.Identity, Zones: row.Details.Zones,
	}
	if e.created {
		body.CreatedTime = row.Created.UTC().Format(time.RFC3339Nano)
	}
	if e.changed {
		body.ChangedTime = row.Changed.UTC().Format(time.RFC3339Nano)
	}
	if e.state {
		body.ProvisioningState = shownState(row)
	}
	return body
}

// shownState returns the state that the index last saw; none counts as Succeeded.
func shownState(row inventory.Resource) string {
	switch {
	case row.Phase == index.Deleting:
		return "Deleting"
	case row.ProvisioningState == "":
		return "Succeeded"
	}
	return row.ProvisioningState
}

// list lists the tracked resources of a subscription or a group from the index alone.
// Unlike a HEAD by id it does not check whether a row's resource still exists, as a
// DELETE may have ended meanwhile; and it lacks resources that no sweep and no request
// has found yet.
func (g resources) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	p, wanted, err := g.lists.ReadFiltered(x)
	if err != nil {
		return err
	}
	expand, _ := x.Request.Query.Get("$expand")
	e, err := expansionOf(expand)
	if err != nil {
		return err
	}
	scope := inventory.ResourceQuery{Subscription: req.Subscription.ID, Group: x.Request.Path.Group(), Visible: true}
	queries := narrowQueries(wanted, scope)
	source := route.ListSource[inventory.Resource]{
		Read: func(after string, limit int) ([]inventory.Resource, error) {
			return g.candidates(r.Context(), queries, after, limit)
		},
		Key:  func(row inventory.Resource) string { return row.Key },
		Keep: func(row inventory.Resource) bool { return scope.Match(&row) && wanted.Match(resourceItem{&row}) },
		Show: func(row inventory.Resource) any {
			body := resourceOf(row, e)
			if wanted.AsksForTags() {
				body.Tags = nil
			}
			return body
		},
	}
	if req.Readable != nil {
		g.restrict(r.Context(), &source, x.Request, req, queries)
	}
	return source.Answer(w, x, g.lists, p)
}

// restrict limits a source to the resources that the caller may read.
func (g resources) restrict(
	ctx context.Context, s *route.ListSource[inventory.Resource], q *routing.Request, req route.Request, queries []inventory.ResourceQuery,
) {
	matches := s.Keep
	s.Keep = func(row inventory.Resource) bool {
		return matches(row) && req.Readable.Allows(row.TypeName+"/read", row.ID)
	}
	s.Ranges = route.KeysAtAndBelow(req.Readable.Within(q.Scope()), isResource)
	s.ReadIn = func(in route.KeyRange, after string, limit int) ([]inventory.Resource, error) {
		if in.One() {
			return g.candidate(ctx, req.Subscription.ID, in.First)
		}
		within := slices.Clone(queries)
		for i := range within {
			within[i].Before = in.Before
		}
		return g.candidates(ctx, within, after, limit)
	}
}

// isResource reports whether a folded id below a subscription is a resource's.
func isResource(id string) bool { return strings.Contains(id, "/providers/") }

// candidate returns the row with a key, if there is one.
func (g resources) candidate(ctx context.Context, subscription, key string) ([]inventory.Resource, error) {
	row, err := g.store.Resource(ctx, subscription, key)
	if errors.Is(err, inventory.ErrNotFound) {
		return nil, nil
	}
	return []inventory.Resource{row}, err
}

// candidates returns rows that include all matches of the queries, each once and in the
// order of their keys; fewer than limit only at the end.
func (g resources) candidates(ctx context.Context, queries []inventory.ResourceQuery, after string, limit int) ([]inventory.Resource, error) {
	var all []inventory.Resource
	for _, query := range queries {
		query.After, query.Limit = after, limit
		rows, _, err := g.store.Candidates(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("list resources: %w", err)
		}
		all = append(all, rows...)
	}
	if len(queries) > 1 {
		slices.SortFunc(all, func(a, b inventory.Resource) int { return strings.Compare(a.Key, b.Key) })
		all = slices.CompactFunc(all, func(a, b inventory.Resource) bool { return a.Key == b.Key })
	}
	// Rows that a query cut off at its limit come after this limit, too.
	return all[:min(limit, len(all))], nil
}

// narrowQueries returns queries for the places where matches can be: one query for each
// side of an or, none if there can be no match, and only the whole scope if a side can
// match anywhere.
func narrowQueries(wanted filter.Filter, scope inventory.ResourceQuery) (queries []inventory.ResourceQuery) {
	for _, side := range wanted.Alternatives() {
		query, none := narrowQuery(side, scope)
		switch {
		case query == scope && !none:
			return []inventory.ResourceQuery{scope}
		case !none && !slices.Contains(queries, query):
			queries = append(queries, query)
		}
	}
	return queries
}

// narrowQuery narrows a query by what every match must equal. none reports that there can
// be no match.
func narrowQuery(wanted filter.Filter, query inventory.ResourceQuery) (_ inventory.ResourceQuery, none bool) {
	for field, member := range map[filter.Field]*string{
		filter.ResourceGroup: &query.Group, filter.ResourceType: &query.Type, filter.Name: &query.Name,
		filter.Location: &query.Location,
	} {
		text, needed := wanted.Needs(field)
		switch {
		case !needed:
		case text == "" || *member != "" && arm.Fold(*member) != text:
			none = true
		default:
			*member = text
		}
	}
	if prefix, needed := wanted.NeedsPrefix(filter.Name); needed {
		query.NamePrefix = prefix
	}
	if tag, value, needed := wanted.NeedsTag(); needed {
		query.Tag, none = tag, none || tag == ""
		if value != nil {
			query.TagValue, query.OfTagValue = *value, true
		}
	}
	return query, none
}

// resourceItem is a resource as a filter sees it.
type resourceItem struct{ row *inventory.Resource }

func (i resourceItem) Tags() map[string]string { return i.row.Details.Tags }

func (i resourceItem) Value(f filter.Field) string {
	switch f {
	case filter.Location:
		return i.row.Location
	case filter.ResourceType:
		return i.row.TypeName
	case filter.Name:
		return i.row.Name
	case filter.ResourceGroup:
		return i.row.Group
	case filter.Identity:
		return memberOf(i.row.Details.Identity, "type")
	case filter.IdentityPrincipalID:
		return memberOf(i.row.Details.Identity, "principalId")
	case filter.PlanName:
		return memberOf(i.row.Details.Plan, "name")
	case filter.PlanPublisher:
		return memberOf(i.row.Details.Plan, "publisher")
	case filter.PlanProduct:
		return memberOf(i.row.Details.Plan, "product")
	case filter.PlanVersion:
		return memberOf(i.row.Details.Plan, "version")
	case filter.PlanPromotionCode:
		return memberOf(i.row.Details.Plan, "promotionCode")
	case filter.TagName, filter.TagValue:
	}
	return ""
}

// memberOf returns the text of an object's member, or "".
func memberOf(object json.RawMessage, name string) string {
	text, _ := jsontext.Text(jsontext.Value(object, name))
	return text
}
