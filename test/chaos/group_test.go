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

// groupBound is for the end of a group's delete: what was sent for it, and what
// clients had sent, ends by time, and gateways and the store are down meanwhile.
const groupBound = 45 * time.Second

// group deletes the group that comes and goes with what it holds, makes it anew
// and puts into it what it held. One time in three it is emptied first; one time
// in two the next calls by which its resources are deleted get no answer and are
// carried out late: if the group were let go before, they would hit the next one.
// So that it shows, nobody deletes that for a while. Two clients at most do this
// at once: one joins the other's delete then.
//
// The delete names the ETag that it found. So a delete without an answer is over
// at the latest when the group was written to: either it has ended by then, or
// the ETag is another and it cannot begin any more.
func (c *client) group(ctx context.Context) {
	defer c.dissolving.Add(-1)
	if c.dissolving.Add(1) > 2 || c.clock() < time.Duration(c.respite.Load()) {
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
		c.dissolve(ctx, name, etag, members)
		pause(ctx, time.Duration(c.random.Int64N(int64(100*time.Millisecond))))
	}
	if !c.make(ctx, name) {
		return
	}
	respite := c.clock() + latest
	c.respite.Store(int64(respite))
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

// delay has each region carry out one deletion in a group late.
func (c *client) delay(ctx context.Context, name string) {
	late := latest/2 + time.Duration(c.random.Int64N(int64(latest/2)))
	for _, region := range c.site.regions {
		if plant(ctx, region, http.MethodDelete, groupPath(name)+"/", fmt.Sprintf("late=%v", late.Round(time.Millisecond)), 1) {
			c.count.fault("provider: late deletion in a group")
		}
	}
}

// find gives a group's ETag, "" where there is no group, or no answer.
func (c *client) find(ctx context.Context, name string, members []resource) string {
	begun := c.clock()
	a, err := c.beside(ctx, "group", harness.Request{Method: http.MethodGet, Path: groupPath(name) + groupVersion})
	if err != nil {
		return ""
	}
	if a.Status == http.StatusNotFound {
		c.gone(ctx, members, begun, a)
	}
	return a.Header.Get("ETag")
}

// make writes to a group, after making it if it is not there, until that is
// acknowledged. While it is being deleted that is refused.
func (c *client) make(ctx context.Context, name string) bool {
	for ctx.Err() == nil {
		a, err := c.beside(ctx, "group", putGroup(name, c.values.Add(1)))
		if err == nil && (a.Status == http.StatusOK || a.Status == http.StatusCreated) {
			return true
		}
		pause(ctx, time.Duration(50+c.random.IntN(100))*time.Millisecond)
	}
	return false
}

// dissolve deletes a group, sees to the end of that, and records what it did to
// the group's resources.
func (c *client) dissolve(ctx context.Context, name, etag string, members []resource) {
	asking, cancel := ctx, func() {}
	if c.random.IntN(4) == 0 { // a client that does not wait for the answer
		asking, cancel = context.WithTimeout(ctx, time.Duration(c.random.Int64N(int64(10*time.Millisecond))))
	}
	defer cancel()
	begun := c.clock()
	a, err := c.beside(asking, "group", harness.Request{
		Method: http.MethodDelete, Path: groupPath(name) + groupVersion, Header: harness.Header("If-Match", etag),
	})
	switch {
	case err == nil && (a.Status == http.StatusOK || a.Status == http.StatusNotFound):
		c.gone(ctx, members, begun, a)
		return
	case err == nil && a.Status < 500 && a.Status != http.StatusAccepted:
		return // refused
	}
	c.threat(members, threatened, begun)
	if err == nil && a.Status == http.StatusAccepted && c.ended(ctx, a) {
		c.span(members, operation{Verb: remove, Verdict: vanished, Answer: "202", Call: begun, Return: c.clock()})
		defer c.behind(ctx, members, begun)
	} else if !c.make(ctx, name) {
		return // it may go on
	}
	c.threat(members, safe, c.clock())
}

// ended follows the delete of a group that was accepted, and tells whether it was
// seen to succeed. Nothing here gives it a reason to fail, or to be forgotten.
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

// gone records that a group, and so each of its resources, was not there at some
// moment since a call.
func (c *client) gone(ctx context.Context, members []resource, begun time.Duration, a harness.Answer) {
	c.span(members, operation{Verb: head, Verdict: absent, Answer: describe(a), Call: begun, Return: c.clock()})
	c.behind(ctx, members, begun)
}

func (c *client) threat(members []resource, is verdict, at time.Duration) {
	c.span(members, operation{Verb: remove, Verdict: is, Call: at, Return: at})
}

// span records something of each of a group's resources.
func (c *client) span(members []resource, o operation) {
	o.Client, o.Replica, o.Form = c.number, noReplica, withGroup
	for _, on := range members {
		o.Resource = on.key()
		c.history.add(o)
	}
}

// withGroup is the form of what comes of calls for the group.
const withGroup = "with its group"

// behind looks at the providers, past the gateways, for what a group that has
// gone has left behind: a value whose write had ended before the call for which
// the group was said to be gone. What was written later may be of the next group
// of that name.
func (c *client) behind(ctx context.Context, members []resource, begun time.Duration) {
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
			if at, err := contentOf(a); err == nil && c.history.written(at.value, begun) {
				c.count.surprise(fmt.Sprintf("the group has gone, %s still holds %s: %s", region.Region, on.key(), a.Body))
			}
		}
	}
}
