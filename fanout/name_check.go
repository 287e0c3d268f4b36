package fanout

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/limits"
	"portico/tracing"
	"portico/upstream"
)

// maxNameAnswer bounds one region's answer to a name check.
const maxNameAnswer = 16 << 10

// NameCheck is a check with several regions of whether a name is available.
type NameCheck struct {
	Send       func(context.Context, upstream.Call) (*http.Response, error) // see [upstream.Client.Do]
	Calls      []upstream.Call                                              // one for each region, in the order of the regions
	Namespace  string
	Caller     string // is charged for the memory
	ReceivedAt time.Time
}

// NameAnswer is the combined answer of the regions to a name check.
type NameAnswer struct {
	Body       []byte   // of the deciding region
	RequestIDs []string // the regions' ids of the calls
}

// CheckName calls all regions concurrently. A name is available if it is in
// every region. A region that reports it as taken decides, whatever the
// others answer; otherwise a region that fails makes the check fail, because
// it may have the name. The error is an *arm.Error or the error of ctx.
func (l *Lister) CheckName(ctx context.Context, c NameCheck) (NameAnswer, error) {
	memory := l.options.Budget.Reservation(c.Caller, l.options.Memory)
	defer memory.Close()
	if err := memory.GrowWithin(ctx, int64(len(c.Calls))*maxNameAnswer, l.timeShare(memoryWaitShare)); err != nil {
		if ctx.Err() != nil {
			return NameAnswer{}, ctx.Err()
		}
		return NameAnswer{}, noMemory(errors.Is(err, limits.ErrCallerShare))
	}
	calls, cancel := context.WithDeadline(ctx, c.ReceivedAt.Add(l.timeShare(totalShare)))
	defer cancel()
	replies := make([]nameReply, len(c.Calls))
	limits.ForEach(maxConcurrentRegions, len(c.Calls), func(i int) {
		replies[i] = c.checkRegion(calls, c.Calls[i])
		if replies[i].fault == nil && !replies[i].free {
			cancel() // no other answer changes the result
		}
	})
	if err := ctx.Err(); err != nil {
		return NameAnswer{}, err
	}
	return c.combine(replies)
}

// nameReply is one region's answer to a name check.
type nameReply struct {
	free      bool
	body      []byte
	requestID string
	fault     *arm.Error // if it failed
}

// checkRegion calls one region. The call is not repeated, because it is a POST.
func (c NameCheck) checkRegion(ctx context.Context, call upstream.Call) (r nameReply) {
	answer, err := c.Send(ctx, call)
	if err != nil {
		r.fault = readFault(err, c.Namespace)
		return r
	}
	defer answer.Body.Close()
	if id := answer.Header.Get(tracing.RequestHeader); len(id) <= maxRequestID {
		r.requestID = id
	}
	if r.body, err = upstream.ReadAll(answer.Header, answer.Body, maxNameAnswer); err != nil {
		r.fault = readFault(err, c.Namespace)
		return r
	}
	of := Collection{Namespace: c.Namespace}
	if answer.StatusCode != http.StatusOK {
		r.fault = of.statusError(upstream.Answer{Status: answer.StatusCode, Header: answer.Header, Body: r.body})
		return r
	}
	var known bool
	if r.free, known = nameAvailable(r.body); !known {
		r.fault = of.invalid("it does not say whether the name is available")
	} else if MayHoldLink(r.body) {
		r.fault = of.invalid("it has a nextLink")
	}
	return r
}

// nameAvailable reads whether a name is available; known is false for any other body.
func nameAvailable(body []byte) (free, known bool) {
	err := jsontext.Object(body, func(m jsontext.Member) error {
		if bytes.EqualFold(m.Key, []byte("nameAvailable")) {
			free, known = string(m.Value) == "true", string(m.Value) == "true" || string(m.Value) == "false"
		}
		return nil
	})
	return free, known && err == nil
}

// combine returns the combined result of all regions' replies.
func (c NameCheck) combine(replies []nameReply) (NameAnswer, error) {
	answer := NameAnswer{}
	var faults []failedRegion
	taken := false
	for i, r := range replies {
		if r.requestID != "" {
			answer.RequestIDs = append(answer.RequestIDs, r.requestID)
		}
		switch {
		case r.fault != nil:
			faults = append(faults, failedRegion{c.Calls[i].Endpoint.Region, r.fault})
		case answer.Body == nil || !r.free && !taken:
			answer.Body = r.body
		}
		taken = taken || r.fault == nil && !r.free
	}
	switch {
	case taken || len(faults) == 0:
		return answer, nil
	case len(faults) == len(replies) && refusedAlike(faults):
		return NameAnswer{}, faults[0].fault
	}
	fault := listFault(faults, len(replies), c.Namespace)
	return NameAnswer{}, fault.WithMessage("Whether the name is available could not be found out: %d of %d regions of '%s' did not answer as they "+
		"should. Please see details.", len(faults), len(replies), c.Namespace)
}

// refusedAlike reports whether all regions refuse the request for the same reason.
func refusedAlike(faults []failedRegion) bool {
	for _, f := range faults {
		refused := f.fault.Status >= http.StatusBadRequest && f.fault.Status < http.StatusInternalServerError && f.fault.Status != http.StatusTooManyRequests
		if !refused || f.fault.Status != faults[0].fault.Status || f.fault.Code != faults[0].fault.Code {
			return false
		}
	}
	return true
}
