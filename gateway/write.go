package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/failpoint"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/operations/async"
	"portico/regions"
	"portico/routing"
	"portico/upstream"
)

// write forwards a PUT, PATCH or DELETE of a tracked resource. The inventory records
// the intent before the first byte leaves, and what the answer means before the
// client has it. Once recorded, a write is seen to its end even when the client
// has gone.
func (g *Gateway) write(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) error {
	ctx := context.WithoutCancel(r.Context())
	begun := time.Now()
	ticket, p, err := g.intend(ctx, x, p)
	if err != nil {
		return err
	}
	if p.Answer == routing.Absent {
		return x.Answer(w, http.StatusNoContent, nil)
	}
	failpoint.Pass(failpoint.WriteBeginAfter)
	x.Region = p.Region
	call := g.outbound(r, x, p, r.Method)
	call.Since, call.SendWithin, call.EndWithin = begun, g.config.Index.SendWithin, g.config.Upstream.CallTimeout+g.config.Index.CallMargin
	answer, err := g.upstream.Do(ctx, call)
	if err != nil {
		return g.unanswered(ctx, x, ticket, err)
	}
	defer answer.Body.Close()

	text, err := g.hold(answer, x.Request.Provider.Namespace, p.Region)
	absent := err == nil && answer.StatusCode == http.StatusNotFound && arm.SaysAbsent(text, x.Request.ID())
	outcome := inventory.OutcomeOf(ticket.Kind, answer.StatusCode, absent)
	settled := inventory.Answer{Outcome: outcome, Status: answer.StatusCode, ID: x.Request.ID()}
	switch {
	case err == nil:
		if outcome == inventory.Succeeded {
			settled.ProvisioningState, settled.Details = inventory.ReadDetails(text)
		}
	case !tooLarge(err): // broken off: what the status promised is not known
		settled.Outcome = inventory.Ambiguous
	}
	if ticket.Kind == inventory.Patch && settled.Outcome == inventory.Succeeded && settled.Details == nil {
		settled.Outcome = inventory.Accepted // what it has made is to be asked for
	}
	settled.Poll = async.OfAnswer(answer, g.public, p.Endpoint, x.Principal.In(p.Subscription.TenantID))
	p.links = g.pollingLinks(answer.Header, x, p, answer.StatusCode)
	settled.Operations = p.links.records()
	g.settle(ctx, x, ticket, settled)
	if err != nil {
		return err
	}
	return g.deliver(ctx, w, x, p, answer)
}

func tooLarge(err error) bool {
	var fault *arm.Error
	return errors.As(err, &fault) && fault.Code == arm.ResponseTooLarge
}

// unanswered settles a write that brought no answer.
func (g *Gateway) unanswered(ctx context.Context, x *exchange.Exchange, ticket inventory.Ticket, err error) error {
	var fault *upstream.Fault
	if !errors.As(err, &fault) {
		fault = &upstream.Fault{Sent: true, Region: x.Region, Err: err}
	}
	outcome := inventory.Ambiguous
	if !fault.Sent {
		outcome = inventory.NotSent
	}
	g.settle(ctx, x, ticket, inventory.Answer{Outcome: outcome, ID: x.Request.ID()})
	if fault.TooLate() {
		return x.Diagnosed(arm.ServerTimeout, fault)
	}
	return fault.ARM(x.Request.Provider.Namespace)
}

// settle tells the inventory what became of a write. When the store fails at
// that moment the answer still goes out: the intent stays, and ends by time.
func (g *Gateway) settle(ctx context.Context, x *exchange.Exchange, ticket inventory.Ticket, answer inventory.Answer) {
	err := failpoint.Hit(failpoint.AnswerSettleBefore)
	if err == nil {
		_, err = g.store.Settle(ctx, ticket, answer)
	}
	if err != nil {
		x.Warn("a write's outcome was not recorded; it will be asked for", err)
	}
	failpoint.Pass(failpoint.AnswerSettleAfter)
}

// intend records the intent of a write. Where the index knows the resource in
// another place, but is not sure of it, its provider is asked once, and the
// write decided anew; so it is when the parent has moved meanwhile, or what is to
// be changed has gone.
func (g *Gateway) intend(ctx context.Context, x *exchange.Exchange, p proxied) (inventory.Ticket, proxied, error) {
	for attempt := 0; ; attempt++ {
		failpoint.Pass(failpoint.WriteBeginBefore)
		ticket, err := g.store.Begin(ctx, g.intent(x, p))
		var conflict *inventory.LocationConflictError
		overtaken := (errors.Is(err, inventory.ErrParentMoved) || errors.Is(err, inventory.ErrNotFound)) && attempt == 0
		if !errors.As(err, &conflict) && !overtaken {
			return ticket, p, g.refusal(x, p, err)
		}
		if elsewhere := x.Request.Method != http.MethodPut && attempt == 0; !elsewhere && !overtaken {
			row := conflict.Row
			if !row.Doubtful() && !conflict.Contested {
				return ticket, p, locationConflict(x, row, p.Location)
			}
			prober, header := g.resolver.ProberFor(x)
			result, err := prober.Probe(ctx, header, row)
			if err != nil || !result.Removed() || attempt > 0 {
				return ticket, p, g.stillThere(ctx, x, p, row, err)
			}
		}
		p.Decision, err = g.resolver.Resolve(ctx, x, x.Request, p.body)
		if err != nil || p.Answer == routing.Absent {
			return ticket, p, err
		}
	}
}

