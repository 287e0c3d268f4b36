package contoso

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Kinds of operations.
const (
	writeOperation  = "write"
	deleteOperation = "delete"
	actionOperation = "action"
)

// operationKept is how long ended operations can be polled: longer than a day.
const operationKept = 48 * time.Hour

// operation is one asynchronous operation. The first transaction after Due ends it.
type operation struct {
	ID      string    `json:"id"`
	Kind    string    `json:"kind"`
	Key     string    `json:"key"`    // the resource's
	Status  string    `json:"status"` // a word of contoso's own while it runs, then the outcome
	Outcome string    `json:"outcome"`
	Started time.Time `json:"started"`
	Due     time.Time `json:"due"`
	Ended   time.Time `json:"ended,omitzero"`

	Place      string `json:"place"` // the path of its polling URLs without the operation's id
	Location   string `json:"location,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"`
	Tenant     string `json:"tenant,omitempty"`
	Caller     string `json:"caller,omitempty"`
	ETags      bool   `json:"etags"`

	// Unseen is the time until polls are answered 404. Version, if set, is the
	// only api-version that polls may use.
	Unseen  time.Time `json:"unseen,omitzero"`
	Version string    `json:"version,omitempty"`
	// Unshown means that the resource does not show that it is being deleted.
	Unshown bool `json:"unshown,omitempty"`

	Move     *moveOrder   `json:"move,omitempty"`     // carried out when it succeeds
	Hidden   *resource    `json:"hidden,omitempty"`   // appears when it succeeds
	Children []*resource  `json:"children,omitempty"` // written when it succeeds
	Previous *resource    `json:"previous,omitempty"` // restored when it fails
	Shown    string       `json:"shown,omitempty"`    // the key of the resource that shows it
	Result   *result      `json:"result,omitempty"`   // the answer of a synchronous call
	Error    *errorDetail `json:"error,omitempty"`
	Refusal  *errorDetail `json:"refusal,omitempty"` // the error that it ends with, if one was requested
}

