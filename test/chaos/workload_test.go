package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"portico/test/harness"
)

// Clients choose resources from a window that moves over all of them, so that
// several clients meet at each.
const (
	windowSize = 6
	windowTime = 6 * time.Second
)

// Lengths of asynchronous operations.
const (
	shortestOperation = 50 * time.Millisecond
	longestOperation  = 900 * time.Millisecond
)

// The forms of asynchronous writes; "" is a synchronous one, the most common.
var (
	putForms    = []string{"", "", "", "", "state", "azure-async", "accepted", "accepted-async"}
	removeForms = []string{"", "", "", "", "location", "azure-async", "azure-async-only", "no-url"}
	patchForms  = []string{"", "", "location", "no-url"}
)

// work acts until all writes were sent or ctx ends.
func (c *client) work(ctx context.Context) {
	for ctx.Err() == nil && c.writes.Load() < c.total {
		c.act(ctx)
		pause(ctx, time.Duration(c.random.Int64N(int64(2*c.pace))))
	}
	c.finalWrites(ctx)
}

// act does one random thing.
func (c *client) act(ctx context.Context) {
	if c.groupDeleteWanted.CompareAndSwap(true, false) {
		c.group(ctx)
		return
	}
	on := c.choose()
	switch n := c.random.IntN(100); {
	case n < 3:
		c.batch(ctx)
	case n < 25:
		c.put(ctx, on, c.replica(), c.region(on))
	case n < 37:
		c.remove(ctx, on, c.replica())
	case n < 57:
		c.relocate(ctx, on)
	case n < 63:
		c.patch(ctx, on)
	case n < 67:
		c.child(ctx)
	case n < 69:
		c.group(ctx)
	case n < 86:
		c.get(ctx, on, c.replica())
	default:
		c.head(ctx, on, c.replica())
	}
}

// choose chooses a resource, most often from the window.
func (c *client) choose() resource { return c.resources[c.oneOf()] }

func (c *client) oneOf() int {
	n := c.random.IntN(len(c.resources))
	if c.random.IntN(10) < 8 {
		n = int(c.clock()/windowTime)*windowSize + c.random.IntN(windowSize)
	}
	return n % len(c.resources)
}

// region chooses the region for a PUT, most often the one that has the resource.
func (c *client) region(on resource) string {
	if known := c.hint(on); known != "" && c.random.IntN(10) < 7 {
		return known
	}
	return c.elsewhere("")
}

// elsewhere chooses any region but one.
func (c *client) elsewhere(but string) string {
	for {
		if region := harness.RegionNames()[c.random.IntN(len(harness.RegionNames()))]; region != but {
			return region
		}
	}
}

// casing writes the name of a resource in one of several ways.
func (c *client) casing(on resource) string {
	switch c.random.IntN(8) {
	case 0:
		return strings.ToUpper(on.name)
	case 1:
		return strings.ToLower(on.name)
	}
	return on.name
}

// form chooses how a write is carried out, and returns the headers for it.
func (c *client) form(forms []string) (string, http.Header) {
	form := forms[c.random.IntN(len(forms))]
	if form == "" {
		return "", nil
	}
	length := shortestOperation + time.Duration(c.random.Int64N(int64(longestOperation-shortestOperation)))
	places := []string{"locations", "provider", "resource"}
	return form, harness.Header("X-Contoso-Async", form, "X-Contoso-Duration", length.String(),
		"X-Contoso-Operation-Path", places[c.random.IntN(len(places))])
}

// putting, removing, patching and reading return an operation and its request.
func (c *client) putting(on resource, replica int, region string) (operation, harness.Request) {
	c.writes.Add(1)
	value := c.values.Add(1)
	form, header := c.form(putForms)
	o := c.begin(put, on, replica)
	o.Region, o.Value, o.Form = region, value, form
	return o, harness.Request{
		Method: http.MethodPut, Path: on.path(c.casing(on)) + version, Header: header,
		Body: fmt.Sprintf(`{"location":%q,"properties":{"value":%d}}`, region, value),
	}
}

func (c *client) removing(on resource, replica int) (operation, harness.Request) {
	c.writes.Add(1)
	form, header := c.form(removeForms)
	o := c.begin(remove, on, replica)
	o.Form = form
	return o, harness.Request{Method: http.MethodDelete, Path: on.path(c.casing(on)) + version, Header: header}
}