func (g *Gateway) intent(x *exchange.Exchange, p proxied) inventory.Write {
	q := x.Request
	intent := inventory.Write{
		Kind:            inventory.Put,
		Subscription:    p.Subscription.ID,
		Group:           p.Group.Key,
		Key:             q.Key(),
		ID:              q.ID(),
		Type:            q.Type.Key,
		TypeName:        q.Type.FullName,
		Name:            q.Name(),
		Parent:          p.Parent,
		Region:          p.Region,
		Location:        p.Location,
		APIVersion:      q.Query.APIVersion,
		Sender:          g.sender,
		Creator:         inventory.Creator{Name: x.Principal.Signature(), Kind: x.Principal.Kind()},
		Created:         x.Started,
		Incarnation:     p.Group.Incarnation,
		LateWriteWindow: q.Type.LateWriteWindow,
	}
	if q.Provider.Registration == regions.Required {
		intent.Namespace = q.Provider.Key
	}
	switch q.Method {
	case http.MethodDelete:
		intent.Kind, intent.Parent, intent.Location = inventory.Delete, "", ""
	case http.MethodPatch:
		intent.Kind, intent.Parent, intent.Location = inventory.Patch, "", ""
	}
	return intent
}

// conflictRetry is when a client may try again what waits for a provider's word.
const conflictRetry = 10 * time.Second

// stillThere answers a write to another place than the index names after the
// provider was asked: refused when it stands there, to be tried later while
// that is not known.
func (g *Gateway) stillThere(ctx context.Context, x *exchange.Exchange, p proxied, asked inventory.Resource, err error) error {
	row, contested, lookupErr := g.store.Contested(ctx, asked.Subscription, asked.Key)
	moved := row.Region != asked.Region || row.Location != asked.Location // maybe to where the write wants it
	if err == nil && lookupErr == nil && !moved && !row.Doubtful() && !contested {
		return locationConflict(x, row, p.Location)
	}
	fault := arm.NewError(arm.Conflict).About(asked.ID).Because(err)
	fault.RetryAfter = conflictRetry
	return fault
}

func locationConflict(x *exchange.Exchange, row inventory.Resource, wanted string) *arm.Error {
	return arm.NewError(arm.InvalidResourceLocation, x.Request.Name(), row.Location, x.Request.Path.Group(), wanted).About("location")
}

// refusal turns the inventory's refusal of a write into ARM's; nil stays nil.
func (g *Gateway) refusal(x *exchange.Exchange, p proxied, err error) error {
	var state *inventory.GroupStateError
	var quota *inventory.QuotaError
	var registration *inventory.RegistrationStateError
	var fence *inventory.FencedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fence):
		return g.fenced(x, fence)
	case errors.Is(err, inventory.ErrNotFound):
		return x.Request.NotFound()
	case errors.Is(err, inventory.ErrGroupNotFound):
		return arm.NewError(arm.ResourceGroupNotFound, x.Request.Path.Group()).About("resourceGroupName")
	case errors.Is(err, inventory.ErrParentNotFound), errors.Is(err, inventory.ErrParentMoved):
		depth := strings.Count(p.Parent, "/") // the parent's ID is the beginning of this one
		return arm.NewError(arm.ParentResourceNotFound, x.Request.Path.Segment(depth-1)).About(x.Request.Path.Prefix(depth))
	case errors.As(err, &state):
		return routing.GroupClosed(state.State, p.Group.Name)
	case errors.As(err, &registration):
		return routing.NotRegistered(x.Request.Provider, registration.State)
	case errors.As(err, &quota):
		return arm.NewError(arm.ResourceQuotaExceeded, x.Request.Type.FullName, quota.Limit, quota.Current).About(x.Request.Type.FullName)
	}
	return admission.Refusal(x, err)
}

// fenced refuses to make a resource whose ID a write without an answer may still
// concern.
func (g *Gateway) fenced(x *exchange.Exchange, fence *inventory.FencedError) *arm.Error {
	fault := arm.NewError(arm.Conflict).About(x.Request.Path.String()).Because(fence)
	fault.RetryAfter = min(max(fence.Until.Sub(g.store.Time()), conflictRetry), arm.MaxRetryAfter)
	return fault.Saying("The resource '%s' cannot be created yet: its resource group was deleted, and an earlier request for it that the resource provider did not answer may take effect until %s.",
		x.Request.Name(), fence.Until.UTC().Format(time.RFC3339))
}
