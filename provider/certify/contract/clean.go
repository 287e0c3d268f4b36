package contract

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"portico/internal/timing"
)

// Bounds of how often Clean tries to remove a resource.
const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 5 * time.Second
	vainRounds    = 6 // without progress or a sign of progress
	workersAtOnce = 4
)

// Clean removes everything that the run created, except what is spared, until
// nothing is left or ctx ends. It returns the ids of objects that it could
// not remove or verify as gone, and of spared objects that exist.
func (l *Ledger) Clean(ctx context.Context) (left []string) {
	l.cleaning.Store(true)
	things := l.entriesWhere(l.mayRemove)
	l.restoreSubscriptions(ctx, things)
	known := ofKind(things, resource)
	things = slices.DeleteFunc(slices.Clone(things), l.isSpared)
	remaining := l.removeRepeatedly(ctx, ofKind(things, resource))
	remaining = append(remaining, l.removeRepeatedly(ctx, slices.DeleteFunc(l.unnamed(ctx, known), l.isSpared))...)
	remaining = append(remaining, l.removeRepeatedly(ctx, ofKind(things, resourceGroup))...)
	if len(remaining) == 0 {
		remaining = l.endSubscriptions(ctx, ofKind(things, subscription))
	}
	for _, t := range append(remaining, l.untouched(ctx)...) {
		if t.certain {
			left = append(left, unescape(t.path))
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// entriesWhere returns the entries that match, children before parents.
func (l *Ledger) entriesWhere(right func(*entry) bool) []*entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*entry
	for _, t := range l.entries {
		if right(t) {
			all = append(all, t)
		}
	}
	slices.SortFunc(all, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(strings.Count(b.path, "/"), strings.Count(a.path, "/")), cmp.Compare(a.path, b.path))
	})
	return all
}

// Spare makes Clean leave the objects at these paths, their descendants and
// their ancestors.
func (l *Ledger) Spare(paths []string) {
	for _, p := range paths {
		l.spare = append(l.spare, strings.ToLower(p)+"/")
	}
}

func (l *Ledger) isSpared(t *entry) bool {
	path := strings.ToLower(t.path) + "/"
	return slices.ContainsFunc(l.spare, func(s string) bool { return strings.HasPrefix(path, s) || strings.HasPrefix(s, path) })
}

// untouched returns existing resources that Clean leaves as they are: spared ones, and
// resources outside the run's groups that no answer proves to be created by the run.
func (l *Ledger) untouched(ctx context.Context) []*entry {
	var there []*entry
	for _, t := range l.entriesWhere(func(t *entry) bool { return t.kind == resource && t.certain && (!l.mayRemove(t) || l.isSpared(t)) }) {
		if got, err := l.send(ctx, t, http.MethodGet, ""); err != nil || got.Status != http.StatusNotFound {
			there = append(there, t)
		}
	}
	return there
}

func ofKind(all []*entry, k entryKind) []*entry {
	return slices.DeleteFunc(slices.Clone(all), func(t *entry) bool { return t.kind != k })
}

// removeRepeatedly tries to remove things as long as that makes or promises
// progress, and returns the remaining ones.
func (l *Ledger) removeRepeatedly(ctx context.Context, things []*entry) []*entry {
	pause, vain := shortestPause, 0
	for len(things) > 0 && ctx.Err() == nil && vain < vainRounds {
		outcomes := l.removeOnce(ctx, things)
		var remaining []*entry
		waiting := false
		for i, t := range things {
			if outcomes[i] != gone {
				remaining = append(remaining, t)
				waiting = waiting || outcomes[i] == going
			}
		}
		progress := len(remaining) < len(things)
		things = remaining
		switch {
		case progress:
			pause, vain = shortestPause, 0
			continue
		case !waiting:
			vain++
		}
		_ = timing.Sleep(ctx, pause) // the loop ends with ctx
		pause = min(2*pause, longestPause)
	}
	return things
}

// removal is what one round did to an object.
type removal int

const (
	stays removal = iota
	going         // expected to end
	gone
)

// removeOnce tries to remove each thing once: children before parents, a few
// of one depth at a time.
func (l *Ledger) removeOnce(ctx context.Context, things []*entry) []removal {
	outcomes := make([]removal, len(things))
	for begin := 0; begin < len(things); {
		end := begin
		for end < len(things) && strings.Count(things[end].path, "/") == strings.Count(things[begin].path, "/") {
			end++
		}
		places := make(chan int)
		var done sync.WaitGroup
		for range workersAtOnce {
			done.Go(func() {
				for i := range places {
					outcomes[i] = l.remove(ctx, things[i])
				}
			})
		}
		for i := begin; i < end; i++ {
			places <- i
		}
		close(places)
		done.Wait()
		begin = end
	}
	return outcomes
}

