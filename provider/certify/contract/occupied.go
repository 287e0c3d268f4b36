package contract

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// Occupied returns the ids of resources that already exist in the target's
// group and the groups numbered after it. A run starts only if there are
// none, because it finally removes everything in these groups. The error
// means that the target could not be queried.
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

// found is a listed resource, and the region of the endpoint that listed it.
type found struct{ id, region string }

// listed holds the results of lists.
type listedResources struct {
	ids      []found
	complete bool  // every list was answered to its end
	err      error // of a call without an answer
}

// list lists the resources of the run's groups, by top-level types below a
// scope, at the provider's endpoints: each resource after its children.
func (l *Ledger) list(ctx context.Context, scope string) listedResources {
	all := listedResources{complete: true}
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

// pagesRead bounds the pages that are read of a list.
const pagesRead = 200

func (l *Ledger) listBelow(ctx context.Context, all *listedResources, collection string, t *Type, region string) {
	next, walk := escape(collection)+"?api-version="+t.version(), pageWalk{}
	for range pagesRead {
		a, err := l.target.sendBounded(ctx, call{method: http.MethodGet, target: next, region: region})
		if err != nil {
			all.err = err
			return
		}
		if a.Status != http.StatusOK { // the cases judge whether that is right
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

func (l *Ledger) listChildren(ctx context.Context, all *listedResources, id string, t *Type, region string) {
	for _, child := range l.target.Description.types() {
		if child.parent == t {
			l.listBelow(ctx, all, id+"/"+child.last(), child, region)
		}
	}
}

const groupVersion = "?api-version=2021-04-01"

// occupiedGroups asks a front door for its groups and their resources.
func (l *Ledger) occupiedGroups(ctx context.Context) ([]string, error) {
	groups := "/subscriptions/" + l.target.Adapter.Subscription + "/resourceGroups"
	var ids []string
	err := l.eachListed(ctx, groups, func(group any) error {
		if !OwnGroup(l.target.Group, text(group, "name")) {
			return nil
		}
		return l.eachListed(ctx, groups+"/"+text(group, "name")+"/resources", func(item any) error {
			ids = append(ids, text(item, "id"))
			return nil
		})
	})
	return ids, err
}

// eachListed reads one of the front door's own lists, page by page.
func (l *Ledger) eachListed(ctx context.Context, path string, visit func(item any) error) error {
	walk := pageWalk{}
	for next := escape(path) + groupVersion; next != ""; {
		a, err := l.target.sendBounded(ctx, call{method: http.MethodGet, target: next})
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
