package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"portico/test/harness"
)

// groupBound limits the wait for the end of a group's delete: open writes end by
// time, and gateways and the store may be down meanwhile.
const groupBound = 45 * time.Second

// group deletes the fleeting group with its resources, recreates it and puts the
// resources back. One time in three it empties the group first. One time in two
// the DELETEs of its resources get no answer and are carried out late: if the
// group's delete ended too early, they would hit the next group. To let that show,
// no client deletes the next group for a while. At most two clients do this at
// once, and the second joins the first one's delete.
//
// The delete names the group's ETag. So a delete without an answer is over once
// the group is written again: it has ended, or the changed ETag refuses it.
func (c *client) group(ctx context.Context) {
	defer c.groupDeleters.Add(-1)
	if c.groupDeleters.Add(1) > 2 || c.clock() < time.Duration(c.noGroupDeleteUntil.Load()) {
		return
	}
	name := groups[fleeting]
	members := of(name, c.resources)
	if etag := c.find(ctx, name, members); etag != "" {
		if c.random.IntN(3) == 0 {
			for _, on := range members {
				c.remove(ctx, on, c.replica())
			}
		}
		if c.random.IntN(2) == 0 {
			c.delay(ctx, name)
		}
		c.deleteGroup(ctx, name, etag, members)
		pause(ctx, time.Duration(c.random.Int64N(int64(100*time.Millisecond))))
	}
	if !c.make(ctx, name) {
		return
	}
	respite := c.clock() + latest
	c.noGroupDeleteUntil.Store(int64(respite))
	for _, on := range members {
		region := c.hint(on) // where it was
		if region == "" {
			region = c.elsewhere("")
		}
		c.put(ctx, on, c.replica(), region)
	}
	pause(ctx, respite-c.clock())
	for _, on := range members {
		c.get(ctx, on, c.replica())
	}
}

// delay makes each region carry out one DELETE in the group late.
func (c *client) delay(ctx context.Context, name string) {
	late := latest/2 + time.Duration(c.random.Int64N(int64(latest/2)))
	for _, region := range c.site.regions {
		if addFault(ctx, region, http.MethodDelete, groupPath(name)+"/", fmt.Sprintf("late=%v", late.Round(time.Millisecond)), 1) {
			c.count.fault("provider: late deletion in a group")
		}
	}
}

// find returns a group's ETag, "" if there is no group or no answer.
func (c *client) find(ctx context.Context, name string, members []resource) string {
	started := c.clock()
	a, err := c.callUnrecorded(ctx, "group", harness.Request{Method: http.MethodGet, Path: groupPath(name) + groupVersion})
	if err != nil {
		return ""
	}
	if a.Status == http.StatusNotFound {
		c.gone(ctx, members, started, a)
	}
	return a.Header.Get("ETag")
}

// make creates or updates a group and retries until that is acknowledged: a group
// under deletion refuses it.
func (c *client) make(ctx context.Context, name string) bool {
	c.groupMakings.Add(1)
	for ctx.Err() == nil {
		a, err := c.callUnrecorded(ctx, "group", putGroup(name, c.values.Add(1)))
		if err == nil && (a.Status == http.StatusOK || a.Status == http.StatusCreated) {
			return true
		}
		pause(ctx, time.Duration(50+c.random.IntN(100))*time.Millisecond)
	}
	return false
}

// deleteGroup deletes a group, waits for the end, and records what that did to the
// group's resources.
func (c *client) deleteGroup(ctx context.Context, name, etag string, members []resource) {
	asking, cancel := ctx, func() {}
	if c.random.IntN(4) == 0 { // a client that does not wait for the answer
		asking, cancel = context.WithTimeout(ctx, time.Duration(c.random.Int64N(int64(10*time.Millisecond))))
	}
	defer cancel()
	started := c.clock()
	a, err := c.callUnrecorded(asking, "group", harness.Request{
		Method: http.MethodDelete, Path: groupPath(name) + groupVersion, Header: harness.Header("If-Match", etag),
	})
	switch {
	case err == nil && (a.Status == http.StatusOK || a.Status == http.StatusNotFound):
		c.gone(ctx, members, started, a)
		c.checkGone(ctx, name, members)
		return
	case err == nil && a.Status < 500 && a.Status != http.StatusAccepted:
		return // refused
	}
	c.threat(members, threatened, started)
	if err == nil && a.Status == http.StatusAccepted && c.ended(ctx, a) {
		c.span(members, operation{Verb: remove, Verdict: vanished, Answer: "202", Call: started, Return: c.clock()})
		c.checkGone(ctx, name, members)
		defer c.checkLeftovers(ctx, members, started)
	} else if !c.make(ctx, name) {
		return // it may go on
	}
	c.threat(members, safe, c.clock())
}

