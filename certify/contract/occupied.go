package contract

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// found is a resource that a list shows, and the region whose endpoint listed it.
type found struct{ id, region string }

// held is what lists show.
type held struct {
	ids []found
	err error // of a call without an answer
}

// Occupied returns the ids of what the target's group, and the groups that are numbered
// after it, already hold. A run begins only where that is nothing, since all that is below
// them goes in the end. The error says that the target cannot be asked.
func Occupied(ctx context.Context, target Target) ([]string, error) {
	if target.Adapter.Through {
		return target.occupiedGroups(ctx)
	}
	shown := target.list(ctx, "/subscriptions/"+target.Adapter.Subscription+"/resourceGroups/"+target.Group)
	var ids []string
	for _, f := range shown.ids {
		ids = append(ids, f.id)
	}
	return ids, shown.err
}

// ask makes a call of the suite's own, in bounded time.
func (target Target) ask(ctx context.Context, c call) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, target.Limits.orDefault().Call)
	defer cancel()
	return target.Adapter.send(ctx, c)
}

// list lists the top-level types below a group at the provider's endpoints, with their
// children behind each resource's parents, the deepest first.
func (target Target) list(ctx context.Context, group string) held {
	var all held
	for _, t := range target.Description.types() {
		if t.nested() || t.Kind == Extension || !target.Adapter.serves(t) {
			continue
		}
		regions := target.Adapter.Regions
		if t.global() {
			regions = []string{Global}
		}
		for _, region := range regions {
			target.listBelow(ctx, &all, group+"/providers/"+t.FullName(), t, region)
		}
	}
	return all
}

func (target Target) listBelow(ctx context.Context, all *held, collection string, t *Type, region string) {
	a, err := target.ask(ctx, call{method: http.MethodGet, target: escape(collection) + "?api-version=" + t.version(), region: region})
	if err != nil {
		all.err = err
		return
	}
	if a.Status != http.StatusOK {
		return // whether that is right is for the cases to judge
	}
	a.doc = decode(a.Body)
	for _, item := range values(a) {
		id := text(item, "id")
		if id == "" {
			continue
		}
		for _, child := range target.Description.types() {
			if child.parent == t {
				target.listBelow(ctx, all, id+"/"+child.last(), child, region)
			}
		}
		all.ids = append(all.ids, found{id, region})
	}
}

const groupVersion = "?api-version=2021-04-01"

// occupiedGroups asks a front door for its groups, and what they hold.
func (target Target) occupiedGroups(ctx context.Context) ([]string, error) {
	groups := "/subscriptions/" + target.Adapter.Subscription + "/resourceGroups"
	var ids []string
	err := target.each(ctx, groups, func(group any) error {
		if !OwnGroup(target.Group, text(group, "name")) {
			return nil
		}
		return target.each(ctx, groups+"/"+text(group, "name")+"/resources", func(item any) error {
			ids = append(ids, text(item, "id"))
			return nil
		})
	})
	return ids, err
}

// each reads a list of the front door's own, page by page.
func (target Target) each(ctx context.Context, path string, visit func(item any) error) error {
	for next := escape(path) + groupVersion; next != ""; {
		a, err := target.ask(ctx, call{method: http.MethodGet, target: next})
		if err != nil {
			return err
		}
		if a.Status != http.StatusOK {
			return fmt.Errorf("%s is answered with %d: %s", path, a.Status, target.Adapter.showText(clip(string(a.Body), 200)))
		}
		a.doc = decode(a.Body)
		for _, item := range values(a) {
			if err := visit(item); err != nil {
				return err
			}
		}
		next = strings.TrimPrefix(text(a.doc, "nextLink"), target.Adapter.Public)
	}
	return nil
}
