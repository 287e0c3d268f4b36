package proxy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/transaction"
	"portico/probe"
	"portico/regions"
	"portico/routing"
)

// recordIntent records the intent of a write with begin. If the write was resolved by
// something that has changed since, it returns a reason to resolve the write again, once.
func (p *Proxy) recordIntent(ctx context.Context, x *exchange.Exchange, d *Resolved, begin intentMethod) (inventory.Ticket, retryReason, error) {
	x.RecordStage(exchange.AtIntent)
	failpoint.Pass(failpoint.WriteBeginBefore)
	ticket, err := begin(p.Intents, ctx, p.newIntent(x, d))
	if err == nil {
		return ticket, ended, nil
	}
	err = fmt.Errorf("record the intent of a write: %w", err)
	if d.mayRetry(overtaken) && hasChanged(x, d, err) {
		return ticket, overtaken, nil
	}
	if conflict, ok := errors.AsType[*inventory.LocationConflictError](err); ok {
		why, err := p.resolveConflict(ctx, x, d, conflict)
		return ticket, why, err
	}
	return ticket, ended, p.refusal(x, d, err)
}

// hasChanged reports whether the inventory refuses a write because something that it was
// resolved by has changed, or may have.
func hasChanged(x *exchange.Exchange, d *Resolved, err error) bool {
	if _, conflict := errors.AsType[*inventory.LocationConflictError](err); conflict {
		return x.Request.Method != http.MethodPut // the resource has moved
	}
	return errors.Is(err, inventory.ErrParentMoved) || errors.Is(err, inventory.ErrNotFound) ||
		d.Memory.Scopes && (errors.Is(err, inventory.ErrScopeChanged) || errors.Is(err, index.ErrGroupNotFound))
}

// confirmRow probes a resource before a write that was routed by a row of a restored
// backup, if no sweep has seen the row's region since: the resource may have been deleted
// and created in another region (see package inventory, rule R17). If it is gone, the
// write has to be resolved again.
func (p *Proxy) confirmRow(ctx context.Context, x *exchange.Exchange, d *Resolved) (retryReason, error) {
	row := d.Row
	// A job probes resources with an operation under way.
	if row == nil || !d.mayRetry(rowGone) || !row.UnchangedSince(p.Store.Events.Restored()) || row.Phase != index.Live || row.FollowPut || row.FollowDelete {
		return ended, nil
	}
	unseen, err := p.Store.Coverage.Uncovered(ctx, row.Subscription, row.Type, []string{row.Region})
	if err != nil {
		return ended, fmt.Errorf("ask whether a region was swept: %w", err)
	}
	if len(unseen) == 0 {
		return ended, nil
	}
	prober, header := p.Resolver.ProberFor(x)
	switch result, err := prober.Probe(ctx, header, *row); {
	case err != nil:
		return ended, probe.Unconfirmed(*row, err)
	case result.Found:
		return ended, nil
	case !result.Removed():
		return ended, admission.Busy(row.ID)
	}
	return rowGone, nil
}

// resolveConflict refuses a write to another location than the row's. If the row is
// unverified, it probes the resource first: if that removed the row, the write has to be
// resolved again.
func (p *Proxy) resolveConflict(ctx context.Context, x *exchange.Exchange, d *Resolved, conflict *inventory.LocationConflictError) (retryReason, error) {
	row := conflict.Row
	if !row.NeedsVerify() && !conflict.RemovalOpen {
		return ended, locationConflict(x, row, d.Location)
	}
	prober, header := p.Resolver.ProberFor(x)
	result, err := prober.Probe(ctx, header, row)
	if err == nil && result.Removed() && d.mayRetry(overtaken) {
		return overtaken, nil
	}
	return ended, p.locationRefusal(ctx, x, d, row, err)
}

// Intents records the intents of writes, as [inventory.Store] does.
type Intents interface {
	Begin(context.Context, inventory.Write) (inventory.Ticket, error)
	// Try returns what Begin would return, and records nothing.
	Try(context.Context, inventory.Write) (inventory.Ticket, error)
}

// intentMethod is one of the methods of [Intents].
type intentMethod func(Intents, context.Context, inventory.Write) (inventory.Ticket, error)

