package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"portico/test/harness"
)

const version = "?api-version=" + harness.Version

// patience is the longest that a client waits for an answer.
const patience = 8 * time.Second

// run is the state that all clients of a run share.
type run struct {
	site                *site
	clock               func() time.Duration
	history             history
	count               counts
	resources           []resource
	subscriptionClients []*subscriptionClient
	consumer            *consumer
	values              atomic.Int64 // the last one given to a PUT
	writes              atomic.Int64 // sent so far
	total               int64        // of writes

	noGroupDeleteUntil atomic.Int64 // until when no group is deleted
	groupDeleters      atomic.Int64 // clients that delete a group
	groupMakings       atomic.Int64 // begun so far
	groupDeleteWanted  atomic.Bool  // that one more does
	pace               time.Duration
	staleReads         int // histories checked again with a stale read

	staleGroupReads int           // and with one after the delete of the resource's group
	longestCheck    time.Duration // check of one history

	mu    sync.Mutex
	hints map[string]string // where a resource was last seen, by key
}

func (r *run) hint(of resource) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hints[of.key()]
}

func (r *run) remember(of resource, region string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hints[of.key()] = region
}

// client is one of several concurrent clients. It does one thing at a time.
type client struct {
	*run
	number int
	random *rand.Rand
}

// ask makes one call of a replica. An error means that there was no answer.
func (c *client) ask(ctx context.Context, replica int, r harness.Request) (harness.Answer, error) {
	limit := patience
	if c.random.IntN(20) == 0 { // an impatient client
		limit = 500*time.Millisecond + rand.N(time.Second)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	gateway := c.site.gateways[replica%len(c.site.gateways)]
	if strings.HasPrefix(r.Path, "/admin/") {
		return gateway.TryAdmin(ctx, r)
	}
	a, err := gateway.Try(ctx, r)
	if err == nil && mustBeReported(r, a) {
		c.consumer.promise(r, a)
	}
	return a, err
}

// replica chooses a replica at random.
func (c *client) replica() int { return c.random.IntN(len(c.site.gateways)) }

// noReplica marks operations that belong to no single replica.
const noReplica = -1

// begin starts an operation now.
func (c *client) begin(v verb, on resource, replica int) operation {
	if replica != noReplica {
		replica %= len(c.site.gateways)
	}
	return operation{Resource: on.key(), Client: c.number, Replica: replica, Verb: v, Call: c.clock()}
}

// finish records an operation that ends now for the client.
func (c *client) finish(ctx context.Context, o operation) operation {
	o = c.record(o, c.clock())
	if o.Verdict == nothing { // let stopped processes come back
		pause(ctx, 100*time.Millisecond)
	}
	return o
}

// record adds an operation to the history that ended for the client at a moment.
func (c *client) record(o operation, at time.Duration) operation {
	o.Return = at
	if o.Verdict == open {
		switch o.Answer {
		case noAnswer:
			o.Return = o.Call + effectBound
		case noEnd:
			o.Return = o.Call + endless
		case outcomeUnknown:
			o.Return += effectBound
		default:
			o.Return += landBound
		}
	}
	c.history.add(o)
	c.count.operation(o)
	return o
}

const (
	noAnswer = "no answer"
	// noEnd: it may be carried out until the end of the run. Its batch may have been
	// taken or not, or it was one of the client's final writes.
	noEnd = "no end was seen"
)

const endless = time.Hour

// unanswered classifies a call without an answer.
func unanswered(err error) (verdict, string) {
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		return nothing, "no connection"
	}
	return open, noAnswer
}

func describe(a harness.Answer) string {
	text := fmt.Sprint(a.Status)
	if code := a.ErrorCode(); code != "" {
		text += " " + code
	}
	if cause := a.Header.Get("X-Ms-Failure-Cause"); cause != "" {
		text += " by " + cause
	}
	return text
}

func byGateway(a harness.Answer) bool { return a.Header.Get("X-Ms-Failure-Cause") == "gateway" }

// undone classifies an answer that is no success: nothing was done, or that is
// open.
func undone(a harness.Answer) verdict {
	switch {
	case a.Status == http.StatusServiceUnavailable && byGateway(a):
		return nothing // nothing was sent
	case a.Status == http.StatusRequestTimeout || a.Status >= http.StatusInternalServerError:
		return open
	}
	return nothing
}

