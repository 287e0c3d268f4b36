package outage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// kind is what a call asks for, in the words of the page.
type kind string

const (
	readResource  kind = "GET of a resource"
	readGroup     kind = "GET of a group"
	listResources kind = "list of a group's resources, from their regions"
	listIndex     kind = "list of a group's resources, from the index"
	readRole      kind = "GET of a role assignment"
	listRoles     kind = "list of role assignments"
	putNew        kind = "PUT of a new resource"
	putExisting   kind = "PUT of an existing resource"
	putAccepted   kind = "PUT that is accepted"
	deleteOne     kind = "DELETE of a resource"
	putRole       kind = "PUT of a role assignment"
	deleteRole    kind = "DELETE of a role assignment"
	poll          kind = "poll of an operation"
	pollGroup     kind = "poll of a group's deletion"
	unassigned    kind = "GET without a role"
	revoked       kind = "GET after its role was taken away"
	revokedLast   kind = "GET after its role was taken away right before"
	ready         kind = "/readyz"
	healthy       kind = "/healthz"
)

// Kinds by what they need. All that change something ask the store first.
var (
	reads  = []kind{readResource, readGroup, listResources, listIndex, readRole, listRoles}
	writes = []kind{putNew, putExisting, putAccepted, deleteOne, putRole, deleteRole}
	polls  = []kind{poll, pollGroup}
	denied = []kind{unassigned, revoked, revokedLast}
)

// gatewayCount is how many gateways there are.
const gatewayCount = 2

// callers send calls to a site until they are stopped.
type callers struct {
	*site
	*journal
	*ledger
	think time.Duration // between two calls of one caller
	// deletions are where the deletions of groups are polled, as paths.
	deletions [gatewayCount]chan string
	// withoutRole is when all gateways knew that early has no role.
	withoutRole time.Duration

	stop chan struct{}
	wait sync.WaitGroup
}

func newCallers(s *site, think time.Duration) *callers {
	c := &callers{site: s, journal: &journal{began: time.Now()}, ledger: newLedger(), think: think, stop: make(chan struct{})}
	for i := range c.deletions {
		c.deletions[i] = make(chan string, 16)
	}
	return c
}

// start begins to call, at each gateway in each way.
func (c *callers) start(t *testing.T) {
	for g := range gatewayCount {
		for _, step := range []func(){
			c.readsInTurn(g), c.reader(g, readGroup, rita, group(estate)+groupVersion),
			c.reader(g, listResources, rita, group(estate)+"/providers/Contoso.Compute/virtualMachines"+version),
			c.reader(g, listIndex, rita, group(estate)+"/resources"+groupVersion),
			c.reader(g, readRole, anna, assignment(group(assignments), annasRole)+roleVersion),
			c.reader(g, listRoles, anna, group(assignments)+"/providers/Microsoft.Authorization/roleAssignments"+roleVersion),
			c.reader(g, unassigned, noah, read(0)+version),
			c.reader(g, revoked, early, secret+version),
			c.reader(g, revokedLast, lastTime, secret+version),
			c.maker(g), c.updater(g), c.remover(g), c.assigner(g), c.groupPoller(g),
			c.prober(g, ready), c.prober(g, healthy),
		} {
			c.loop(step)
		}
		accepted := make(chan operation, 1<<16)
		c.wait.Go(func() { c.acceptAll(g, accepted) })
		c.wait.Go(func() { c.pollAll(t, g, accepted) })
	}
}

// loop makes calls until they are to end. Those under way come to their end.
func (c *callers) loop(step func()) {
	c.wait.Go(func() {
		for !c.stopped() {
			step()
			c.pause()
		}
	})
}

func (c *callers) stopped() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

func (c *callers) pause() {
	select {
	case <-c.stop:
	case <-time.After(c.think):
	}
}

// end lets all calls come to their end.
func (c *callers) end() {
	close(c.stop)
	c.wait.Wait()
}

// send makes a call and notes it. Without an answer its status is 0.
func (c *callers) send(g int, k kind, by principal, method, path, content string, header ...string) harness.Answer {
	r := harness.Request{Method: method, Path: path, Body: content, Header: c.signedIn(by)}
	maps.Copy(r.Header, harness.Header(header...))
	return c.note(g, k, func(ctx context.Context) (harness.Answer, error) { return c.gateways[g].Try(ctx, r) })
}

func (c *callers) note(g int, k kind, try func(context.Context) (harness.Answer, error)) harness.Answer {
	one := call{kind: k, gateway: g, began: c.now()}
	a, err := try(context.Background()) // a call under way comes to its end, whatever the test does
	one.ended = c.now()
	if err == nil {
		one.status, one.code, one.pause = a.Status, a.ErrorCode(), a.Header.Get("Retry-After") != ""
	}
	c.journal.add(one)
	return a
}

func (c *callers) reader(g int, k kind, by principal, path string) func() {
	return func() { c.send(g, k, by, http.MethodGet, path, "") }
}

func (c *callers) readsInTurn(g int) func() {
	n := 0
	return func() {
		c.send(g, readResource, rita, http.MethodGet, read(n)+version, "")
		n++
	}
}

func (c *callers) prober(g int, k kind) func() {
	return func() {
		c.note(g, k, func(ctx context.Context) (harness.Answer, error) {
			return c.gateways[g].TryAdmin(ctx, harness.Request{Path: string(k)})
		})
	}
}

func acknowledged(a harness.Answer) bool { return a.Status >= 200 && a.Status < 300 }