type result struct {
	Status int             `json:"status"`
	ETag   string          `json:"etag,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
}

func (r *result) answer() answer {
	if r.Body == nil {
		return emptyAnswer(r.Status)
	}
	a := bodyAnswer(r.Status, r.Body)
	if r.ETag != "" {
		a.header.Set("ETag", r.ETag)
	}
	return a
}

// beginOperation starts an operation on the resource at the address, and returns it
// with the headers of the first answer.
func (p *Provider) beginOperation(c *call, x *tx, kind, status string, on address) (*operation, http.Header, error) {
	o := &operation{
		ID: uuid.NewString(), Kind: kind, Key: on.key(), Status: status, Outcome: c.order.outcome,
		Started: x.now, Due: x.now.Add(c.order.duration), RetryAfter: c.order.retryAfter, ETags: c.etags,
	}
	if c.breaks[operationIDIsRequestID] {
		o.ID = fold(c.requestID)
	}
	o.Tenant, o.Caller = c.caller()
	o.applyFreedom(c, x.now)
	place := p.pollSegments(c, on)
	o.Place = "/" + strings.Join(place, "/")
	links := http.Header{}
	if o.RetryAfter != "" {
		links.Set("Retry-After", o.RetryAfter)
	}
	if atLocation, atStatus := c.order.links(c.method); atLocation || atStatus {
		base, err := c.pollBase()
		if err != nil {
			return nil, nil, err
		}
		query := "?api-version=" + url.QueryEscape(c.version)
		o.Location = c.locationBase(base) + escaped(append(place, "operationResults", o.ID)...) + query
		if atLocation && !(kind == deleteOperation && c.breaks[deleteWithoutLocation]) {
			links.Set("Location", o.Location)
		}
		if atStatus {
			links.Set("Azure-AsyncOperation", base+escaped(append(place, "operationStatuses", o.ID)...)+query)
		}
	}
	x.setOperation(o.ID, o)
	x.forgetOperations()
	return o, links, nil
}

// pollSegments returns the first segments of the operation's polling URLs.
func (p *Provider) pollSegments(c *call, on address) []string {
	if c.order.place == placeResource {
		return slices.Clip(on.segments)
	}
	place := []string{"subscriptions", on.subscription, "providers", on.namespace}
	if c.order.place == placeLocations {
		place = append(place, "locations", p.region)
	}
	return slices.Clip(place)
}

func (t *tx) forgetOperations() {
	if t.now.Sub(t.forgotten) < time.Hour {
		return
	}
	t.forgotten = t.now
	for id, o := range t.operations {
		if !o.Ended.IsZero() && t.now.Sub(o.Ended) > operationKept {
			t.setOperation(id, nil)
		}
	}
}

// settle ends the due operations in the order of their due times, each in its
// own change.
func (p *Provider) settle(now time.Time) error {
	var due []*operation
	for _, o := range p.state.running {
		if !o.Due.After(now) {
			due = append(due, o)
		}
	}
	slices.SortFunc(due, func(a, b *operation) int {
		if c := a.Due.Compare(b.Due); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, o := range due {
		if p.state.running[o.ID] != o {
			continue // ended by an earlier one
		}
		x := p.newTx(o.Due)
		if err := x.finishOperation(o); err != nil {
			return err
		}
		if err := p.commit(&x.change); err != nil {
			return err
		}
	}
	return nil
}

// finishOperation ends the operation with its outcome.
func (t *tx) finishOperation(o *operation) error {
	done := *o
	done.Status, done.Ended, done.Hidden, done.Previous, done.Children, done.Move = o.Outcome, o.Due, nil, nil, nil, nil
	current := t.resource(o.Key)
	if current != nil && current.Operation != o.ID {
		current = nil // a later write owns it
	}
	if o.Outcome != stateSucceeded {
		f := outcomeFailure(o.Outcome)
		done.Error = cmp.Or(o.Refusal, &errorDetail{Code: f.code, Message: f.message})
		if o.Move != nil {
			current = nil
			if err := t.finishMove(o, &done); err != nil {
				return err
			}
		}
		if current != nil {
			t.put(t.settled(current, o.Previous).inState(o.Outcome, ""))
		}
		t.setOperation(o.ID, &done)
		return errors.Join(t.endRun(&done), t.relist())
	}
	if o.Move != nil {
		t.setOperation(o.ID, &done)
		return errors.Join(t.finishMove(o, &done), t.relist())
	}
	if o.Hidden != nil {
		current = o.Hidden
	}
	// The first of several deletes to end removes the resource: none may
	// report success while the resource exists.
	if o.Kind == deleteOperation && (current != nil || o.Unshown || beingDeleted(t.resource(o.Key))) {
		t.dropResource(o.Key)
	}
	if o.Kind == writeOperation && current != nil {
		t.put(current.inState(stateSucceeded, ""))
		t.insert(o.Children)
		if err := t.relist(); err != nil {
			return err
		}
		current = t.resource(o.Key)
		r := *o.Result
		r.Body = current.render(o.ETags)
		if o.ETags {
			r.ETag = current.ETag
		}
		done.Result = &r
	}
	t.setOperation(o.ID, &done)
	return t.endRun(&done)
}

// settled returns the resource after a failure: the previous one, or the
// resource whose creation failed.
func (t *tx) settled(current, previous *resource) *resource {
	if previous != nil && !t.breaks[failedUpdateKept] {
		return previous
	}
	return current
}

// outcomeFailure returns the error of a write that was ordered to fail.
func outcomeFailure(outcome string) *failure {
	if outcome == stateCanceled || outcome == stateCancelled {
		return fail(http.StatusConflict, "OperationCanceled", "The operation was canceled as the request asked.")
	}
	return fail(http.StatusConflict, "OperationFailed", "The operation failed as the request asked.")
}

// pollForm returns the form of a polling URL, and whether the address is one.
func pollForm(a address) (form string, ok bool) {
	if !a.isInstance() || a.subscription == "" {
		return "", false
	}
	form = fold(a.tail())
	return form, form == "operationresults" || form == "operationstatuses"
}

// poll handles an operation's polling URLs (async reference, Operation result
// rules): 404 to callers who did not start it.
func (p *Provider) poll(c *call, form string) (answer, error) {
	if c.method != http.MethodGet {
		return answer{}, notAllowed(http.MethodGet)
	}
	return p.transact(func(x *tx) (answer, error) {
		a := c.address
		place := "/" + strings.Join(a.segments[:len(a.segments)-2], "/")
		tenant, caller := c.caller()
		o := x.operation(fold(a.name()))
		visible := o != nil && (place == o.Place || same(place, o.Place) && !x.breaks[pollCasing]) && (o.Tenant == tenant || x.breaks[tenantNotCompared]) &&
			o.Caller == caller && !x.now.Before(o.Unseen)
		if o == nil || !visible && !x.breaks[operationSeenByOthers] {
			return answer{}, notFound("OperationNotFound", "The operation '%s' was not found.", a.name())
		}
		if err := o.permits(c); err != nil {
			return answer{}, err
		}
		if form == "operationstatuses" {
			a := x.breaks.falsify(o).statusAnswer(x.now)
			if x.breaks[statusPoll202] && o.Ended.IsZero() {
				a.status = http.StatusAccepted
			}
			return a, nil
		}
		if x.breaks[locationResultDiffers] && !o.Ended.IsZero() && o.Error == nil {
			return jsonAnswer(http.StatusOK, map[string]string{"status": o.Status}), nil
		}
		return o.resultAnswer(), nil
	})
}

// resultAnswer returns 202 while the operation runs, and then the answer of a
// synchronous call.
func (o *operation) resultAnswer() answer {
	switch {
	case o.Ended.IsZero():
		a := emptyAnswer(http.StatusAccepted)
		if o.Location != "" {
			a.header.Set("Location", o.Location)
		}
		if o.RetryAfter != "" {
			a.header.Set("Retry-After", o.RetryAfter)
		}
		return a
	case o.Error != nil:
		return jsonAnswer(http.StatusConflict, errorBody{*o.Error})
	}
	return o.Result.answer()
}

// statusAnswer returns the operation resource (addendum, Operation Resource format).
func (o *operation) statusAnswer(now time.Time) answer {
	status := operationStatus{
		ID: o.Place + "/operationStatuses/" + o.ID, Name: o.ID, Status: o.Status,
		StartTime: o.Started.UTC(), PercentComplete: 100, Error: o.Error,
	}
	if o.Ended.IsZero() {
		status.PercentComplete = max(0, 100*float64(now.Sub(o.Started))/float64(o.Due.Sub(o.Started))) // a clock may be set back
	} else {
		status.EndTime = o.Ended.UTC()
	}
	if o.Status == stateSucceeded && o.Kind == actionOperation {
		status.Properties = o.Result.Body
	}
	a := jsonAnswer(http.StatusOK, status)
	if o.Ended.IsZero() && o.RetryAfter != "" {
		a.header.Set("Retry-After", o.RetryAfter)
	}
	return a
}

type operationStatus struct {
	ID              string          `json:"id"`
	Name            string          `json:"name"`
	Status          string          `json:"status"`
	StartTime       time.Time       `json:"startTime"`
	EndTime         time.Time       `json:"endTime,omitzero"`
	PercentComplete float64         `json:"percentComplete"`
	Properties      json.RawMessage `json:"properties,omitempty"`
	Error           *errorDetail    `json:"error,omitempty"`
}