// ended polls an accepted delete of a group and reports whether it was seen to
// succeed. It has no reason to fail or to be forgotten.
func (c *client) ended(ctx context.Context, accepted harness.Answer) bool {
	poll := c.pollOf(accepted)
	if poll == nil {
		c.count.surprise("a group's delete that was accepted without a polling URL")
		return false
	}
	end, deadline := running, c.clock()+groupBound
	for end == running && ctx.Err() == nil && c.clock() < deadline {
		pause(ctx, time.Duration(20+c.random.IntN(100))*time.Millisecond)
		end = poll(ctx)
	}
	text := [...]string{running: "not seen", succeeded: "Succeeded", failed: "Failed", lost: "lost"}[end]
	c.count.note("group", "end of DELETE", text)
	if end == failed || end == lost {
		c.count.surprise("the delete of a group came to this end: " + text)
	}
	return end == succeeded
}

// gone records that a group and its resources were absent at some moment since a
// call.
func (c *client) gone(ctx context.Context, members []resource, started time.Duration, a harness.Answer) {
	c.span(members, operation{Verb: head, Verdict: absent, Answer: describe(a), Call: started, Return: c.clock()})
	c.checkLeftovers(ctx, members, started)
}

// checkGone reads a resource of a deleted group through each replica: until the group
// is made anew, each says that it is the group that is gone, whatever it remembers.
func (c *client) checkGone(ctx context.Context, name string, members []resource) {
	makings := c.groupMakings.Load()
	on := members[c.random.IntN(len(members))]
	for replica := range c.site.gateways {
		a, err := c.ask(ctx, replica, harness.Request{Method: http.MethodGet, Path: on.path(on.name) + version})
		if err != nil || a.Status >= 500 {
			continue
		}
		c.count.note("group", "read what went with it", describe(a))
		// A making that was given up may still have come.
		group, err := c.ask(ctx, replica, harness.Request{Method: http.MethodGet, Path: groupPath(name) + groupVersion})
		if err == nil && group.Status == http.StatusNotFound && c.groupMakings.Load() == makings && a.ErrorCode() != "ResourceGroupNotFound" {
			c.count.surprise(fmt.Sprintf("the group has gone, and gateway %d says of %s: %d %s", replica, on.key(), a.Status, a.Body))
		}
	}
}

func (c *client) threat(members []resource, is verdict, at time.Duration) {
	c.span(members, operation{Verb: remove, Verdict: is, Call: at, Return: at})
}

// span records an operation for each resource of a group.
func (c *client) span(members []resource, o operation) {
	o.Client, o.Replica, o.Form = c.number, noReplica, withGroup
	for _, on := range members {
		o.Resource = on.key()
		c.history.add(o)
	}
}

// withGroup is the form of operations that follow from a call for the group.
const withGroup = "with its group"

// checkLeftovers looks at the providers directly for resources that a deleted group
// left behind: values whose write ended before the group's delete was called.
// Later values may belong to the next group of that name.
func (c *client) checkLeftovers(ctx context.Context, members []resource, started time.Duration) {
	for _, region := range c.site.regions {
		a, err := region.Call(ctx, harness.Request{Method: http.MethodGet, Path: "/contoso/resources"})
		var list struct {
			Value []string `json:"value"`
		}
		if err != nil || json.Unmarshal(a.Body, &list) != nil { // it is down
			continue
		}
		c.count.note("group", "looked for what it left", "200")
		for _, on := range members {
			if !slices.ContainsFunc(list.Value, on.is) {
				continue
			}
			a, err := region.Call(ctx, harness.Request{Method: http.MethodGet, Path: on.path(on.name) + version})
			if err != nil || a.Status != http.StatusOK {
				continue
			}
			if at, err := contentOf(a); err == nil && c.history.written(at.value, started) {
				c.count.surprise(fmt.Sprintf("the group has gone, %s still holds %s: %s", region.Region, on.key(), a.Body))
			}
		}
	}
}
