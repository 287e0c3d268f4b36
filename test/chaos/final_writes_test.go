package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"portico/test/harness"
)

// lastOperation is longer than any other operation and than the last kill of the
// gateways: the restarted gateways must continue these operations.
const lastOperation = 4 * time.Second

// finalWrites leaves two resources with unfinished writes that no client touches
// again: no later write and no poll shows the index how they ended. One gets a
// PATCH whose answer is lost, the other an accepted write that is not polled. If
// the second is in the fleeting group, its client begins to delete that instead.
func (c *client) finalWrites(ctx context.Context) {
	on := c.resources[(3*c.number+1)%len(c.resources)]
	if c.get(ctx, on, c.replica()).Verdict == absent {
		c.put(ctx, on, c.replica(), c.elsewhere(""))
	}
	c.losePatchAnswer(ctx, on)
	o, r := c.patching(on, c.replica())
	c.call(ctx, o, on, r)
	if on = c.resources[(3*c.number+2)%len(c.resources)]; on.group == groups[fleeting] {
		c.leaveGroupDelete(ctx)
	} else {
		c.leaveRunning(ctx, on)
	}
}

// losePatchAnswer makes the provider carry out the next PATCH of a resource but
// answer too late or not at all.
func (c *client) losePatchAnswer(ctx context.Context, on resource) {
	faults := []string{"reset-after", "delay=" + longestDelay.String(), "late=" + (latest / 4).String(), "late=" + latest.String()}
	for _, region := range c.site.regions {
		if region.Region == c.hint(on) && addFault(ctx, region, http.MethodPatch, on.path(on.name), faults[c.random.IntN(len(faults))], 1) {
			c.count.fault("provider: PATCH without an answer")
		}
	}
}

// addFault gives a region a fault for calls whose path contains part. It reports
// whether the region took it.
func addFault(ctx context.Context, region *harness.Contoso, method, part, fault string, count int) bool {
	body := fmt.Sprintf(`{"method":%q,"pathContains":%q,"fault":%q,"count":%d}`, method, part, fault, count)
	a, err := region.Call(ctx, harness.Request{Method: http.MethodPost, Path: "/contoso/faults", Body: body})
	return err == nil && a.Status == http.StatusCreated
}

// leaveRunning deletes or writes a resource by an operation that no client polls.
// The provider answers its polls slowly, so that the gateway that follows it is
// likely to be killed meanwhile.
func (c *client) leaveRunning(ctx context.Context, on resource) {
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
		addFault(ctx, region, http.MethodGet, on.path(on.name)+"/operationResults", "slow="+(askTimeout*4/5).String(), 3)
	}
	a, err := c.ask(ctx, o.Replica, r)
	o = c.answered(o, on, a, err)
	if accepted(o, a, err) {
		o.Answer = noEnd
	}
	c.finish(ctx, o)
}

// leaveGroupDelete begins to delete the fleeting group.
func (c *client) leaveGroupDelete(ctx context.Context) {
	name := groups[fleeting]
	members := of(name, c.resources)
	etag := c.find(ctx, name, members)
	if etag == "" {
		return
	}
	for _, on := range members {
		c.put(ctx, on, c.replica(), c.elsewhere(""))
		for _, region := range c.site.regions {
			addFault(ctx, region, http.MethodDelete, on.path(on.name), "slow="+(callTimeout*9/10+rand.N(callTimeout/20)).String(), 1)
		}
	}
	c.threat(members, threatened, c.clock())
	_, _ = c.callUnrecorded(ctx, "group", harness.Request{
		Method: http.MethodDelete, Path: groupPath(name) + groupVersion, Header: harness.Header("If-Match", etag),
	})
}