// maker makes resources, each until that is acknowledged.
func (c *callers) maker(g int) func() {
	n := 0
	return func() {
		c.pause() // less often than others: all of them are looked for at the end
		id := machine(createGroup, fmt.Sprintf("new-%d-%d", g, n))
		c.resource(id, open)
		if acknowledged(c.send(g, putNew, walt, http.MethodPut, id+version, body(n))) {
			c.resource(id, there)
			n++
		}
	}
}

// updater gives a resource one number after the other.
func (c *callers) updater(g int) func() {
	n, id := 0, updated(g)
	return func() {
		n++
		content := fmt.Sprintf(`{"location":"westus","tags":{"n":"%d"}}`, n)
		if acknowledged(c.send(g, putExisting, walt, http.MethodPut, id+version, content)) {
			c.tag(id, n)
		}
	}
}

// remover makes and deletes resources.
func (c *callers) remover(g int) func() {
	return c.turnover(c.resource,
		func(n int) string { return machine(createGroup, fmt.Sprintf("gone-%d-%d", g, n)) },
		func(id string, n int) harness.Answer {
			return c.send(g, putNew, walt, http.MethodPut, id+version, body(n))
		},
		func(id string) harness.Answer { return c.send(g, deleteOne, walt, http.MethodDelete, id+version, "") })
}

// annasRole is the name of the assignment by which anna assigns roles.
var annasRole = assignmentName(anna, group(assignments))

// assigner assigns and takes away roles.
func (c *callers) assigner(g int) func() {
	name := func(n int) string { return fmt.Sprintf("00000000-0000-0000-000%d-%012d", g+1, n) }
	return c.turnover(c.role,
		func(n int) string { return assignment(group(assignments), name(n)) },
		func(id string, n int) harness.Answer {
			return c.send(g, putRole, anna, http.MethodPut, id+roleVersion, roleBody(principal(name(n)), reader))
		},
		func(id string) harness.Answer {
			return c.send(g, deleteRole, anna, http.MethodDelete, id+roleVersion, "")
		})
}

// stock is how many things a turnover leaves.
const stock = 2

// turnover makes one thing after the other, each until that is acknowledged, and deletes the
// oldest in the same way. It leaves a stock, so that there is one to delete when none can be
// made.
func (c *callers) turnover(note func(string, outcome), id func(int) string, create func(string, int) harness.Answer, remove func(string) harness.Answer) func() {
	created, removed := 0, 0
	return func() {
		next := id(created)
		note(next, open)
		if acknowledged(create(next, created)) {
			note(next, there)
			if created++; created-removed <= stock {
				return
			}
		}
		if created == removed {
			return
		}
		oldest := id(removed)
		note(oldest, open)
		if acknowledged(remove(oldest)) {
			note(oldest, gone)
			removed++
		}
	}
}

// operation is one that a caller has to poll.
type operation struct {
	resource, path string
	accepted       time.Duration
}

// runs is how long an operation takes.
const runs = 2 * time.Second

// acceptAll makes resources by operations, until calls are to end.
func (c *callers) acceptAll(g int, accepted chan<- operation) {
	defer close(accepted)
	for n := 0; !c.stopped(); c.pause() {
		id := machine(createGroup, fmt.Sprintf("accepted-%d-%d", g, n))
		c.resource(id, open)
		a := c.send(g, putAccepted, walt, http.MethodPut, id+version, body(n), "X-Contoso-Async", "accepted", "X-Contoso-Duration", runs.String())
		if at, err := url.Parse(a.Header.Get("Location")); acknowledged(a) && err == nil {
			accepted <- operation{id, at.RequestURI(), c.now()}
			n++
		}
		c.pause() // less often than others: each is also polled
	}
}

// pollAll polls each operation to its end, the oldest first.
func (c *callers) pollAll(t *testing.T, g int, accepted <-chan operation) {
	for o := range accepted {
		for end := time.Now().Add(bound); ; time.Sleep(c.think) {
			a := c.send(g, poll, walt, http.MethodGet, o.path, "")
			if a.ErrorCode() == notRecorded {
				c.lose(o.accepted)
			}
			if a.ErrorCode() == notRecorded || acknowledged(a) && a.Status != http.StatusAccepted {
				c.resource(o.resource, there)
				break
			}
			if time.Now().After(end) {
				t.Errorf("the operation that makes %s has not ended within %v: %d %s", o.resource, bound, a.Status, a.Body)
				break
			}
		}
	}
}

// notRecorded is what polls of an operation are told that the store knows nothing of, unless
// the caller may poll all operations of the subscription.
const notRecorded = "AuthorizationFailed"

// groupPoller polls the deletions of groups, each to its end.
func (c *callers) groupPoller(g int) func() {
	path := ""
	return func() {
		if path == "" {
			select {
			case path = <-c.deletions[g]:
			default:
				return
			}
		}
		if a := c.send(g, pollGroup, owner, http.MethodGet, path, ""); acknowledged(a) && a.Status != http.StatusAccepted {
			path = ""
		}
	}
}

// idsOf are the ids in a list's page.
func idsOf(a harness.Answer) (ids []string, next string, err error) {
	var page struct {
		Value    []struct{ ID string }
		NextLink string
	}
	if err := json.Unmarshal(a.Body, &page); err != nil {
		return nil, "", fmt.Errorf("%w: %s", err, a.Body)
	}
	for _, e := range page.Value {
		ids = append(ids, e.ID)
	}
	return ids, page.NextLink, nil
}
