package tags

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/page"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
)

// Names are the names and values of tags that subscriptions define or use.
type Names struct {
	Store *inventory.Store
	Lists page.Lists
}

// Routes implements frontdoor.Resource.
func (g Names) Routes() []route.Route {
	const names = "/subscriptions/{s}/tagnames"
	const name = names + "/{n}"
	const value = name + "/tagvalues/{v}"
	return []route.Route{
		{Method: http.MethodGet, Path: names, Action: "Microsoft.Resources/subscriptions/tagNames/read", Handle: g.list},
		{Method: http.MethodPut, Path: name, Action: "Microsoft.Resources/subscriptions/tagNames/write", Handle: g.put},
		{Method: http.MethodDelete, Path: name, Action: "Microsoft.Resources/subscriptions/tagNames/delete", Handle: g.delete},
		{Method: http.MethodPut, Path: value, Action: "Microsoft.Resources/subscriptions/tagNames/tagValues/write", Handle: g.put},
		{Method: http.MethodDelete, Path: value, Action: "Microsoft.Resources/subscriptions/tagNames/tagValues/delete", Handle: g.delete},
	}
}

// tagNameBody is the name of a tag as clients see it: with the values that are
// defined for it or in use, and how often each is.
type tagNameBody struct {
	ID      string         `json:"id"`
	TagName string         `json:"tagName"`
	Count   tagCount       `json:"count"`
	Values  []tagValueBody `json:"values"`
}

type tagValueBody struct {
	ID       string   `json:"id"`
	TagValue string   `json:"tagValue"`
	Count    tagCount `json:"count"`
}

type tagCount struct {
	Type  string `json:"type"`
	Value int    `json:"value"`
}

// tagUse counts how often resources, groups and the subscription have a tag.
type tagUse struct {
	spelling string // that of one of them, "" where there is none
	total    int
	values   map[string]int
}

func (u *tagUse) add(name string, tags map[string]string) {
	for spelling, value := range tags {
		if arm.Fold(spelling) == name {
			u.spelling = spelling
			u.total++
			u.values[value]++
		}
	}
}

// tagUses counts uses of tags in one subscription.
type tagUses struct {
	store        *inventory.Store
	subscription inventory.Subscription
	groups       []inventory.Group
	examined     int // resources
}

func (g Names) uses(ctx context.Context, s inventory.Subscription) (*tagUses, error) {
	groups, err := g.Store.Groups(ctx, inventory.GroupQuery{Subscription: s.ID})
	return &tagUses{store: g.Store, subscription: s, groups: groups}, err
}

// count counts the uses of a tag, by its folded name.
func (u *tagUses) count(ctx context.Context, name string) (tagUse, error) {
	use := tagUse{values: map[string]int{}}
	query := inventory.ResourceQuery{Subscription: u.subscription.ID, Tag: name, Visible: true, Limit: page.Largest}
	for {
		rows, err := u.store.Resources(ctx, query)
		if err != nil {
			return use, err
		}
		u.examined += len(rows)
		for _, row := range rows {
			use.add(name, row.Details.Tags)
			query.After = row.Key
		}
		if len(rows) < query.Limit {
			break
		}
	}
	for _, group := range u.groups {
		use.add(name, group.Tags)
	}
	use.add(name, u.subscription.Tags)
	return use, nil
}

// next returns the folded name of the first tag behind after that is defined or in
// use; "" at the end.
func (u *tagUses) next(ctx context.Context, after string) (string, error) {
	next, err := u.store.NextTagName(ctx, u.subscription.ID, after)
	see := func(tags map[string]string) {
		for name := range tags {
			if name := arm.Fold(name); name > after && (next == "" || name < next) {
				next = name
			}
		}
	}
	for _, group := range u.groups {
		see(group.Tags)
	}
	see(u.subscription.Tags)
	return next, err
}

func tagNameOf(subscription string, defined inventory.TagName, use tagUse) tagNameBody {
	name := defined.Name
	if name == "" {
		name = use.spelling
	}
	body := tagNameBody{
		ID: "/subscriptions/" + subscription + "/tagNames/" + name, TagName: name,
		Count: tagCount{"Total", use.total}, Values: []tagValueBody{},
	}
	values := slices.Concat(defined.Values, slices.Collect(maps.Keys(use.values)))
	slices.Sort(values)
	for _, value := range slices.Compact(values) {
		body.Values = append(body.Values, tagValueBody{body.ID + "/tagValues/" + value, value, tagCount{"Total", use.values[value]}})
	}
	return body
}

