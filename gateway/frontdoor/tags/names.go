package tags

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/inventory/tagindex"
	"portico/inventory/transaction"
)

// Names serves the names and values of tags that subscriptions define or use.
type Names struct {
	Store *inventory.Store
	Lists route.Lists
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

// tagNameBody is the name of a tag as clients see it: with the values that are defined
// for it or in use, and how often each is in use.
type tagNameBody struct {
	ID      string         `json:"id"`
	TagName string         `json:"tagName"`
	Count   tagCount       `json:"count"`
	Values  []tagValueBody `json:"values"`
	ETag    string         `json:"etag,omitempty"`
}

type tagValueBody struct {
	ID       string   `json:"id"`
	TagValue string   `json:"tagValue"`
	Count    tagCount `json:"count"`
	ETag     string   `json:"etag,omitempty"`
}

type tagCount struct {
	Type  string `json:"type"`
	Value int    `json:"value"`
}

// tagUse counts how often resources, groups and the subscription have a tag.
type tagUse struct {
	spelling string // of one of the uses, "" if there is none
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

type tagUses struct {
	store        *inventory.Store
	subscription inventory.Subscription
	groups       []inventory.Group
	examined     int // the number of resources
}

func (g Names) newTagUses(ctx context.Context, s inventory.Subscription) (*tagUses, error) {
	groups, err := g.Store.Groups(ctx, inventory.GroupQuery{Subscription: s.ID})
	return &tagUses{store: g.Store, subscription: s, groups: groups}, err
}

// count counts the uses of a tag, by its folded name.
func (u *tagUses) count(ctx context.Context, name string) (tagUse, error) {
	use := tagUse{values: map[string]int{}}
	if err := u.countResources(ctx, &use, name); err != nil {
		return use, err
	}
	for _, group := range u.groups {
		use.add(name, group.Tags)
	}
	use.add(name, u.subscription.Tags)
	return use, nil
}

// entriesOfARow is how many entries of the index of tags can be counted while one
// resource is read.
const entriesOfARow = 20

// countResources counts the resources that have a tag: by the index of tags or, if that
// does not know all values yet, by reading them.
func (u *tagUses) countResources(ctx context.Context, use *tagUse, name string) error {
	counted, known, err := u.store.Tags.Uses(ctx, u.subscription.ID, name)
	switch {
	case err != nil:
		return fmt.Errorf("count the uses of a tag name: %w", err)
	case !known:
		return u.readResources(ctx, use, name)
	}
	for _, c := range counted {
		use.spelling = c.Name
		use.total += c.Resources
		use.values[c.Value] += c.Resources
	}
	u.examined += len(counted) + use.total/entriesOfARow
	return nil
}

func (u *tagUses) readResources(ctx context.Context, use *tagUse, name string) error {
	query := inventory.ResourceQuery{Subscription: u.subscription.ID, Tag: name, Visible: true, Limit: route.LargestPage}
	for {
		rows, err := u.store.Resources(ctx, query)
		if err != nil {
			return fmt.Errorf("read tagged resources: %w", err)
		}
		u.examined += len(rows)
		for _, row := range rows {
			use.add(name, row.Details.Tags)
			query.After = row.Key
		}
		if len(rows) < query.Limit {
			return nil
		}
	}
}

// nextName returns the folded name of the first tag after the given one that is defined
// or in use; "" at the end.
func (u *tagUses) nextName(ctx context.Context, after string) (string, error) {
	next, err := u.store.Tags.Next(ctx, u.subscription.ID, after)
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

func tagNameOf(subscription string, defined tagindex.Name, use tagUse) tagNameBody {
	name := defined.Name
	if name == "" {
		name = use.spelling
	}
	body := tagNameBody{
		ID: tagNameID(subscription, name), TagName: name,
		Count: tagCount{"Total", use.total}, Values: []tagValueBody{}, ETag: tagETag(subscription, defined, ""),
	}
	values := slices.Concat(defined.Values, slices.Collect(maps.Keys(use.values)))
	slices.Sort(values)
	for _, value := range slices.Compact(values) {
		body.Values = append(body.Values, tagValueOf(subscription, name, value, defined, use))
	}
	return body
}

func tagValueOf(subscription, name, value string, defined tagindex.Name, use tagUse) tagValueBody {
	return tagValueBody{
		ID: tagValueID(subscription, name, value), TagValue: value,
		Count: tagCount{"Total", use.values[value]}, ETag: tagETag(subscription, defined, value),
	}
}

func tagNameID(subscription, name string) string {
	return "/subscriptions/" + subscription + "/tagNames/" + name
}

func tagValueID(subscription, name, value string) string {
	return tagNameID(subscription, name) + "/tagValues/" + value
}

// tagETag returns the entity tag of a defined name or, if value is not empty, of a value
// that is defined for it; "" if it is not defined. The tag covers only what clients
// define: how often and with which values a tag is in use is not set there, and changes
// with every resource.
func tagETag(subscription string, defined tagindex.Name, value string) string {
	switch {
	case !defined.Defines(value):
		return ""
	case value != "":
		return arm.WeakETag(struct {
			ID       string `json:"id"`
			TagValue string `json:"tagValue"`
		}{tagValueID(subscription, defined.Name, value), value})
	}
	return arm.WeakETag(struct {
		ID      string   `json:"id"`
		TagName string   `json:"tagName"`
		Values  []string `json:"values"`
	}{tagNameID(subscription, defined.Name), defined.Name, slices.Sorted(slices.Values(defined.Values))})
}

// list lists the names of tags that are defined, and those that resources, groups and the
// subscription itself have.
func (g Names) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	p, err := g.Lists.Read(x)
	if err != nil {
		return err
	}
	uses, err := g.newTagUses(r.Context(), req.Subscription)
	if err != nil {
		return err
	}
	bodies := []any{}
	rest, name := "", p.After
	for {
		if name, err = uses.nextName(r.Context(), name); err != nil {
			return err
		}
		if name == "" {
			rest = ""
			break
		}
		if len(bodies) == p.Top || uses.examined >= route.MostExamined {
			break
		}
		body, err := g.readName(r.Context(), req.Subscription.ID, uses, name)
		if err != nil {
			return err
		}
		if body.TagName != "" { // otherwise it was removed meanwhile
			bodies = append(bodies, body)
		}
		rest = name
	}
	return g.Lists.Answer(w, x, bodies, rest)
}

func (g Names) readName(ctx context.Context, subscription string, uses *tagUses, name string) (tagNameBody, error) {
	defined, err := g.Store.Tags.Name(ctx, subscription, name)
	if err != nil && !errors.Is(err, inventory.ErrNotFound) {
		return tagNameBody{}, fmt.Errorf("read a tag name: %w", err)
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
		return "", "", arm.NewError(arm.ReservedTagName, name, prefix).WithTarget("tagName")
	}
	return name, value, nil
}

// put defines a name, or a value for a name.
func (g Names) put(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	name, value, fault := tagOf(x)
	if fault != nil {
		return fault
	}
	conditions := route.Preconditions(r, x)
	defined, created, err := g.Store.Tags.Define(r.Context(), req.Subscription.ID, name, value, func(current tagindex.Name) error {
		return conditions(tagETag(req.Subscription.ID, current, value))
	}, func(defined tagindex.Name) string { return tagETag(req.Subscription.ID, defined, value) })
	var quota *transaction.QuotaError
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		return arm.NewError(arm.TagNameNotFound, name).WithTarget("tagName")
	case errors.As(err, &quota):
		return arm.NewError(arm.TagQuotaExceeded, name, quota.Limit, quota.Current).WithTarget("tagName")
	case err != nil:
		return admission.Refusal(x, err)
	}
	uses, err := g.newTagUses(r.Context(), req.Subscription)
	if err != nil {
		return err
	}
	use, err := uses.count(r.Context(), defined.Key)
	if err != nil {
		return err
	}
	status := route.StatusOf(created)
	if value == "" {
		body := tagNameOf(req.Subscription.ID, defined, use)
		return route.AnswerTagged(w, r, x, status, body.ETag, body)
	}
	body := tagValueOf(req.Subscription.ID, defined.Name, value, defined, use)
	return route.AnswerTagged(w, r, x, status, body.ETag, body)
}

// delete removes a name without values, or a value; neither while it is in use.
func (g Names) delete(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	name, value, fault := tagOf(x)
	if fault != nil {
		return fault
	}
	inUse, err := g.inUse(r.Context(), req.Subscription, name, value)
	if err != nil {
		return err
	}
	conditions := route.Preconditions(r, x)
	removed, err := g.Store.Tags.Remove(r.Context(), req.Subscription.ID, name, value, func(current tagindex.Name) error {
		return cmp.Or(conditions(tagETag(req.Subscription.ID, current, value)), inUse)
	})
	switch {
	case errors.Is(err, tagindex.ErrHasValues):
		return arm.NewError(arm.TagNameInUse, name, "values are defined for it").WithTarget("tagName")
	case err != nil:
		return admission.Refusal(x, err)
	case inUse != nil: // and not defined
		return inUse
	case !removed:
		return x.Answer(w, http.StatusNoContent, nil)
	}
	return x.Answer(w, http.StatusOK, nil)
}

// inUse returns the refusal to remove a name or a value that is in use, nil if it is not.
func (g Names) inUse(ctx context.Context, s inventory.Subscription, name, value string) (refusal, err error) {
	uses, err := g.newTagUses(ctx, s)
	if err != nil {
		return nil, err
	}
	use, err := uses.count(ctx, arm.Fold(name))
	switch {
	case err != nil:
		return nil, err
	case value == "" && use.total > 0:
		return arm.NewError(arm.TagNameInUse, name, "it is in use").WithTarget("tagName"), nil
	case value != "" && use.values[value] > 0:
		return arm.NewError(arm.TagValueInUse, value, name).WithTarget("tagValue"), nil
	}
	return nil, nil
}