func (c *client) patching(on resource, replica int) (operation, harness.Request) {
	c.writes.Add(1)
	form, header := c.form(patchForms)
	o := c.begin(patch, on, replica)
	o.Form = form
	return o, harness.Request{
		Method: http.MethodPatch, Path: on.path(c.casing(on)) + version, Header: header,
		Body: fmt.Sprintf(`{"tags":{"patched":"%d"}}`, c.values.Add(1)),
	}
}

func (c *client) reading(v verb, on resource, replica int) (operation, harness.Request) {
	return c.begin(v, on, replica), harness.Request{Method: v.String(), Path: on.path(c.casing(on)) + version}
}

func (c *client) put(ctx context.Context, on resource, replica int, region string) operation {
	o, r := c.putting(on, replica, region)
	return c.call(ctx, o, on, r)
}

func (c *client) remove(ctx context.Context, on resource, replica int) operation {
	o, r := c.removing(on, replica)
	return c.call(ctx, o, on, r)
}

// patch changes a resource's tag. One time in three its answer is lost.
func (c *client) patch(ctx context.Context, on resource) operation {
	if c.random.IntN(3) == 0 {
		c.losePatchAnswer(ctx, on)
	}
	o, r := c.patching(on, c.replica())
	return c.call(ctx, o, on, r)
}

func (c *client) get(ctx context.Context, on resource, replica int) operation {
	o, r := c.reading(get, on, replica)
	return c.call(ctx, o, on, r)
}

func (c *client) head(ctx context.Context, on resource, replica int) operation {
	o, r := c.reading(head, on, replica)
	return c.call(ctx, o, on, r)
}

// call sends an operation and waits for its end.
func (c *client) call(ctx context.Context, o operation, on resource, r harness.Request) operation {
	a, err := c.ask(ctx, o.Replica, r)
	o = c.answered(o, on, a, err)
	if accepted(o, a, err) {
		o = c.follow(ctx, o, on, a)
	}
	return c.finish(ctx, o)
}

// answered completes an operation with its answer.
func (c *client) answered(o operation, on resource, a harness.Answer, err error) operation {
	if !o.Verb.writes() {
		return c.read(o, on, a, err)
	}
	o = c.written(o, on, a, err)
	if o.Verdict == created || o.Verdict == replaced {
		c.remember(on, o.Region)
	}
	return o
}

// accepted reports whether the answer began an operation to be polled.
func accepted(o operation, a harness.Answer, err error) bool {
	return err == nil && a.Status == http.StatusAccepted && o.Verb != patch
}

// relocate deletes a resource, waits for the end, and creates it in another region
// at once, through any replica. One time in two another replica reads the resource
// first, so that it remembers the old region, and reads it again afterwards.
func (c *client) relocate(ctx context.Context, on resource) {
	from := c.hint(on)
	deleter, creator, reader := c.replica(), c.replica(), c.replica()
	if c.random.IntN(2) == 0 {
		deleter, creator = reader+1, reader+1
		c.get(ctx, on, reader)
	}
	switch c.remove(ctx, on, deleter).Verdict {
	case removed, vanished, wasAbsent:
		c.put(ctx, on, creator, c.elsewhere(from))
		if c.random.IntN(3) > 0 {
			c.get(ctx, on, reader)
		} else {
			c.head(ctx, on, reader)
		}
	}
}

// child writes a resource below a machine. It is deleted with its parent, so it is
// not part of the history, only of the comparison at the end.
func (c *client) child(ctx context.Context) {
	n := c.oneOf()
	on := c.resources[n-n%len(types)] // a machine, the first of types
	c.writes.Add(1)
	r := harness.Request{Method: http.MethodPut, Path: on.path(on.name) + "/disks/data" + version, Body: `{"properties":{"sizeGB":1}}`}
	if c.random.IntN(3) == 0 {
		r.Method, r.Body = http.MethodDelete, ""
	}
	_, _ = c.callUnrecorded(ctx, "child", r)
}

// callUnrecorded makes a call of any replica that is not part of a history. An
// error means that there was no answer.
func (c *client) callUnrecorded(ctx context.Context, what string, r harness.Request) (harness.Answer, error) {
	a, err := c.ask(ctx, c.replica(), r)
	if err != nil {
		c.count.note(what, r.Method, noAnswer)
		return a, err
	}
	c.surprising(what+" "+r.Method, a)
	c.count.note(what, r.Method, describe(a))
	return a, nil
}