func (p *Proxy) newIntent(x *exchange.Exchange, d *Resolved) inventory.Write {
	q := x.Request
	intent := inventory.Write{
		Kind:            index.Put,
		Subscription:    d.Subscription.ID,
		Group:           d.Group.Key,
		Key:             q.Key(),
		ID:              q.ID(),
		Type:            q.Type.Key,
		TypeName:        q.Type.FullName,
		Name:            q.Name(),
		Parent:          d.Parent,
		Region:          d.Region,
		Location:        d.Location,
		APIVersion:      q.Query.APIVersion,
		Sender:          p.Sender,
		Creator:         inventory.Creator{Name: x.Principal.Signature(), Kind: x.Principal.Kind()},
		Created:         x.Started,
		Incarnation:     d.Group.Incarnation,
		LateWriteWindow: q.Type.LateWriteWindow,
	}
	if d.Memory.Scopes {
		intent.Version = d.Subscription.Version
	}
	if q.Provider.Registration == regions.Required {
		intent.Namespace = q.Provider.Key
	}
	switch q.Method {
	case http.MethodDelete:
		intent.Kind, intent.Parent, intent.Location = index.Delete, "", ""
	case http.MethodPatch:
		intent.Kind, intent.Parent, intent.Location = index.Patch, "", ""
	}
	return intent
}

// locationRefusal refuses a write to another location than the row's, after a probe: with
// a conflict if the resource is known to exist there, otherwise with an error to retry.
func (p *Proxy) locationRefusal(ctx context.Context, x *exchange.Exchange, d *Resolved, probed inventory.Resource, err error) error {
	row, removalOpen, lookupErr := p.Store.ResourceAndRemoval(ctx, probed.Subscription, probed.Key)
	moved := row.Region != probed.Region || row.Location != probed.Location // perhaps to the wanted location
	if err == nil && lookupErr == nil && !moved && !row.NeedsVerify() && !removalOpen {
		return locationConflict(x, row, d.Location)
	}
	if err != nil {
		return probe.Unconfirmed(probed, err)
	}
	return admission.Busy(probed.ID).WithCause(lookupErr)
}

func locationConflict(x *exchange.Exchange, row inventory.Resource, wanted string) *arm.Error {
	return arm.NewError(arm.InvalidResourceLocation, x.Request.Name(), row.Location, x.Request.Path.Group(), wanted).WithTarget("location")
}

// refusal converts the inventory's refusal of a write to ARM's.
func (p *Proxy) refusal(x *exchange.Exchange, d *Resolved, err error) error {
	var state *index.GroupStateError
	var quota *transaction.QuotaError
	var registration *inventory.RegistrationStateError
	var fence *inventory.FencedError
	switch {
	case errors.As(err, &fence):
		return p.fencedError(x, fence)
	case errors.Is(err, inventory.ErrNotFound):
		return x.Request.NotFound()
	case errors.Is(err, inventory.ErrParentNotFound), errors.Is(err, inventory.ErrParentMoved):
		depth := strings.Count(d.Parent, "/") // the parent's ID is a prefix of this one
		return arm.NewError(arm.ParentResourceNotFound, x.Request.Path.Segment(depth-1)).WithTarget(x.Request.Path.Prefix(depth))
	case errors.As(err, &state):
		return routing.GroupClosed(state.State, d.Group.Name)
	case errors.As(err, &registration):
		return routing.NotRegistered(x.Request.Provider, registration.State)
	case errors.As(err, &quota):
		return arm.NewError(arm.ResourceQuotaExceeded, x.Request.Type.FullName, quota.Limit, quota.Current).WithTarget(x.Request.Type.FullName)
	}
	return admission.Refusal(x, err)
}

// fencedError refuses to create a resource while an unanswered write of the same ID may
// still take effect.
func (p *Proxy) fencedError(x *exchange.Exchange, fence *inventory.FencedError) *arm.Error {
	fault := arm.NewError(arm.Conflict).WithTarget(x.Request.Path.String()).WithCause(fence)
	fault.RetryAfter = min(max(fence.Until.Sub(p.Store.Now()), admission.ConflictRetry), arm.MaxRetryAfter)
	return fault.WithMessage("The resource '%s' cannot be created yet: its resource group was deleted, "+
		"and an earlier request for it that the resource provider did not answer may take effect until %s.",
		x.Request.Name(), fence.Until.UTC().Format(time.RFC3339))
}
