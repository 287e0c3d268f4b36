package deploy

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/index"
	"portico/jobs/deploy/deployplan"
	"portico/jobs/deploy/whatif"
	"portico/routing"
	"portico/template"
	"portico/template/expr"
	"portico/upstream/answers"
)

// execute executes an order. It hides secrets in the fault that results.
func (a *attempt) execute(ctx context.Context, t task) settled {
	s := settled{task: t}
	ctx, release := a.withHeldAnswers(ctx)
	defer release()
	switch r := t.step.resource; {
	case t.step.existing():
		s.outcome = deployplan.Done
	case t.step.nested != nil:
		a.executeNested(ctx, &s)
	case s.Act == deployplan.Follow:
		a.followResource(ctx, &s, r)
		if s.outcome == deployplan.Done {
			a.recordCreated(ctx, &s, r)
		}
		s.retryIfAllowed(r.Options)
	default:
		a.beginResource(ctx, &s, r)
		s.retryIfAllowed(r.Options)
	}
	if r := t.step.resource; s.outcome == deployplan.Transient && r != nil && a.waitsForDrain(ctx, r.ID, s.record.Fault) {
		s.outcome, s.after = deployplan.Throttled, min(s.after, arm.OutageRetryAfter)
	}
	if s.record.Fault != t.record.Fault { // the former one is masked already
		s.record.Fault = a.known.mask(s.record.Fault)
	}
	return s
}

// waitsForDrain reports whether a call about a resource failed because its region is drained. It
// is made again without using up a budget.
func (a *attempt) waitsForDrain(ctx context.Context, id string, fault *arm.Error) bool {
	if fault != nil && fault.Code == arm.LocationUnderMaintenance {
		return true
	}
	row, err := a.Store.Resource(ctx, routing.SubscriptionOf(id), arm.Fold(id))
	return err == nil && a.Store.Drains.Is(row.Region)
}

// recordCreated records the body of a resource that has succeeded, if it can be evaluated again.
func (a *attempt) recordCreated(ctx context.Context, s *settled, r *template.Resource) {
	sent, err := r.Body, error(nil)
	if !sent.Known() {
		sent, _, err = a.body(ctx, r)
	}
	a.recordSent(s, r, sent, err == nil)
}

// retryIfAllowed makes the plan send a failed resource again if its options allow that for its error.
func (s *settled) retryIfAllowed(o template.Options) {
	if s.outcome != deployplan.Refused || s.record.Retries >= o.Retries || s.record.Fault == nil ||
		!slices.ContainsFunc(o.RetryOn, func(code string) bool { return arm.EqualFold(code, string(s.record.Fault.Code)) }) {
		return
	}
	s.record.Retries++
	s.outcome = deployplan.Absent
}

// beginResource sends a resource, or finds out whether it was sent. It records the secrets before it
// sends: a later attempt may learn of a failure without having read the responses that the
// secrets come from.
func (a *attempt) beginResource(ctx context.Context, s *settled, r *template.Resource) {
	body, there, err := a.body(ctx, r)
	if dependsOnAnswers(r) {
		s.record.Secrets = a.known.recordable(r.ID)
	}
	switch {
	case err != nil:
		s.onError(err)
	case !there:
		s.record.LeftOut, s.outcome = true, deployplan.Done
	case s.Act == deployplan.Probe:
		a.findLanded(ctx, s, r, body)
	case !r.Options.OnlyIfNotExists || !a.exists(ctx, s, r):
		a.sendResource(ctx, s, r, body)
	}
	if s.outcome == deployplan.Done && there {
		a.recordSent(s, r, body, true)
	}
}

// recordSent records, with the end of a step, the body of its resource, if that is known, and the
// last response.
func (a *attempt) recordSent(s *settled, r *template.Resource, body expr.Value, known bool) {
	if s.record.Existed {
		return
	}
	s.created = &deploymentrow.Deployed{Subscription: r.Scope.Subscription, Group: r.Scope.Group, ID: r.ID}
	if known {
		a.withReader(s.answer, func() { s.created.Record = deployedOf(a.order.CallerName, body, s.answer) })
	}
}

