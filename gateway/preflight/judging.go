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

// judgeTime bounds the judging of one call: what waits for writes that are under way waits for
// no more.
const judgeTime = 30 * time.Second

// Rehearsal is what answers PUTs that are judged: it calls no provider and changes nothing.
type Rehearsal struct {
	Links *chain.Links
	// Calls returns for what calls were noted since it was called last: forwarded reports that
	// the request itself would be, open that its way depends on what providers answer.
	Calls func() (forwarded, open bool)
	// Reading says what the caller may read; nil: it must be allowed to write.
	Reading *authorize.Authorizer
}

// begin returns what sends the PUTs of one call through a rehearsal, on behalf of the caller
// of x.
func (p *Preflight) begin(x *exchange.Exchange, plan *Plan, withoutWrite bool) Judge {
	plan.SeesNoLocks = withoutWrite
	j := &judging{Rehearsal: p.Rehearse(plan, withoutWrite), preflight: p, asking: x, plan: plan}
	checks := []chain.Check{j.identify, j.Links.Classify}
	if j.Reading != nil {
		checks = append(checks, j.mayRead)
	}
	j.way = j.Links.Inner(checks...)
	return j.put
}

// judging judges the PUTs of one call, one after the other.
type judging struct {
	Rehearsal
	preflight *Preflight
	asking    *exchange.Exchange
	plan      *Plan
	way       http.Handler
	inner     *exchange.Exchange // of the PUT at hand
}

// put is a [Judge].
func (j *judging) put(ctx context.Context, target string, content []byte) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	r, fault := exchange.NewRequest(ctx, http.MethodPut, target, http.Header{}, string(j.plan.Known(content)))
	if fault != nil {
		return Verdict{Fault: fault}, nil
	}
	answer := exchange.CaptureBeginning()
	if fault := answer.Hold(target, func() { j.way.ServeHTTP(answer, r) }); fault != nil {
		return Verdict{}, fault
	}
	forwarded, open := j.Calls()
	v := Verdict{Request: j.inner.Request, Decision: j.inner.Trail.Decision}
	passes := forwarded || answer.Status < http.StatusBadRequest && !open
	if passes && (!j.plan.SeesNoLocks || !slices.Contains(j.inner.Trail.Steps, exchange.AtLocks)) {
		v.Fault = proxy.Misshapen(v.Request, content, schema.Planned)
		return v, nil
	}
	if !passes && !open {
		v.Fault = faultIn(answer)
		switch {
		case failed(v.Fault):
			return v, v.Fault
		case j.plan.SeesNoLocks && v.Fault.Code == arm.ScopeLocked: // of a group, by the store
		case !NotYet(v.Fault) && !j.plan.Excuses(v.Fault):
			return v, nil
		}
	}
	// What is missing, or not known, may end the way ahead of the locks.
	locks, err := j.locks(ctx)
	if err != nil {
		return v, err
	}
	err = admission.CheckLocks(j.inner, locks)
	if v.Fault, _ = errors.AsType[*arm.Error](err); v.Fault == nil {
		v.Fault = proxy.Misshapen(v.Request, content, schema.Planned)
	}
	return v, nil
}

// locks are those that may forbid the PUT at hand, as far as its caller learns of them: by the
// PUT itself, or as it may read them.
func (j *judging) locks(ctx context.Context) ([]inventory.Lock, error) {
	locks, err := admission.LocksOver(ctx, j.preflight.Locks, j.inner)
	if err != nil || j.Reading == nil || len(locks) == 0 {
		return locks, err
	}
	may := func(action, scope string) bool {
		refusal := j.Reading.Check(ctx, j.inner, action, scope)
		if _, refused := errors.AsType[*arm.Error](refusal); refusal != nil && !refused {
			err = refusal
		}
		return refusal == nil
	}
	action := cmp.Or(j.inner.RouteAction, j.inner.Request.Action())
	if may(action, j.inner.Request.Scope()) {
		return locks, err
	}
	return slices.DeleteFunc(locks, func(l inventory.Lock) bool { return !may("Microsoft.Authorization/locks/read", l.Scope) }), err
}

// faultIn is the error in an answer.
func faultIn(answer *exchange.Captured) *arm.Error {
	var body struct{ Error *arm.Error }
	if json.Unmarshal(answer.Body, &body) != nil || body.Error == nil {
		return arm.NewError(arm.InvalidRequestContent, http.StatusText(answer.Status)).WithStatus(answer.Status)
	}
	body.Error.Status = answer.Status
	return body.Error
}

// failed reports whether an error says nothing of the request.
func failed(fault *arm.Error) bool {
	return fault.Code == arm.InternalServerError || fault.Code == arm.ServerTimeout || fault.Code == arm.ClientClosedRequest
}

// identify is [chain.Links.Identify] for a PUT that is judged: it goes by the ids of the call,
// and its caller is the call's.
func (j *judging) identify(_ http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	j.inner, x.Trail, x.Span = x, &exchange.Trail{}, nil
	x.Identity, x.Client = j.asking.Identity, j.asking.Client
	if x.Origin = j.plan.Origin(); x.Origin == exchange.OriginNested {
		x.Parent = new(deploymentrow.Parent) // which is still being judged
	}
	x.Planned, x.LocationPending = true, j.plan.Pending("location")
	x.Path, x.Query = chain.Target(r)
	j.Links.Admit(x, r, j.asking.Principal)
	return true
}

// mayRead refuses what a GET in place of the PUT would be refused for by roles.
func (j *judging) mayRead(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	get, _ := routing.Classify(j.preflight.Map, http.MethodGet, x.Path, x.Query) // as the PUT was
	if err := j.Reading.Check(r.Context(), x, get.Action(), get.Scope()); err != nil {
		exchange.Fail(w, r, err)
		return false
	}
	return true
}
