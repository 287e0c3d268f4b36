package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"portico/test/harness"
)

// Lengths of batches. A short one is answered at once, its requests sent
// concurrently; a longer one is a job that any living gateway carries on.
const (
	shortBatch = 4
	longBatch  = 8
)

const (
	// batchBound limits the wait for the end of a long batch: gateways and the store
	// may be down meanwhile, and a dead gateway's request has its own time.
	batchBound = 60 * time.Second
)

// outcomeUnknown is the answer of a part whose outcome is not known.
const outcomeUnknown = "500 outcome unknown"

// part is one request of a batch.
type part struct {
	operation
	on      resource
	request harness.Request
	answer  harness.Answer
}

// batchResponse is the answer to one part.
type batchResponse struct {
	Name           string
	HTTPStatusCode int
	Headers        map[string]string
	Content        json.RawMessage
}

// batch sends requests for several resources in one call. Each is an operation of
// its own: it begins with the call and ends with the answer that has its outcome.
func (c *client) batch(ctx context.Context) {
	parts := c.parts(2+c.random.IntN(longBatch-1), c.replica())
	a, err := c.ask(ctx, parts[0].Replica, batchOf(parts))
	if err != nil {
		verdict, text := unanswered(err)
		c.count.note("batch", http.MethodPost, text)
		c.unknown(ctx, parts, verdict, text)
		return
	}
	c.surprising("batch", a)
	c.count.note("batch", http.MethodPost, describe(a))
	if a.Status == http.StatusAccepted {
		var ended bool
		if a, ended = c.awaitBatch(ctx, a); !ended {
			c.count.note("batch", "end", "not seen")
			c.unknown(ctx, parts, open, noAnswer)
			return
		}
		c.count.note("batch", "end", "200")
	}
	switch {
	case a.Status == http.StatusOK:
		c.take(ctx, parts, a)
	case a.Status == http.StatusRequestTimeout || a.Status >= http.StatusInternalServerError:
		c.unknown(ctx, parts, open, noAnswer) // some of them may have been sent
	default:
		c.unknown(ctx, parts, nothing, describe(a))
	}
}

// parts makes n requests for different resources.
func (c *client) parts(n, replica int) []part {
	var all []part
	taken := map[resource]bool{}
	for len(all) < n {
		on := c.choose()
		if taken[on] {
			on = c.resources[c.random.IntN(len(c.resources))]
		}
		if taken[on] {
			continue
		}
		taken[on] = true
		p := part{on: on}
		switch n := c.random.IntN(10); {
		case n < 5:
			p.operation, p.request = c.putting(on, replica, c.region(on))
		case n < 7:
			p.operation, p.request = c.removing(on, replica)
		case n < 8:
			p.operation, p.request = c.patching(on, replica)
		default:
			p.operation, p.request = c.reading(get, on, replica)
		}
		p.Batched = true
		all = append(all, p)
	}
	for i := range all { // all begin with the call of the batch
		all[i].Call = all[0].Call
	}
	return all
}

// batchOf is the request that holds all parts, each under its number.
func batchOf(parts []part) harness.Request {
	var texts []string
	for i, p := range parts {
		text := fmt.Sprintf(`{"name":"%d","httpMethod":%q,"url":%q`, i, p.request.Method, p.request.Path)
		if p.request.Body != "" {
			text += `,"content":` + p.request.Body
		}
		var headers []string
		for name, values := range p.request.Header {
			headers = append(headers, fmt.Sprintf("%q:%q", name, values[0]))
		}
		if len(headers) > 0 {
			text += `,"headers":{` + strings.Join(headers, ",") + `}`
		}
		texts = append(texts, text+"}")
	}
	return harness.Request{
		Method: http.MethodPost, Path: "/batch?api-version=2020-06-01", Body: `{"requests":[` + strings.Join(texts, ",") + `]}`,
	}
}

// awaitBatch polls an accepted batch until it ends.
func (c *client) awaitBatch(ctx context.Context, accepted harness.Answer) (a harness.Answer, ended bool) {
	path := c.pollingPath(accepted.Header.Get("Location"))
	if path == "" {
		c.count.surprise("a batch that was accepted without a polling URL")
		return a, false
	}
	for deadline := c.clock() + batchBound; ctx.Err() == nil && c.clock() < deadline; {
		pause(ctx, time.Duration(50+c.random.IntN(100))*time.Millisecond)
		a, err := c.ask(ctx, c.replica(), harness.Request{Method: http.MethodGet, Path: path})
		if err != nil {
			continue
		}
		c.surprising("poll of a batch", a)
		if a.Status == http.StatusOK {
			return a, true
		}
	}
	return a, false
}

// take gives each part its own answer.
func (c *client) take(ctx context.Context, parts []part, a harness.Answer) {
	at := c.clock()
	var body struct{ Responses []batchResponse }
	err := json.Unmarshal(a.Body, &body)
	answers := map[int]batchResponse{}
	for _, r := range body.Responses {
		if i, err := strconv.Atoi(r.Name); err == nil && i >= 0 && i < len(parts) {
			answers[i] = r
		}
	}
	if err != nil || len(body.Responses) != len(parts) || len(answers) != len(parts) {
		c.count.surprise(fmt.Sprintf("the answer of a batch of %d (%v): %s", len(parts), err, a.Body))
		c.unknown(ctx, parts, open, noAnswer)
		return
	}
	var running []part
	waits := false
	for i, p := range parts {
		p.answer = answers[i].of(p.request)
		if orphaned(p.answer) {
			p.Verdict, p.Answer = open, outcomeUnknown
		} else {
			p.operation = c.answered(p.operation, p.on, p.answer, nil)
		}
		if accepted(p.operation, p.answer, nil) {
			running = append(running, p)
			continue
		}
		waits = c.record(p.operation, at).Verdict == nothing || waits
	}
	for _, p := range running {
		c.finish(ctx, c.follow(ctx, p.operation, p.on, p.answer))
	}
	if waits { // let what is down come back
		pause(ctx, 100*time.Millisecond)
	}
}

// of is the answer that the request would have got alone.
func (r batchResponse) of(request harness.Request) harness.Answer {
	a := harness.Answer{Request: request, Status: r.HTTPStatusCode, Header: http.Header{}, Body: r.Content}
	for name, value := range r.Headers {
		a.Header.Set(name, value)
	}
	return a
}

// orphaned reports whether the gateway that sent the request died before it knew
// the outcome.
func orphaned(a harness.Answer) bool {
	return a.Status == http.StatusInternalServerError && byGateway(a) && strings.Contains(string(a.Body), "The outcome of the request is unknown")
}

// unknown records parts without an answer of their own. A long batch may still send
// them at any later time.
func (c *client) unknown(ctx context.Context, parts []part, is verdict, text string) {
	at := c.clock()
	if is == open && len(parts) > shortBatch {
		text = noEnd
	}
	for _, p := range parts {
		p.Verdict, p.Answer = is, text
		c.record(p.operation, at)
	}
	if is == nothing {
		pause(ctx, 100*time.Millisecond)
	}
}