// body evaluates the condition of a resource, which there reports, and its body.
func (a *attempt) body(ctx context.Context, r *template.Resource) (body expr.Value, there bool, err error) {
	var secrets []expr.Value
	defer func() { a.known.hide("sent "+r.ID, append(secrets, body)...) }()
	answer := func(q template.Question) (expr.Value, error) {
		v, err := a.answerQuestion(ctx, q)
		v = asAnswered(q, v)
		secrets = append(secrets, v)
		return v, err
	}
	condition, err := a.evaluateWith(ctx, r.Condition, a.input, answer)
	if err != nil || !condition.Bool() {
		return body, false, err
	}
	body, err = a.evaluateWith(ctx, r.Body, a.input, answer)
	return body, true, err
}

// asAnswered returns the result of a question, marked as a secret if a list* function gave it.
func asAnswered(q template.Question, v expr.Value) expr.Value {
	if isReference(q) {
		return v
	}
	return v.AsSecure()
}

func isReference(q template.Question) bool { return strings.EqualFold(q.Function, "reference") }

func (a *attempt) sendResource(ctx context.Context, s *settled, r *template.Resource, body expr.Value) {
	if !a.ensureRegistered(ctx, s, r) {
		return
	}
	_, err := a.Store.Resource(ctx, r.Scope.Subscription, arm.Fold(r.ID))
	s.record.New = errors.Is(err, inventory.ErrNotFound)
	if err != nil && !s.record.New {
		s.err = err
		return
	}
	calling, cancel := a.sendingContext(ctx)
	defer cancel()
	s.record.Began, s.record.Poll, s.record.Fault = a.Store.Now(), "", nil
	s.step.recordTarget(&s.record)
	failpoint.Pass(failpoint.DeployBeginBefore)
	if s.err = a.recordOne(s.Step, deployplan.Sent, s.record); s.err != nil {
		return
	}
	failpoint.Pass(failpoint.DeployBeginAfter)
	answer, err := a.call(calling, Call{Method: http.MethodPut, Target: putTarget(r), Content: body.AppendJSON(nil)})
	if err != nil {
		s.outcome = deployplan.Lost
		return
	}
	s.onPutResponse(answer)
}

// groupType is the type of resource groups. The gateway itself answers 404 for them.
const groupType = "Microsoft.Resources/resourceGroups"

// exists reports whether a resource exists, or that is unknown now: then it must not be sent. If
// an earlier PUT of the step may have created it, it counts as created by the step.
func (a *attempt) exists(ctx context.Context, s *settled, r *template.Resource) bool {
	answer, err := a.get(ctx, putTarget(r))
	switch {
	case err != nil, answer.Status < http.StatusMultipleChoices && !answer.resource().Readable():
		s.outcome = deployplan.Transient
		return true
	case answer.Status == http.StatusNotFound && (arm.ReportsAbsence(answer.Body, r.ID) || arm.EqualFold(r.Type, groupType)):
		return false
	case answer.Status >= http.StatusMultipleChoices:
		s.onErrorResponse(answer)
		return true
	}
	s.onState(answer)
	if s.record.Existed = s.record.Began.IsZero(); s.record.Existed && s.outcome == deployplan.Refused {
		s.outcome, s.record.Fault = deployplan.Done, nil // it stays as it is, even if it is a failed one
	}
	return true
}

// sendingContext returns the context of a call that is about to be recorded as sent. It does not end
// with the attempt, so that the answer to a sent call becomes known. Its time counts from before
// the record: if the attempt stalls after recording, another may have taken the job over, and
// this one must not send any more.
func (a *attempt) sendingContext(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), a.CallLimit)
}

func putTarget(r *template.Resource) string { return targetOf(r.ID, r.APIVersion) }

func targetOf(id, version string) string {
	u := url.URL{Path: id}
	return u.EscapedPath() + "?api-version=" + url.QueryEscape(version)
}

