package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"portico/test/harness"
)

// What is under way when the last gateways are killed takes longer than that, and
// than any other operation: those that start have to go on with it.
const lastOperation = 4 * time.Second

// farewell is what a client does last, and then nobody touches these resources: no
// later write, and no poll, tells the index what has become of them. One resource
// is left to a PATCH of which nobody hears the end, another to an accepted write
// that nobody waits for. One client instead leaves the group that comes and goes,
// under deletion.
func (c *client) farewell(ctx context.Context) {
	on := c.resources[(3*c.number+1)%len(c.resources)]
	if c.get(ctx, on, c.replica()).Verdict == absent {
		c.put(ctx, on, c.replica(), c.elsewhere(""))
	}
	c.muffle(ctx, on)
	o, r := c.patching(on, c.replica())
	c.call(ctx, o, on, r)
	if on = c.resources[(3*c.number+2)%len(c.resources)]; on.group == groups[fleeting] {
		c.leaveGroup(ctx)
	} else {
		c.leave(ctx, on)
	}
}

// muffle has the provider of a resource carry out the next PATCH of it, but give
// no answer, or none in time.
func (c *client) muffle(ctx context.Context, on resource) {
	faults := []string{"reset-after", "delay=" + longestDelay.String(), "late=" + (latest / 4).String(), "late=" + latest.String()}
	for _, region := range c.site.regions {
		if region.Region == c.hint(on) && plant(ctx, region, http.MethodPatch, on.path(on.name), faults[c.random.IntN(len(faults))], 1) {
			c.count.fault("provider: PATCH without an answer")
		}
	}
}

// plant has a region misbehave on calls whose path has a part, and tells whether
// it will.
func plant(ctx context.Context, region *harness.Contoso, method, part, fault string, count int) bool {
	body := fmt.Sprintf(`{"method":%q,"pathContains":%q,"fault":%q,"count":%d}`, method, part, fault, count)
	a, err := region.Call(ctx, harness.Request{Method: http.MethodPost, Path: "/contoso/faults", Body: body})
	return err == nil && a.Status == http.StatusCreated
}

// leave has a resource deleted, or made or replaced, by an operation whose end
// nobody waits for, and which tells slowly how far it is: whoever follows it is
// likely to be killed at that.
func (c *client) leave(ctx context.Context, on resource) {
	if c.get(ctx, on, c.replica()).Verdict == absent {
		c.put(ctx, on, c.replica(), c.elsewhere(""))
	}
	form := "location"
	o, r := c.removing(on, c.replica())
	if c.random.IntN(3) == 0 {
		form = "accepted"
		o, r = c.putting(on, c.replica(), c.region(on))
	}
	o.Form = form
	r.Header = harness.Header("X-Contoso-Async", form, "X-Contoso-Duration", lastOperation.String(), "X-Contoso-Operation-Path", "resource")
	for _, region := range c.site.regions {
		plant(ctx, region, http.MethodGet, on.path(on.name)+"/operationResults", "slow="+(askTimeout*4/5).String(), 3)
	}
	a, err := c.ask(ctx, o.Replica, r)
	o = c.answered(o, on, a, err)
	if accepted(o, a, err) {
		o.Answer = noEnd
	}
	c.finish(ctx, o)
}

// leaveGroup begins to delete the group that comes and goes.
func (c *client) leaveGroup(ctx context.Context) {
	name := groups[fleeting]
	members := of(name, c.resources)
	etag := c.find(ctx, name, members)
	if etag == "" {
		return
	}
	for _, on := range members {
		c.put(ctx, on, c.replica(), c.elsewhere(""))
		for _, region := range c.site.regions {
			plant(ctx, region, http.MethodDelete, on.path(on.name), "slow="+(callTimeout*9/10+rand.N(callTimeout/20)).String(), 1)
		}
	}
	c.threat(members, threatened, c.clock())
	_, _ = c.beside(ctx, "group", harness.Request{
		Method: http.MethodDelete, Path: groupPath(name) + groupVersion, Header: harness.Header("If-Match", etag),
	})
}
