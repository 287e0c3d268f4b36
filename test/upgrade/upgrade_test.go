package upgrade

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// bound is how long a test waits for anything, on a machine that is shared.
const bound = 2 * time.Minute

const settings = `
index: {sendWithin: 10s, lateWriteWindow: 1s, callMargin: 500ms, pollFloor: 100ms, askTimeout: 20s}
jobs: {lease: 2s}
operations: {retryAfterMin: 1s, retryAfterMax: 1s}
groupDelete: {transientBudget: 5m, limit: 10m}
`

// Two gateways of an earlier version are replaced by two of the present one, by the
// earlier ones again, and once more by the present ones. Before a version goes, the next
// one stands beside it. Meanwhile clients write, and each time the deletion of a group
// waits that one version began and the other has to end.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	balancer := harness.StartBalancer(t)
	config := harness.Config{
		Postgres: harness.StartPostgres(t).CreateDatabase(t, "upgrade"), PublicURL: "http://" + balancer.Address,
		Drain: "{delay: 1s, limit: 30s}", Extra: settings, Program: earlierProgram(t),
	}
	w := harness.NewWorld(t, harness.WorldOptions{Replicas: 2, Config: config})
	earlier, present := w.Replicas, []*harness.Portico(nil)
	for _, p := range earlier {
		balancer.Add(t, p)
	}
	l := startLoad(t, w, "http://"+balancer.Address)
	l.more(t)
	later := w.Config
	later.Program = ""

	up := beginDeletion(t, w, earlier[0], "begun-by-earlier")
	for range 2 {
		p := harness.StartPortico(t, later)
		balancer.Add(t, p)
		present = append(present, p)
		l.more(t)
	}
	stop(t, l, earlier)
	up.end(t, w, present[0])

	down := beginDeletion(t, w, present[0], "begun-by-present")
	start(t, l, balancer, earlier)
	stop(t, l, present)
	down.end(t, w, earlier[0])

	again := beginDeletion(t, w, earlier[1], "begun-by-earlier-again")
	start(t, l, balancer, present)
	stop(t, l, earlier)
	again.end(t, w, present[1])
	l.end(t)

	for _, p := range present {
		settled(t, p)
	}
	l.compare(t, w, present)
}

func start(t *testing.T, l *load, balancer *harness.Balancer, replicas []*harness.Portico) {
	t.Helper()
	for _, p := range replicas {
		p.Restart(t)
		balancer.Await(t, p)
		l.more(t)
	}
}

func stop(t *testing.T, l *load, replicas []*harness.Portico) {
	t.Helper()
	for _, p := range replicas {
		p.Stop(t)
		l.more(t)
	}
}

// deletion is that of a group, of which one resource is held up.
type deletion struct{ group, result string }

func beginDeletion(t *testing.T, w *harness.World, p *harness.Portico, group string) deletion {
	t.Helper()
	do := func(method, path, content string, want ...int) harness.Answer {
		return p.Do(t, harness.Request{Method: method, Path: path, Body: content}).Want(t, want...)
	}
	do(http.MethodPut, w.GroupPath(group)+own, `{"location":"westus"}`, 201)
	for i, name := range []string{"a", "b", "stays"} {
		do(http.MethodPut, w.ResourcePath(group, machines+name)+version, fmt.Sprintf(`{"location":%q}`, harness.RegionNames()[i]), 201)
	}
	for _, region := range harness.RegionNames() {
		w.Contoso(region).Do(t, harness.Request{
			Method: http.MethodPost, Path: "/contoso/faults", Body: `{"method":"DELETE","pathContains":"/stays","fault":"status=429","count":-1}`,
		}).Want(t, 201)
	}
	at, err := url.Parse(do(http.MethodDelete, w.GroupPath(group)+own, "", 202).Header.Get("Location"))
	harness.OK(t, err)
	harness.Await(t, bound, "only what is held up is left", func() bool {
		return len(ofGroup(t, w, group)) == 1
	})
	return deletion{group: group, result: at.RequestURI()}
}

// ofGroup are the resources of a group at its providers.
func ofGroup(t *testing.T, w *harness.World, group string) (ids []string) {
	t.Helper()
	for _, region := range harness.RegionNames() {
		for _, id := range w.Contoso(region).IDs(t) {
			if strings.Contains(strings.ToLower(id), "/resourcegroups/"+group+"/") {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// end lets the provider go on, and waits until the deletion has succeeded.
func (d deletion) end(t *testing.T, w *harness.World, p *harness.Portico) {
	t.Helper()
	for _, region := range harness.RegionNames() {
		w.Contoso(region).Do(t, harness.Request{Method: http.MethodDelete, Path: "/contoso/faults"}).Want(t, 204)
	}
	harness.Await(t, bound, "the group is gone: "+d.group, func() bool {
		return p.Do(t, harness.Request{Path: d.result}).Want(t, 200, 202).Status == http.StatusOK
	})
	p.Do(t, harness.Request{Path: w.GroupPath(d.group) + own}).Want(t, 404)
	if left := ofGroup(t, w, d.group); len(left) > 0 {
		t.Errorf("%s is gone, and its providers hold %v", d.group, left)
	}
}

// settled waits until no job is left that a client or the index waits for.
func settled(t *testing.T, p *harness.Portico) {
	t.Helper()
	for _, kind := range []string{"verify", "follow", "group-delete", "notice", "fence"} {
		var left []map[string]any
		for end := time.Now().Add(bound); ; time.Sleep(100 * time.Millisecond) {
			left = slices.DeleteFunc(p.Admin(t, harness.Request{Path: "/admin/jobs?kind=" + kind}).Want(t, 200).Values(t), func(j map[string]any) bool {
				return j["state"] == "Done" || j["state"] == "Failed" || j["state"] == "Cancelled"
			})
			if len(left) == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("stuck: %v", left)
			}
		}
	}
	if doubts := p.Admin(t, harness.Request{Path: "/admin/doubts"}).Want(t, 200).Values(t); len(doubts) > 0 {
		t.Errorf("the index is not sure of %v", doubts)
	}
}

// compare holds what was acknowledged against lists and GETs through each gateway, and
// against what the providers hold.
func (l *load) compare(t *testing.T, w *harness.World, replicas []*harness.Portico) {
	t.Helper()
	var want, there []string
	for id := range l.holds {
		want = append(want, strings.ToLower(id))
	}
	for _, region := range harness.RegionNames() {
		for _, id := range w.Contoso(region).IDs(t) {
			there = append(there, strings.ToLower(id))
		}
	}
	same(t, "the providers", there, want)
	for _, p := range replicas {
		c := caller{load: &load{base: p.URL}, client: p.Client}
		for _, list := range []string{"/resources" + own, "/resources" + own + "&$filter=" + url.QueryEscape("tagName eq 'round'"), "/providers/" + strings.TrimSuffix(machines, "/") + version} {
			ids := c.pages(w.SubscriptionPath() + list)
			if c.err != nil {
				t.Fatal(c.err)
			}
			for i, id := range ids {
				ids[i] = strings.ToLower(id)
			}
			same(t, list, ids, want)
		}
		for id, is := range l.holds {
			if c.shows(id, is); c.err != nil {
				t.Fatalf("%s: %v", id, c.err)
			}
		}
	}
}

func same(t *testing.T, who string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s: holds %d, acknowledged were %d\n%v\n%v", who, len(got), len(want), got, want)
	}
}