// onPutResponse reads the answer to a PUT.
func (s *settled) onPutResponse(answer Response) {
	s.record.Status = answer.Status
	if answer.Status >= http.StatusMultipleChoices {
		s.onErrorResponse(answer)
		return
	}
	s.after = answers.RetryAfter(answer.Header)
	if s.record.setPoll(answer); s.record.Poll != "" {
		s.outcome = deployplan.GoesOn
		return
	}
	s.onState(answer)
}

// setPoll records the polling URL in the answer to an accepted write, if it has one.
func (s *stepRecord) setPoll(answer Response) {
	link := answer.Header.Get("Azure-AsyncOperation")
	if s.Poll, s.OfStatus = "", link != ""; link == "" && answer.Status == http.StatusAccepted {
		link = answer.Header.Get("Location")
	}
	if u, err := url.Parse(link); err == nil && u.Path != "" {
		s.Poll = u.RequestURI()
	}
}

// onState applies the provisioning state of a resource. If the answer shows no resource, the step
// goes on, with a GET of the resource.
func (s *settled) onState(answer Response) {
	switch report := answer.resource(); {
	case report.Succeeded():
		s.outcome, s.answer = deployplan.Done, answer.Body
	case report.Ended():
		s.outcome = deployplan.Refused
		s.record.Fault = arm.NewError(arm.ResourceDeploymentFailure, report.State())
	default:
		s.outcome = deployplan.GoesOn
	}
}

// onErrorResponse applies an error response.
func (s *settled) onErrorResponse(answer Response) {
	s.record.Fault = answer.Fault()
	s.outcome, s.after = answer.refusal()
}

// onError applies an error of an evaluation: the error of a response that it needed, or its own.
func (s *settled) onError(err error) {
	refused, is := errors.AsType[*arm.Error](err)
	if is { // the response's, or why there is none
		s.record.Fault = refused
	}
	switch s.outcome = deployplan.Refused; {
	case errors.Is(err, errUnanswered):
		s.outcome = deployplan.Transient
	case !is:
		s.record.Fault = arm.NewError(arm.InvalidTemplate, err.Error())
	}
}

func (a *attempt) get(ctx context.Context, target string) (Response, error) {
	calling, cancel := context.WithTimeout(ctx, a.CallLimit)
	defer cancel()
	return a.call(calling, Call{Method: http.MethodGet, Target: target})
}

// followResource polls the operation of a resource at the URL that its provider gave, then reads the
// resource itself.
func (a *attempt) followResource(ctx context.Context, s *settled, r *template.Resource) {
	if s.record.Poll != "" {
		answer, err := a.get(ctx, s.record.Poll)
		if err != nil {
			s.outcome = deployplan.Transient
			return
		}
		if !s.onPollResponse(answer) {
			return
		}
		s.record.Poll = ""
	}
	answer, err := a.get(ctx, putTarget(r))
	switch {
	case err != nil, answer.Status == http.StatusNotFound: // it may appear later
		s.outcome = deployplan.Transient
	case answer.Status >= http.StatusMultipleChoices:
		s.onErrorResponse(answer)
	default:
		s.after = answers.RetryAfter(answer.Header)
		s.onState(answer)
	}
}

// onPollResponse applies the answer to a poll, and reports whether the resource itself is to be read next.
func (s *settled) onPollResponse(answer Response) bool {
	s.after = answers.RetryAfter(answer.Header)
	report := answers.PollState(s.record.OfStatus, answer.Body)
	switch progress, _ := answers.ReadPoll(s.record.OfStatus, answer.Status, answer.Body); {
	case progress == index.PollMissing:
		return true
	case answer.Status >= http.StatusMultipleChoices:
		s.onErrorResponse(answer)
		return false
	case progress != index.PollFinished:
		s.outcome = deployplan.GoesOn
		return false
	case report.Succeeded():
		return true
	}
	s.outcome = deployplan.Refused
	s.record.Fault = cmp.Or(answers.Error(answer.Status, string(answer.Body)), arm.NewError(arm.ResourceDeploymentFailure, report.State()))
	return false
}

