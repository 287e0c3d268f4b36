package chaos

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"portico/test/harness"
)

// Bounds of following an operation by its URL, and of looking for the end of a
// DELETE that came without one.
const (
	followBound = 10 * time.Second
	lookBound   = 3 * time.Second
)

// progress is the known state of an operation.
type progress uint8

const (
	running progress = iota // or the poll failed
	succeeded
	failed
	lost
)

// follow polls an accepted write through any replica and returns the operation with
// its outcome. If no end is seen, it stays open.
func (c *client) follow(ctx context.Context, o operation, on resource, accepted harness.Answer) operation {
	bound := followBound
	poll := c.pollOf(accepted)
	if poll == nil {
		if o.Verb != remove {
			return o
		}
		bound = lookBound
		poll = func(ctx context.Context) progress {
			if c.get(ctx, on, c.replica()).Verdict == absent {
				return succeeded
			}
			return running
		}
	}
	deadline := c.clock() + bound
	for ctx.Err() == nil && c.clock() < deadline {
		pause(ctx, time.Duration(20+c.random.IntN(100))*time.Millisecond)
		switch poll(ctx) {
		case succeeded:
			if o.Verdict = vanished; o.Verb == put {
				o.Verdict = became
				c.remember(on, o.Region)
			}
			return o
		case failed:
			o.Verdict = overtaken
			return o
		case lost:
			return o
		case running:
		}
	}
	return o
}

// pollOf returns a function that polls the operation of an accepted write, nil if
// the answer names no URL.
func (c *client) pollOf(accepted harness.Answer) func(context.Context) progress {
	read := statusOf
	link := accepted.Header.Get("Azure-AsyncOperation")
	if link == "" {
		link, read = accepted.Header.Get("Location"), resultOf
	}
	path := c.pollingPath(link)
	if path == "" {
		return nil
	}
	return func(ctx context.Context) progress {
		a, err := c.ask(ctx, c.replica(), harness.Request{Method: http.MethodGet, Path: c.perhapsOtherVersion(path)})
		if err != nil || lies(a) || a.ErrorCode() == "InvalidApiVersionParameter" {
			return running
		}
		if a.ErrorCode() != "OperationNotFound" { // of a region whose crash lost it
			c.surprising("poll", a)
		}
		return read(a)
	}
}

// pollingPath is the path of a polling URL for any replica, "" if there is none.
func (c *client) pollingPath(link string) string {
	if link == "" {
		return ""
	}
	at, err := url.Parse(link)
	if err != nil || "http://"+at.Host != c.site.gateways[0].URL {
		c.count.surprise("a polling URL that is not the front door's: " + link)
		return ""
	}
	return at.RequestURI()
}

// statusOf reads the answer of an Azure-AsyncOperation.
func statusOf(a harness.Answer) progress {
	if a.Status == http.StatusNotFound {
		return lost
	}
	var body struct {
		Status string `json:"status"`
	}
	if a.Status != http.StatusOK || json.Unmarshal(a.Body, &body) != nil {
		return running
	}
	switch body.Status {
	case "Succeeded":
		return succeeded
	case "Failed", "Canceled":
		return failed
	}
	return running
}

// resultOf reads the answer of a Location.
func resultOf(a harness.Answer) progress {
	switch a.Status {
	case http.StatusOK, http.StatusCreated, http.StatusNoContent:
		return succeeded
	case http.StatusConflict:
		return failed
	case http.StatusNotFound:
		return lost
	}
	return running
}
