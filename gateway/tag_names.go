package gateway

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
)

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

// tagUse is how often a tag stands on resources, groups and the subscription.
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
	gateway      *Gateway
	subscription inventory.Subscription
	groups       []inventory.Group
	examined     int // resources
}

func (g *Gateway) tagUses(ctx context.Context, s inventory.Subscription) (*tagUses, error) {
	groups, err := g.store.Groups(ctx, inventory.GroupQuery{Subscription: s.ID})
	return &tagUses{gateway: g, subscription: s, groups: groups}, err
}

// of counts the uses of a tag, by its folded name.
func (u *tagUses) of(ctx context.Context, name string) (tagUse, error) {
	use := tagUse{values: map[string]int{}}
	query := inventory.ResourceQuery{Subscription: u.subscription.ID, Tag: name, Visible: true, Limit: largestPage}
	for {
		rows, err := u.gateway.store.Resources(ctx, query)
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

// next is the folded name, behind after, of the next tag that is defined or in
// use; "" at the end.
func (u *tagUses) next(ctx context.Context, after string) (string, error) {
	next, err := u.gateway.store.NextTagName(ctx, u.subscription.ID, after)
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

// listTagNames lists the names of tags that are defined, and those that
// resources, groups and the subscription itself have.
func (g *Gateway) listTagNames(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	p, err := g.pageOf(x.Request)
	if err != nil {
		return err
	}
	uses, err := g.tagUses(r.Context(), c.Subscription)
	if err != nil {
		return err
	}
	var bodies []tagNameBody
	rest, name := "", p.after
	for {
		if name, err = uses.next(r.Context(), name); err != nil {
			return err
		}
		if name == "" {
			rest = ""
			break
		}
		if len(bodies) == p.top || uses.examined >= mostExamined {
			break
		}
		body, err := g.tagName(r.Context(), c.Subscription.ID, uses, name)
		if err != nil {
			return err
		}
		if body.TagName != "" { // else it has gone meanwhile
			bodies = append(bodies, body)
		}
		rest = name
	}
	return x.Answer(w, http.StatusOK, listOf(g, x, bodies, rest, func(b tagNameBody) any { return b }))
}

func (g *Gateway) tagName(ctx context.Context, subscription string, uses *tagUses, name string) (tagNameBody, error) {
	defined, err := g.store.TagName(ctx, subscription, name)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return tagNameBody{}, err
	}
	use, err := uses.of(ctx, name)
	return tagNameOf(subscription, defined, use), err
}

// tagOf is the name, and the value if there is one, that a path names.
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

// putTag defines a name, or a value for a name.
func (g *Gateway) putTag(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	name, value, fault := tagOf(x)
	if fault != nil {
		return fault
	}
	created, err := g.store.DefineTag(r.Context(), c.Subscription.ID, name, value)
	var quota *inventory.QuotaError
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return arm.NewError(arm.TagNameNotFound, name).About("tagName")
	case errors.As(err, &quota):
		return arm.NewError(arm.TagQuotaExceeded, name, quota.Limit, quota.Current).About("tagName")
	case err != nil:
		return groupRefusal(x, err)
	}
	uses, err := g.tagUses(r.Context(), c.Subscription)
	if err != nil {
		return err
	}
	body, err := g.tagName(r.Context(), c.Subscription.ID, uses, arm.Fold(name))
	if err != nil {
		return err
	}
	status := http.StatusOK
	if created {
		status = http.StatusCreated
	}
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

// deleteTag removes a name without values, or a value; neither while it is in
// use.
func (g *Gateway) deleteTag(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, c ownCall) error {
	name, value, fault := tagOf(x)
	if fault != nil {
		return fault
	}
	uses, err := g.tagUses(r.Context(), c.Subscription)
	if err != nil {
		return err
	}
	use, err := uses.of(r.Context(), arm.Fold(name))
	switch {
	case err != nil:
		return err
	case value == "" && use.total > 0:
		return arm.NewError(arm.TagNameInUse, name, "it is in use").About("tagName")
	case value != "" && use.values[value] > 0:
		return arm.NewError(arm.TagValueInUse, value, name).About("tagValue")
	}
	removed, err := g.store.RemoveTag(r.Context(), c.Subscription.ID, name, value)
	switch {
	case errors.Is(err, inventory.ErrHasValues):
		return arm.NewError(arm.TagNameInUse, name, "values are defined for it").About("tagName")
	case err != nil:
		return groupRefusal(x, err)
	case !removed:
		return x.Answer(w, http.StatusNoContent, nil)
	}
	return x.Answer(w, http.StatusOK, nil)
}