// list lists the names of tags that are defined, and those that
// resources, groups and the subscription itself have.
func (g Names) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	p, err := g.Lists.Read(x.Request)
	if err != nil {
		return err
	}
	uses, err := g.uses(r.Context(), req.Subscription)
	if err != nil {
		return err
	}
	bodies := []any{}
	rest, name := "", p.After
	for {
		if name, err = uses.next(r.Context(), name); err != nil {
			return err
		}
		if name == "" {
			rest = ""
			break
		}
		if len(bodies) == p.Top || uses.examined >= page.MostExamined {
			break
		}
		body, err := g.one(r.Context(), req.Subscription.ID, uses, name)
		if err != nil {
			return err
		}
		if body.TagName != "" { // else it has gone meanwhile
			bodies = append(bodies, body)
		}
		rest = name
	}
	return g.Lists.Answer(w, x, bodies, rest)
}

func (g Names) one(ctx context.Context, subscription string, uses *tagUses, name string) (tagNameBody, error) {
	defined, err := g.Store.TagName(ctx, subscription, name)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return tagNameBody{}, err
	}
	use, err := uses.count(ctx, name)
	return tagNameOf(subscription, defined, use), err
}

// tagOf returns the name, and the value if any, in a path.
func tagOf(x *exchange.Exchange) (name, value string, fault *arm.Error) {
	name = x.Request.Path.Segment(3)
	if x.Request.Path.Len() > 5 {
		value = x.Request.Path.Segment(5)
	}
	if fault := arm.CheckTags(map[string]string{name: value}, 1); fault != nil {
		return "", "", fault
	}
	if prefix := arm.ReservedTagPrefix(name); prefix != "" {
		return "", "", arm.NewError(arm.ReservedTagName, name, prefix).About("tagName")
	}
	return name, value, nil
}

// put defines a name, or a value for a name.
func (g Names) put(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	name, value, fault := tagOf(x)
	if fault != nil {
		return fault
	}
	created, err := g.Store.DefineTag(r.Context(), req.Subscription.ID, name, value)
	var quota *inventory.QuotaError
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return arm.NewError(arm.TagNameNotFound, name).About("tagName")
	case errors.As(err, &quota):
		return arm.NewError(arm.TagQuotaExceeded, name, quota.Limit, quota.Current).About("tagName")
	case err != nil:
		return admission.Refusal(x, err)
	}
	uses, err := g.uses(r.Context(), req.Subscription)
	if err != nil {
		return err
	}
	body, err := g.one(r.Context(), req.Subscription.ID, uses, arm.Fold(name))
	if err != nil {
		return err
	}
	status := route.StatusOf(created)
	if value == "" {
		return x.Answer(w, status, body)
	}
	shown := tagValueBody{body.ID + "/tagValues/" + value, value, tagCount{Type: "Total"}}
	for _, v := range body.Values {
		if v.TagValue == value {
			shown = v
		}
	}
	return x.Answer(w, status, shown)
}

// delete removes a name without values, or a value; neither while it is in
// use.
func (g Names) delete(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	name, value, fault := tagOf(x)
	if fault != nil {
		return fault
	}
	uses, err := g.uses(r.Context(), req.Subscription)
	if err != nil {
		return err
	}
	use, err := uses.count(r.Context(), arm.Fold(name))
	switch {
	case err != nil:
		return err
	case value == "" && use.total > 0:
		return arm.NewError(arm.TagNameInUse, name, "it is in use").About("tagName")
	case value != "" && use.values[value] > 0:
		return arm.NewError(arm.TagValueInUse, value, name).About("tagValue")
	}
	removed, err := g.Store.RemoveTag(r.Context(), req.Subscription.ID, name, value)
	switch {
	case errors.Is(err, inventory.ErrHasValues):
		return arm.NewError(arm.TagNameInUse, name, "values are defined for it").About("tagName")
	case err != nil:
		return admission.Refusal(x, err)
	case !removed:
		return x.Answer(w, http.StatusNoContent, nil)
	}
	return x.Answer(w, http.StatusOK, nil)
}
