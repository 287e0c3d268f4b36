package proxy

import (
	"context"
	"errors"
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/index"
	"portico/operations/async"
	"portico/operations/failure"
	"portico/routing"
	"portico/upstream"
)

// write forwards a PUT, PATCH or DELETE of a tracked resource. It records the intent
// before the first byte leaves, and the outcome before the client has the answer.
// Once the intent is recorded, the write goes on even if the client disconnects.
func (p *Proxy) write(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) error {
	ctx := context.WithoutCancel(r.Context())
	if err := p.confirmRow(ctx, x, d); err != nil {
		return err
	}
	if d.Answer == routing.Absent {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	began := time.Now()
	ticket, err := p.intend(ctx, x, d)
	if err != nil {
		return err
	}
	if d.Answer == routing.Absent {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	failpoint.Pass(failpoint.WriteBeginAfter)
	x.Region = d.Region
	call := p.outbound(r, x, d, r.Method)
	call.Since, call.SendWithin, call.EndWithin = began, p.Config.Index.SendWithin, p.Config.Upstream.CallTimeout+p.Config.Index.CallMargin
	answer, err := p.Upstream.Do(ctx, call)
	if err != nil {
		return p.settleUnanswered(ctx, x, ticket, err)
	}
	defer answer.Body.Close()

	settled, err := p.readOutcome(x, ticket.Kind, answer)
	settled.Poll = async.OfAnswer(answer.StatusCode, answer.Header, p.Public, d.Endpoint, x.Principal.In(d.Subscription.TenantID))
	d.pollURLs = p.findPollURLs(answer.Header, x, d, answer.StatusCode)
	settled.Operations = d.pollURLs.records()
	p.settle(ctx, x, ticket, settled)
	if err != nil {
		return err
	}
	return p.deliver(ctx, w, x, d, answer)
}

// readOutcome reads what the answer to a write means. The error is that of a body that
// could not be read whole.
func (p *Proxy) readOutcome(x *exchange.Exchange, kind index.WriteKind, answer *http.Response) (inventory.Answer, error) {
	text, err := p.buffer(answer, x.Request.Provider.Namespace, x.Region)
	absent := err == nil && answer.StatusCode == http.StatusNotFound && arm.SaysAbsent(text, x.Request.ID())
	settled := inventory.Answer{Outcome: index.OutcomeOf(kind, answer.StatusCode, absent), Status: answer.StatusCode, ID: x.Request.ID()}
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		settled.Error = failure.Error(answer.StatusCode, string(text))
	}
	switch {
	case err == nil && settled.Outcome == index.Succeeded:
		settled.ProvisioningState, settled.Details = inventory.ReadDetails(text)
	case err != nil && !tooLarge(err): // broken off: the status may not be true
		settled.Outcome = index.Ambiguous
	}
	if kind == index.Patch && settled.Outcome == index.Succeeded && settled.Details == nil {
		settled.Outcome = index.Accepted // the provider is asked for the result later
	}
	return settled, err
}

func tooLarge(err error) bool {
	fault, ok := errors.AsType[*arm.Error](err)
	return ok && fault.Code == arm.ResponseTooLarge
}

// settleUnanswered settles a write that got no answer.
func (p *Proxy) settleUnanswered(ctx context.Context, x *exchange.Exchange, ticket inventory.Ticket, err error) error {
	fault, ok := errors.AsType[*upstream.Fault](err)
	if !ok {
		fault = &upstream.Fault{Sent: true, Region: x.Region, Err: err}
	}
	outcome := index.Ambiguous
	if !fault.Sent {
		outcome = index.NotSent
	}
	told := fault.ARM(x.Request.Provider.Namespace)
	if fault.TooLate() {
		told = x.Diagnosed(arm.ServerTimeout, fault)
	}
	p.settle(ctx, x, ticket, inventory.Answer{Outcome: outcome, ID: x.Request.ID(), Error: told})
	return told
}

// settle records the outcome of a write. If the store fails, the answer still goes out:
// the intent stays and expires.
func (p *Proxy) settle(ctx context.Context, x *exchange.Exchange, ticket inventory.Ticket, answer inventory.Answer) {
	err := failpoint.Hit(failpoint.AnswerSettleBefore)
	if err == nil {
		_, err = p.Store.Settle(ctx, ticket, answer)
	}
	if err != nil {
		x.Warn("a write's outcome was not recorded; it will be asked for", err)
	}
	failpoint.Pass(failpoint.AnswerSettleAfter)
}
