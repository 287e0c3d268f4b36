package proxy

import (
	"context"
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/upstream"
	"portico/upstream/answers"
)

// write forwards a PUT, PATCH or DELETE of a tracked resource. It records the intent
// before it sends the first byte, and the outcome before the client has the answer. Once
// the intent is recorded, the write continues even if the client disconnects.
func (p *Proxy) write(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, d *Resolved) (retryReason, error) {
	ctx := context.WithoutCancel(r.Context())
	if why, err := p.confirmRow(ctx, x, d); err != nil || why != ended {
		return why, err
	}
	if fault := p.checkShape(x, d); fault != nil {
		// All other reasons to refuse the write come first.
		if _, why, err := p.recordIntent(ctx, x, d, Intents.Try); err != nil || why != ended {
			return why, err
		}
		x.RecordStage(exchange.AtShape)
		return ended, fault
	}
	began := time.Now()
	ticket, why, err := p.recordIntent(ctx, x, d, Intents.Begin)
	if err != nil || why != ended {
		return why, err
	}
	failpoint.Pass(failpoint.WriteBeginAfter)
	call := p.outbound(r, x, d, r.Method)
	call.Since, call.SendWithin, call.EndWithin = began, p.Config.Index.SendWithin, p.Config.Upstream.CallTimeout+p.Config.Index.CallMargin
	sent := answers.Write{Kind: ticket.Kind, ID: ticket.ID, Endpoint: d.Endpoint, Public: p.Public, Caller: x.Principal.In(d.Subscription.TenantID)}
	answer, err := p.Upstream.Do(ctx, call)
	if err != nil {
		return ended, p.settleUnanswered(ctx, x, ticket, sent, err)
	}
	defer answer.Body.Close()

	text, err := p.readComplete(answer)
	settled := sent.Read(upstream.Answer{Status: answer.StatusCode, Header: answer.Header, Body: text}, err)
	d.pollURLs = p.Polls.Find(answer.Header, x, d.Decision, answer.StatusCode)
	settled.Operations = d.pollURLs.Records()
	p.settle(ctx, x, ticket, settled)
	if err != nil {
		return ended, p.bodyFault(x.Request.Provider.Namespace, x.Region, err)
	}
	return ended, p.deliver(ctx, w, x, d, answer)
}

func (p *Proxy) settleUnanswered(ctx context.Context, x *exchange.Exchange, ticket inventory.Ticket, sent answers.Write, err error) error {
	fault := upstream.FaultOf(err, x.Region)
	shown := fault.ARM(x.Request.Provider.Namespace)
	if fault.TooLate() {
		shown = x.Diagnosed(arm.ServerTimeout, fault)
	}
	settled := sent.Read(upstream.Answer{}, fault)
	settled.Error = shown
	p.settle(ctx, x, ticket, settled)
	return shown
}

// settle records the outcome of a write. If the store fails, the answer is still sent:
// the intent stays and expires.
func (p *Proxy) settle(ctx context.Context, x *exchange.Exchange, ticket inventory.Ticket, answer inventory.WriteResult) {
	err := failpoint.Hit(failpoint.AnswerSettleBefore)
	if err == nil {
		_, err = p.Store.Settle(ctx, ticket, answer)
	}
	if err != nil {
		x.Warn("a write's outcome was not recorded; a job will ask the provider", err)
	}
	failpoint.Pass(failpoint.AnswerSettleAfter)
}