// findLanded finds out whether a PUT without an answer has taken effect.
func (a *attempt) findLanded(ctx context.Context, s *settled, r *template.Resource, body expr.Value) {
	answer, err := a.get(ctx, putTarget(r))
	over := a.Store.Now().Sub(s.record.Began) > a.CallLimit
	s.outcome = deployplan.Lost
	switch {
	case err != nil:
		s.outcome = deployplan.Transient
	case answer.Status < http.StatusMultipleChoices && !answer.resource().Readable():
		s.outcome = deployplan.Transient
	case answer.Status < http.StatusMultipleChoices:
		s.onState(answer)
		same := func() (is bool) {
			a.withReader(answer.Body, func() { is = whatif.Holds(valueOf(answer.Body), body) })
			return is
		}
		if !r.Options.OnlyIfNotExists && s.outcome != deployplan.GoesOn && (s.outcome != deployplan.Done || !s.record.New && !same()) {
			s.outcome, s.record.Fault = deployplan.Lost, nil // an earlier PUT may have created it
		}
	case answer.Status != http.StatusNotFound:
		s.onErrorResponse(answer)
		return
	}
	if s.outcome == deployplan.Lost && over {
		s.outcome = deployplan.Absent
	}
}

// errUnanswered means that the attempt ended before an answer came.
var errUnanswered = errors.New("no answer came")

// callOf returns the call that answers a question.
func callOf(q template.Question) Call {
	call := Call{Method: http.MethodGet, Target: (&url.URL{Path: q.ID}).EscapedPath()}
	if !isReference(q) {
		call.Method, call.Target = http.MethodPost, call.Target+"/"+url.PathEscape(q.Function)
		if !q.Values.Is(expr.Null) {
			call.Content = q.Values.AppendJSON(nil)
		}
	}
	call.Target += "?api-version=" + url.QueryEscape(q.APIVersion)
	return call
}

// key returns a key that is the same for calls with the same answer.
func (c Call) key() string { return c.Method + " " + arm.Fold(c.Target) + " " + string(c.Content) }

// partOf returns the part of an answer that a question is about.
func partOf(q template.Question, v expr.Value) expr.Value {
	if isReference(q) && !q.Full {
		v, _ = v.Member("properties")
	}
	return v
}

// fetchAnswer calls until there is an answer, and returns the part of it that is stored, with its
// key. It repeats after transient failures within the budget of a step, and after throttling of
// the caller until the deployment's time is over.
func (a *attempt) fetchAnswer(ctx context.Context, q template.Question) (key string, v expr.Value, err error) {
	call := callOf(q)
	over := a.order.Now.Add(a.Limit)
	spent := a.Store.Now().Add(a.Limits.Budget)
	for {
		answer, err := a.callOnce(ctx, call)
		if err != nil && ctx.Err() != nil {
			return "", v, errUnanswered
		}
		var fault *arm.Error
		a.withReader(answer.Body, func() {
			if v, fault = answer.Value(call.Target); fault == nil {
				key, v = askedFor(q, v)
			}
		})
		if fault == nil {
			return key, v, nil
		}
		answer.Status = fault.Status
		outcome, pause := answer.refusal()
		if outcome == deployplan.Transient && a.waitsForDrain(ctx, q.ID, fault) {
			outcome = deployplan.Throttled
		}
		pause = max(pause, a.Limits.Pause)
		next := a.Store.Now().Add(pause)
		if outcome == deployplan.Refused || outcome == deployplan.Transient && next.After(spent) || next.After(over) {
			return "", v, fault
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", v, errUnanswered
		}
	}
}

// callOnce makes one call as soon as a place is free.
func (a *attempt) callOnce(ctx context.Context, call Call) (Response, error) {
	select {
	case a.places <- struct{}{}:
		defer func() { <-a.places }()
	case <-ctx.Done():
		return Response{}, ctx.Err()
	}
	calling, cancel := context.WithTimeout(ctx, a.CallLimit)
	defer cancel()
	return a.call(calling, call)
}