// remove tries once to remove a thing.
func (l *Ledger) remove(ctx context.Context, t *entry) removal {
	if !t.certain { // its PUT was refused
		got, err := l.send(ctx, t, http.MethodGet, "")
		switch {
		case err != nil:
			return going
		case got.Status != http.StatusOK:
			return gone
		}
		t.certain = true
	}
	if !t.deleted {
		got, err := l.send(ctx, t, http.MethodDelete, "")
		if err != nil {
			return going
		}
		t.deleted = got.Status == http.StatusAccepted
		if got.Status >= http.StatusBadRequest && got.Header.Get("Retry-After") != "" {
			return going
		}
	}
	got, err := l.send(ctx, t, http.MethodGet, "")
	switch {
	case err != nil:
		return going
	case got.Status == http.StatusNotFound:
		return l.absent(ctx, t)
	case got.Status == http.StatusOK && !terminal(stateOf(got)):
		return going
	}
	t.deleted = false // the next round asks again
	return stays
}

// absent judges a thing that does not exist: it is gone unless a running
// operation may still create it.
func (l *Ledger) absent(ctx context.Context, t *entry) removal {
	if t.poll == "" {
		return gone
	}
	u, err := url.Parse(t.poll)
	if err != nil {
		return gone
	}
	got, err := l.send(ctx, t, http.MethodGet, u.RequestURI())
	if err != nil {
		return going
	}
	if got.Status == http.StatusAccepted ||
		got.Status == http.StatusOK && text(decode(got.Body), "status") != "" && !terminal(text(decode(got.Body), "status")) {
		return going
	}
	t.poll, t.deleted = "", false // it may have been created since
	return going
}

func stateOf(a *Answer) string {
	if state := text(decode(a.Body), "properties.provisioningState"); state != "" {
		return state
	}
	return "Succeeded"
}

// send makes a call about a thing; with an empty target it calls the thing itself.
func (l *Ledger) send(ctx context.Context, t *entry, method, target string) (*Answer, error) {
	if target == "" {
		target = t.path + "?api-version=" + url.QueryEscape(l.versionOf(t))
	}
	return l.target.sendBounded(ctx, call{method: method, target: target, region: t.region, body: t.body})
}

// versionOf returns an api-version that the thing's type certainly has.
func (l *Ledger) versionOf(t *entry) string {
	if t.kind == resource {
		if of := l.target.Description.typeAt(unescape(t.path)); of != nil {
			return of.version()
		}
	}
	return t.version
}

// unnamed returns resources in the lists of the run's groups that the ledger
// does not know: moved ones, and ones that a provider created by mistake.
// Through a front door, deleting the groups removes them.
func (l *Ledger) unnamed(ctx context.Context, known []*entry) []*entry {
	if l.target.Adapter.Through || !l.vacant { // they may be another's, unless the groups were empty before
		return nil
	}
	seen := map[string]bool{}
	for _, t := range known {
		seen[strings.ToLower(t.path)] = true
	}
	var found []*entry
	for _, group := range l.groups {
		for _, id := range l.list(ctx, unescape(group)).ids {
			path := escape(id.id)
			if !seen[strings.ToLower(path)] {
				found = append(found, &entry{kind: resource, path: path, region: id.region, certain: true})
			}
		}
	}
	return found
}

// restoreSubscriptions makes the subscriptions of the run's notices writable again.
func (l *Ledger) restoreSubscriptions(ctx context.Context, things []*entry) {
	for _, t := range ofKind(things, subscription) {
		_, _ = l.notify(ctx, t, "Registered") // what cannot be removed then is reported
	}
}

// endSubscriptions notifies the provider that the subscriptions invented by
// the run are deleted, and returns those with a failed notification.
func (l *Ledger) endSubscriptions(ctx context.Context, things []*entry) (unnotified []*entry) {
	for _, t := range things {
		got, err := l.notify(ctx, t, "Deleted")
		if t.certain && (err != nil || got.Status >= http.StatusInternalServerError) {
			unnotified = append(unnotified, t)
		}
	}
	return unnotified
}

func (l *Ledger) notify(ctx context.Context, t *entry, state string) (*Answer, error) {
	answer := Object{}
	if err := json.Unmarshal(t.body, &answer); err != nil {
		answer = Object{}
	}
	answer["state"] = state
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	notice := *t
	notice.body = body
	return l.send(ctx, &notice, http.MethodPut, "")
}

// unescape returns a path without its escapes.
func unescape(path string) string {
	if p, err := url.PathUnescape(path); err == nil {
		return p
	}
	return path
}