// expected are the refusals that a client may get, by status and code. Any other
// is a bug.
var expected = map[string]bool{
	"409 Conflict":                   true, // it is not known whether it still stands elsewhere
	"409 ResourceBeingDeleted":       true,
	"409 AnotherOperationInProgress": true,
	"409 OperationPreempted":         true,
	"409 InvalidResourceLocation":    true,
	"409 ResourceGroupBeingDeleted":  true,
	"412 PreconditionFailed":         true, // the group has been written to since
	"404 ResourceNotFound":           true,
	"404 ResourceGroupNotFound":      true,
	"404 ParentResourceNotFound":     true,
	"409 ParentResourceBeingDeleted": true,
	"429 TooManyRequests":            true,
	"503 ContosoFault":               true,
	"503 ServerTimeout":              true,
	"503 ServiceUnavailable":         true, // a region of several did not say
	"502 BadGatewayConnection":       true,
	"503 BadGatewayConnection":       true, // no address of the region can be reached
	"504 GatewayTimeout":             true,
}

// surprising notes an answer that no client should get. also lists refusals that
// only this call may get.
func (c *client) surprising(what string, a harness.Answer, also ...string) {
	answer := fmt.Sprint(a.Status, " ", a.ErrorCode())
	if a.Status < 400 || a.Request.Method == http.MethodHead || expected[answer] || lies(a) || slices.Contains(also, answer) {
		return
	}
	c.count.surprise(fmt.Sprintf("%s %s: %s: %s", what, a.Request.Path, describe(a), a.Body))
}

// contentOf reads the resource in an answer.
func contentOf(a harness.Answer) (content, error) {
	var body struct {
		Location   string `json:"location"`
		Properties struct {
			Value int64 `json:"value"`
		} `json:"properties"`
	}
	err := json.Unmarshal(a.Body, &body)
	return content{body.Location, body.Properties.Value}, err
}

// written completes an operation with the answer of a write.
func (c *client) written(o operation, on resource, a harness.Answer, err error) operation {
	if err != nil {
		o.Verdict, o.Answer = unanswered(err)
		return o
	}
	o.Answer = describe(a)
	c.surprising(o.Verb.String(), a)
	switch {
	case a.Status == http.StatusAccepted:
		o.Verdict = open // unless its end is seen
	case o.Verb == put && a.Status == http.StatusCreated:
		o.Verdict = created
	case o.Verb == put && a.Status == http.StatusOK:
		o.Verdict = replaced
	case o.Verb == put && a.Status == http.StatusConflict && a.ErrorCode() == "InvalidResourceLocation":
		o.Verdict = elsewhere
	case o.Verb == remove && a.Status == http.StatusOK:
		o.Verdict = removed
	case o.Verb == remove && a.Status == http.StatusNoContent:
		o.Verdict = wasAbsent
	case o.Verb == patch && a.Status < 400:
		o = c.shown(o, on, a)
	case o.Verb == patch && a.Status == http.StatusNotFound && !lies(a):
		o.Verdict = absent
	default:
		o.Verdict = undone(a)
	}
	return o
}

// read completes an operation with the answer of a read.
func (c *client) read(o operation, on resource, a harness.Answer, err error) operation {
	if err != nil {
		o.Verdict, o.Answer = unanswered(err)
		return o
	}
	o.Answer = describe(a)
	c.surprising(o.Verb.String(), a)
	switch {
	case o.Verb == get && a.Status == http.StatusOK:
		o = c.shown(o, on, a)
	case o.Verb == head && a.Status == http.StatusNoContent:
		o.Verdict = exists
	case a.Status == http.StatusNotFound && !lies(a):
		o.Verdict = absent
	}
	return o
}

// shown completes an operation with the resource in the body.
func (c *client) shown(o operation, on resource, a harness.Answer) operation {
	at, err := contentOf(a)
	if err != nil {
		c.count.surprise(fmt.Sprintf("%s %s: %v: %s", o.Verb, a.Request.Path, err, a.Body))
		return o
	}
	o.Verdict, o.Seen = seen, at
	c.remember(on, at.region)
	return o
}
