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

// maxPartsExamined bounds the groups in which one page looks for resources of its list.
const maxPartsExamined = 200

// listParts are the parts of a list of a subscription's tracked resources: its groups,
// and single resources where the caller may not read the whole group. A part is named
// by the folded name of its group, behind which a slash and that of the resource may
// follow.
type listParts struct {
	*Proxy
	x            *exchange.Exchange
	subscription inventory.Subscription
	readable     *authorize.Readable // nil: the parts are all groups
	names        []string            // of the parts in which the caller may read something, in order
	examined     int
}

// parts returns the parts of a list, nil where it has none: a provider lists what is not
// tracked, or nested, at its one scope alone.
func (p *Proxy) parts(x *exchange.Exchange, d *Resolved) fanout.Parts {
	q := x.Request
	if q.Type.Kind != regions.Tracked || q.Type.Parent != nil || q.Path.Group() != "" || q.Path.Subscription() == "" || q.Path.Hops() != 1 {
		return nil
	}
	parts := &listParts{Proxy: p, x: x, subscription: d.Subscription, readable: d.readable}
	if d.readable != nil {
		for _, scope := range d.readable.Within(q.Scope()) {
			if name := parts.nameOf(scope); name != "" {
				parts.names = append(parts.names, name)
			}
		}
		slices.Sort(parts.names)
	}
	return parts
}

// nameOf returns the name of the part at a folded scope; "" where that holds nothing of the
// list.
func (l *listParts) nameOf(scope string) string {
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
		name, err := l.next(ctx, after)
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

// next returns the name of the part behind another, "" at the end.
func (l *listParts) next(ctx context.Context, after string) (string, error) {
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

// regionsOf returns the regions that may hold something of a part.
func (l *listParts) regionsOf(ctx context.Context, name string) ([]string, error) {
	t := l.x.Request.Type
	group, _, _ := strings.Cut(name, "/")
	names, _, err := l.Store.Coverage.MayHold(ctx, l.subscription.ID, group, t.Key, t.EffectiveRegions())
	if err != nil {
		return nil, fmt.Errorf("ask which regions may hold a type: %w", err)
	}
	return names, nil
}

// Named implements fanout.Parts. Of a resource that the index knows it returns the region,
// too.
func (l *listParts) Named(ctx context.Context, name string) (*fanout.Part, error) {
	sub := l.subscription
	group, resource, one := strings.Cut(name, "/")
	if !l.shows(group, resource) {
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

// idOf is the ID of a resource of the list in a group; without its name, that of the
// group's own list.
func (l *listParts) idOf(group, resource string) string {
	hop := l.x.Request.Path.LastHop()
	id := l.groupID(group) + "/providers/" + hop.Namespace() + "/" + hop.Segment(0)
	if resource != "" {
		id += "/" + resource
	}
	return id
}

// shows reports whether the caller may read something in a part.
func (l *listParts) shows(group, resource string) bool {
	if l.readable == nil {
		return true
	}
	id := l.groupID(group)
	if resource != "" {
		id = l.idOf(group, resource)
	}
	return l.readable.Shows(id) || len(l.readable.Within(id)) > 0
}

// unfiltered reports whether the client asks for nothing that the provider's answer to the
// GET of a resource would not go by, as a filter.
func (l *listParts) unfiltered() bool {
	query := routing.Query{Raw: l.x.Request.Query.Without("$top")}
	query.Raw = query.Without("$skipToken")
	return query.Without("api-version") == ""
}
