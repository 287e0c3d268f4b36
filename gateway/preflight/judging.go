package preflight

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/authorize"
	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/gateway/proxy"
	"portico/internal/schema"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/routing"
)

// judgeTime bounds the judging of one PUT, which may wait for open writes.
const judgeTime = 30 * time.Second

// Rehearsal handles the PUTs that are judged. It calls no provider and changes nothing.
type Rehearsal struct {
	Links *chain.Links
	// Calls reports whether the PUT would be forwarded, and whether its outcome depends on
	// answers of providers (open). It forgets the calls that were recorded for the PUT.
	Calls func() (forwarded, open bool)
	// Reading checks what the caller may read; nil if the caller must be allowed to write.
	Reading *authorize.Authorizer
}

// newJudge returns a Judge of the PUTs of one call, on behalf of the caller of x.
func (p *Preflight) newJudge(x *exchange.Exchange, plan *PlannedResources, withoutWrite bool) Judge {
	plan.SeesNoLocks = withoutWrite
	j := &judging{Rehearsal: p.Rehearse(plan, withoutWrite), preflight: p, call: x, plan: plan}
	checks := []chain.Check{j.identify, j.Links.Classify}
	if j.Reading != nil {
		checks = append(checks, j.mayRead)
	}
	j.handler = j.Links.Inner(checks...)
	return j.judgePut
}

// judging judges the PUTs of one call, one after the other.
type judging struct {
	Rehearsal
	preflight *Preflight
	call      *exchange.Exchange
	plan      *PlannedResources
	handler   http.Handler
	put       *exchange.Exchange // the PUT that is judged now
}

// judgePut implements [Judge].
func (j *judging) judgePut(ctx context.Context, target string, content []byte) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	r, fault := exchange.NewRequest(ctx, http.MethodPut, target, http.Header{}, string(j.plan.StripUnknown(content)))
	if fault != nil {
		return Verdict{Fault: fault}, nil
	}
	answer := exchange.CaptureBeginning()
	if fault := answer.Run(target, func() { j.handler.ServeHTTP(answer, r) }); fault != nil {
		return Verdict{}, fault
	}
	forwarded, open := j.Calls()
	v := Verdict{Request: j.put.Request, Decision: j.put.Trail.Decision}
	passes := forwarded || answer.Status < http.StatusBadRequest && !open
	if passes && (!j.plan.SeesNoLocks || !slices.Contains(j.put.Trail.Stages, exchange.AtLocks)) {
		v.Fault = proxy.ShapeFault(v.Request, content, schema.Planned)
		return v, nil
	}
	if !passes && !open {
		v.Fault = faultIn(answer)
		switch {
		case failed(v.Fault):
			return v, v.Fault
		case j.plan.SeesNoLocks && v.Fault.Code == arm.ScopeLocked: // the store found a lock on a group
		case !planMayCreate(v.Fault) && !j.plan.Excuses(v.Fault):
			return v, nil
		}
	}
	// The PUT may have ended before the check of locks, at something missing or unknown.
	locks, err := j.locks(ctx)
	if err != nil {
		return v, err
	}
	err = admission.CheckLocks(j.put, locks)
	if v.Fault, _ = errors.AsType[*arm.Error](err); v.Fault == nil {
		v.Fault = proxy.ShapeFault(v.Request, content, schema.Planned)
	}
	return v, nil
}

// locks returns the locks that may forbid the PUT and that its caller may learn of: all if the
// caller is allowed to send the PUT, otherwise those that it may read.
func (j *judging) locks(ctx context.Context) ([]inventory.Lock, error) {
	locks, err := admission.LocksOver(ctx, j.preflight.Locks, j.put)
	if err != nil || j.Reading == nil || len(locks) == 0 {
		return locks, err
	}
	may := func(action, scope string) bool {
		refusal := j.Reading.Check(ctx, j.put, action, scope)
		if _, refused := errors.AsType[*arm.Error](refusal); refusal != nil && !refused {
			err = refusal
		}
		return refusal == nil
	}
	action := cmp.Or(j.put.RouteAction, j.put.Request.Action())
	if may(action, j.put.Request.Scope()) {
		return locks, err
	}
	return slices.DeleteFunc(locks, func(l inventory.Lock) bool { return !may("Microsoft.Authorization/locks/read", l.Scope) }), err
}

// faultIn returns the error in an answer.
func faultIn(answer *exchange.Captured) *arm.Error {
	var body struct{ Error *arm.Error }
	if json.Unmarshal(answer.Body, &body) != nil || body.Error == nil {
		return arm.NewError(arm.InvalidRequestContent, http.StatusText(answer.Status)).WithStatus(answer.Status)
	}
	body.Error.Status = answer.Status
	return body.Error
}

// failed reports whether an error is a failure of Portico, which proves nothing about the
// request.
func failed(fault *arm.Error) bool {
	return fault.Code == arm.InternalServerError || fault.Code == arm.ServerTimeout || fault.Code == arm.ClientClosedRequest
}

// identify replaces [chain.Links.Identify] for a PUT that is judged: ids and caller are those
// in the call.
func (j *judging) identify(_ http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	j.put, x.Trail, x.Span = x, &exchange.Trail{}, nil
	x.Identity, x.Client = j.call.Identity, j.call.Client
	if x.Origin = j.plan.Origin(); x.Origin == exchange.OriginNested {
		x.Parent = new(deploymentrow.Parent) // it does not exist yet
	}
	x.Planned, x.LocationPending = true, j.plan.Pending("location")
	x.Path, x.Query = chain.Target(r)
	j.Links.Admit(x, r, j.call.Principal)
	return true
}

// mayRead refuses a PUT if the caller's roles do not allow a GET of the same path.
func (j *judging) mayRead(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	get, _ := routing.Classify(j.preflight.Map, http.MethodGet, x.Path, x.Query) // as the PUT was
	if err := j.Reading.Check(r.Context(), x, get.Action(), get.Scope()); err != nil {
		exchange.Fail(w, r, err)
		return false
	}
	return true
}
