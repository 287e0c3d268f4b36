package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"

	"portico/arm"
	"portico/fanout"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/regions"
	"portico/routing"
)

// maxPartsExamined bounds the groups that one page examines for resources of its list.
const maxPartsExamined = 200

// listParts are the parts of a list of a subscription's tracked resources: its groups,
// and single resources if the caller may not read the whole group. The name of a part is
// the folded name of its group, for a single resource followed by a slash and its name.
type listParts struct {
	*Proxy
	x            *exchange.Exchange
	subscription inventory.Subscription
	readable     *authorize.Readable // nil: the parts are all groups
	names        []string            // the parts in which the caller may read something, sorted
	examined     int
}

// parts returns the parts of a list, or nil: a list of resources that are not tracked, or
// are nested, has only its one scope.
func (p *Proxy) parts(x *exchange.Exchange, d *Resolved) fanout.Parts {
	q := x.Request
	if q.Type.Kind != regions.Tracked || q.Type.Parent != nil || q.Path.Group() != "" || q.Path.Subscription() == "" || q.Path.Hops() != 1 {
		return nil
	}
	parts := &listParts{Proxy: p, x: x, subscription: d.Subscription, readable: d.readable}
	if d.readable != nil {
		for _, scope := range d.readable.Within(q.Scope()) {
			if name := parts.partName(scope); name != "" {
				parts.names = append(parts.names, name)
			}
		}
		slices.Sort(parts.names)
	}
	return parts
}

// partName returns the name of the part at a folded scope; "" if that holds no element of
// the list.
func (l *listParts) partName(scope string) string {
	var at arm.Path
	if at.Parse(arm.PathOf(scope)) != nil || at.Group() == "" {
		return ""
	}
	if at.Hops() == 0 {
		return at.Group()
	}
	list, hop := l.x.Request.Path.LastHop(), at.LastHop()
	if at.Hops() > 1 || hop.Len() != 2 || !arm.EqualFold(hop.Namespace(), list.Namespace()) || !arm.EqualFold(hop.Segment(0), list.Segment(0)) {
		return ""
	}
	return at.Group() + "/" + hop.Segment(1)
}

// Next implements fanout.Parts.
func (l *listParts) Next(ctx context.Context, after string) (*fanout.Part, string, error) {
	for {
		name, err := l.nextName(ctx, after)
		if err != nil || name == "" {
			return nil, "", err
		}
		if after = name; l.examined == maxPartsExamined {
			return nil, after, nil
		}
		l.examined++
		part, err := l.Named(ctx, name)
		if err != nil {
			return nil, "", err
		}
		if part != nil && part.Regions == nil {
			if part.Regions, err = l.regionsOf(ctx, name); err != nil {
				return nil, "", err
			}
		}
		if part != nil && len(part.Regions) > 0 {
			return part, after, nil
		}
	}
}

// nextName returns the name of the part after the given one, "" at the end.
func (l *listParts) nextName(ctx context.Context, after string) (string, error) {
	if l.readable != nil {
		i := sort.Search(len(l.names), func(i int) bool { return l.names[i] > after })
		if i == len(l.names) {
			return "", nil
		}
		return l.names[i], nil
	}
	groups, err := l.Store.Groups(ctx, inventory.GroupQuery{Subscription: l.subscription.ID, After: after, Limit: 1})
	if err != nil {
		return "", fmt.Errorf("read a group: %w", err)
	}
	if len(groups) == 0 {
		return "", nil
	}
	return groups[0].Key, nil
}

// regionsOf returns the regions that may hold elements of a part.
func (l *listParts) regionsOf(ctx context.Context, name string) ([]string, error) {
	t := l.x.Request.Type
	group, _, _ := strings.Cut(name, "/")
	names, _, err := l.Store.Coverage.MayHold(ctx, l.subscription.ID, group, t.Key, t.EffectiveRegions())
	if err != nil {
		return nil, fmt.Errorf("ask which regions may hold a type: %w", err)
	}
	return names, nil
}

// Named implements fanout.Parts. For a resource that the index knows, the part has its
// region, too.
func (l *listParts) Named(ctx context.Context, name string) (*fanout.Part, error) {
	sub := l.subscription
	group, resource, one := strings.Cut(name, "/")
	if !l.mayRead(group, resource) {
		return nil, nil
	}
	found, _, err := l.Store.Scopes.Group(ctx, sub.ID, group, l.x.Started)
	switch {
	case errors.Is(err, inventory.ErrNotFound):
		if sub.Covered {
			return nil, nil
		}
	case err != nil:
		return nil, fmt.Errorf("read a group: %w", err)
	default:
		group = found.Name
	}
	part, target := &fanout.Part{Name: name}, l.idOf(group, "")
	if one {
		row, err := l.Store.Resource(ctx, sub.ID, arm.Fold(l.idOf(group, resource)))
		switch {
		case err == nil && l.unfiltered():
			part.One, part.Regions, target = true, []string{row.Region}, row.ID
		case errors.Is(err, inventory.ErrNotFound) && sub.Covered:
			return nil, nil
		case err != nil && !errors.Is(err, inventory.ErrNotFound):
			return nil, fmt.Errorf("read a row: %w", err)
		}
	}
	return part, part.Path.Parse((&url.URL{Path: target}).EscapedPath())
}

func (l *listParts) groupID(group string) string {
	return l.x.Request.Path.Prefix(2) + "/resourceGroups/" + group
}

// idOf returns the ID of a resource of the list in a group; without a resource's name,
// the ID of the group's own list.
func (l *listParts) idOf(group, resource string) string {
	hop := l.x.Request.Path.LastHop()
	id := l.groupID(group) + "/providers/" + hop.Namespace() + "/" + hop.Segment(0)
	if resource != "" {
		id += "/" + resource
	}
	return id
}

// mayRead reports whether the caller may read something in a part.
func (l *listParts) mayRead(group, resource string) bool {
	if l.readable == nil {
		return true
	}
	id := l.groupID(group)
	if resource != "" {
		id = l.idOf(group, resource)
	}
	return l.readable.Shows(id) || len(l.readable.Within(id)) > 0
}

// unfiltered reports whether the request has no option, such as a filter, that the GET of
// a single resource would ignore.
func (l *listParts) unfiltered() bool {
	query := routing.Query{Raw: l.x.Request.Query.Without("$top")}
	query.Raw = query.Without("$skipToken")
	return query.Without("api-version") == ""
}
