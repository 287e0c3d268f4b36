package contract

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Occupied returns the ids of the resources that the target's group, and the groups
// numbered after it, already hold. A run starts only if there are none, since it removes
// everything below these groups in the end. The error says that the target cannot be
// asked.
func (l *Ledger) Occupied(ctx context.Context) ([]string, error) {
	if l.target.Adapter.Through {
		return l.occupiedGroups(ctx)
	}
	var ids []string
	subscription := "/subscriptions/" + l.target.Adapter.Subscription
	l.vacant = true
	for _, scope := range []string{l.target.groupID(l.target.Group), subscription} {
		shown := l.list(ctx, scope)
		if shown.err != nil {
			return nil, shown.err
		}
		l.vacant = l.vacant && shown.complete
		for _, f := range shown.ids {
			ids = append(ids, f.id)
		}
		if len(ids) > 0 {
			break
		}
	}
	return ids, nil
}

// found is a resource that a list shows, and the region whose endpoint listed it.
type found struct{ id, region string }

// held is what lists show.
type held struct {
	ids      []found
	complete bool  // every list was answered, to its end
	err      error // of a call without an answer
}

// list lists what the run's groups have of the top-level types below a scope, at the
// provider's endpoints: each resource behind its children.
func (l *Ledger) list(ctx context.Context, scope string) held {
	all := held{complete: true}
	for _, t := range l.target.Description.types() {
		if t.nested() || t.Kind == Extension || !l.target.Adapter.serves(t) {
			continue
		}
		regions := l.target.Adapter.Regions
		if t.global() {
			regions = []string{Global}
		}
		for _, region := range regions {
			l.listBelow(ctx, &all, scope+"/providers/"+t.FullName(), t, region)
		}
	}
	return all
}

// pagesRead is how many pages of a list are read.
const pagesRead = 200

func (l *Ledger) listBelow(ctx context.Context, all *held, collection string, t *Type, region string) {
	next, walk := escape(collection)+"?api-version="+t.version(), pageWalk{}
	for range pagesRead {
		a, err := l.target.ask(ctx, call{method: http.MethodGet, target: next, region: region})
		if err != nil {
			all.err = err
			return
		}
		if a.Status != http.StatusOK { // whether that is right is for the cases to judge
			all.complete = all.complete && a.Status == http.StatusNotFound
			return
		}
		a.doc = decode(a.Body)
		for _, item := range values(a) {
			id := text(item, "id")
			if _, own := l.ownGroup(escape(id)); own { // resources outside of the run's groups do not matter
				l.listChildren(ctx, all, id, t, region)
				all.ids = append(all.ids, found{id, region})
			}
		}
		link, endless := walk.onward(a)
		u, err := url.Parse(link)
		if err != nil || u.Path == "" {
			all.complete = all.complete && endless == ""
			return
		}
		next = u.RequestURI()
	}
	all.complete = false
}

func (l *Ledger) listChildren(ctx context.Context, all *held, id string, t *Type, region string) {
	for _, child := range l.target.Description.types() {
		if child.parent == t {
			l.listBelow(ctx, all, id+"/"+child.last(), child, region)
		}
	}
}

const groupVersion = "?api-version=2021-04-01"

// occupiedGroups asks a front door for its groups, and what they hold.
func (l *Ledger) occupiedGroups(ctx context.Context) ([]string, error) {
	groups := "/subscriptions/" + l.target.Adapter.Subscription + "/resourceGroups"
	var ids []string
	err := l.each(ctx, groups, func(group any) error {
		if !OwnGroup(l.target.Group, text(group, "name")) {
			return nil
		}
		return l.each(ctx, groups+"/"+text(group, "name")+"/resources", func(item any) error {
			ids = append(ids, text(item, "id"))
			return nil
		})
	})
	return ids, err
}

// each reads a list of the front door's own, page by page.
func (l *Ledger) each(ctx context.Context, path string, visit func(item any) error) error {
	walk := pageWalk{}
	for next := escape(path) + groupVersion; next != ""; {
		a, err := l.target.ask(ctx, call{method: http.MethodGet, target: next})
		if err != nil {
			return err
		}
		if a.Status != http.StatusOK {
			return fmt.Errorf("%s is answered with %d: %s", path, a.Status, l.target.Adapter.showText(clip(string(a.Body), 200)))
		}
		a.doc = decode(a.Body)
		for _, item := range values(a) {
			if err := visit(item); err != nil {
				return err
			}
		}
		link, endless := walk.onward(a)
		if endless != "" {
			return fmt.Errorf("%s does not end: %s", path, endless)
		}
		next = strings.TrimPrefix(link, l.target.Adapter.Public)
	}
	return nil
}
