package deployments

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/gateway/polling"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/jobrow"
	"portico/jobs/deploy"
	"portico/routing"
	"portico/upstream/answers"
)

// Deployments serves deployments of templates to groups and subscriptions.
type Deployments struct {
	Store     *inventory.Store
	Nesting   Nesting
	Admission *admission.Admission
	Polls     *polling.Operations
	Lists     route.Lists
	Orders
	// Judge checks the resources of a template without calling their providers, as the
	// deployment calls them right afterwards.
	Judge   Checker
	History int // the number of deployments that a scope keeps
	Running int // the number that may run in a subscription
	// ShareOf returns one caller's share of a common limit.
	ShareOf func(int64) int64
	Limit   time.Duration // the time of a deployment
}

const action = "Microsoft.Resources/deployments/"

// Routes returns the routes of deployments.
func (d Deployments) Routes() []route.Route {
	routes := []route.Route{
		{Method: http.MethodPut, Matches: deploymentPath(2, ""), Action: action + "write", Relaxed: true, Handle: d.put},
		{Method: http.MethodGet, Matches: deploymentPath(2, ""), Action: action + "read", Handle: d.get},
		{Method: http.MethodHead, Matches: deploymentPath(2, ""), Action: action + "read", Handle: d.head},
		{Method: http.MethodDelete, Matches: deploymentPath(2, ""), Action: action + "delete", Handle: d.delete},
		{Method: http.MethodGet, Matches: deploymentPath(1, ""), Action: action + "read", Handle: d.list},
		{Method: http.MethodPost, Matches: deploymentPath(3, "cancel"), Action: action + "cancel/action", Handle: d.cancel},
		{Method: http.MethodPost, Matches: deploymentPath(3, "exportTemplate"), Action: action + "exportTemplate/action", IgnoresLocks: true, Handle: d.export},
		{Method: http.MethodGet, Matches: deploymentPath(4, polling.Statuses), Action: action + "operationStatuses/read", Excused: d.Polls.Began, Handle: d.status},
		{Method: http.MethodGet, Matches: deploymentPath(3, "operations"), Action: action + "operations/read", Handle: d.operations},
		{Method: http.MethodGet, Matches: deploymentPath(4, "operations"), Action: action + "operations/read", Handle: d.operation},
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/resourcegroups/{g}/deployments/{d}/operations",
			Action: action + "operations/read", Handle: d.operations,
		},
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/resourcegroups/{g}/deployments/{d}/operations/{o}",
			Action: action + "operations/read", Handle: d.operation,
		},
		{
			Method: http.MethodPost, Path: "/providers/microsoft.resources/calculatetemplatehash",
			Open: "it hashes the content, and reads nothing", Relaxed: true, Handle: d.templateHash,
		},
	}
	return routes
}

// deploymentPath matches paths of deployments in groups and subscriptions with the given
// number of segments; if word is not empty, it is the third.
func deploymentPath(segments int, word string) func(*routing.Request) bool {
	return func(q *routing.Request) bool {
		return q.Path.Subscription() != "" && q.Path.Hops() == 1 && route.EndsIn(q, "Microsoft.Resources", "deployments", segments) &&
			(word == "" || arm.EqualFold(q.Path.LastHop().Segment(2), word))
	}
}

// nameOf returns the name of the deployment in a request's path.
func nameOf(x *exchange.Exchange) deploymentrow.Name {
	n := deploymentrow.Name{Subscription: x.Request.Path.Subscription(), Group: x.Request.Path.Group()}
	if x.Request.Path.Hops() > 0 {
		n.Name = x.Request.Path.LastHop().Segment(1)
	} else {
		n.Name = x.Request.Path.Segment(5)
	}
	return n
}

func (d Deployments) put(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	if x.Parent != nil {
		return d.beginNested(w, r, x, req)
	}
	n := nameOf(x)
	proposed, err := d.plan(r, x, req)
	if err != nil {
		return err
	}
	o := proposed.order
	// A resource that is not sent if it exists needs no right to write it: it is checked
	// when it is sent.
	sent := slices.DeleteFunc(proposed.samples(), func(s Sent) bool { return s.OnlyIfNotExists })
	if err := d.Judge.check(r, x, o.Scope, n.Name, sent, o.ValidationLevel); err != nil {
		return err
	}
	started := deploymentrow.Started{
		Name: n, ID: o.ID(), Record: proposed.text, Payload: o.Payload(0, len(proposed.Resources)+len(proposed.Deployments)),
		History: d.History, Running: d.Running,
		Caller: o.CallerName, RunningOfCaller: int(d.ShareOf(int64(d.Running))), ContentOfCaller: int(d.ShareOf(deploymentrow.MostContent)),
	}
	if started.Content, err = json.Marshal(o); err != nil {
		return fmt.Errorf("write the order of a deployment: %w", err)
	}
	if err := d.Admission.CheckOperation(r.Context(), x, &req.Subscription); err != nil {
		return err
	}
	id := uuid.NewString()
	started.Operation = d.Polls.Record(x, req.Subscription, id)
	if until := d.Store.Now().Add(2 * d.Limit); started.Operation.Until.Before(until) {
		started.Operation.Until = until
	}
	job, created, err := d.Store.Deployments.Begin(r.Context(), started)
	if err != nil {
		return d.refusal(r.Context(), x, n, fmt.Errorf("record a deployment: %w", err))
	}
	if ended, ok := d.awaitEnd(r, x, job); ok {
		return x.Answer(w, route.StatusOf(created), ended)
	}
	link := answers.PublicLink(d.Polls.Public, x.Request.Path.Escaped()+"/"+polling.Statuses+"/"+id, "api-version="+x.Request.Query.APIVersion)
	w.Header()["Azure-Asyncoperation"] = []string{link}
	d.Polls.PollAgain(w.Header(), d.Store.Now())
	return x.Answer(w, route.StatusOf(created), proposed.record.Record)
}

// awaitEnd waits for the end of a deployment that a request began, and returns the record
// for clients if it has succeeded. A failed one is left to the poll: clients find no
// error code in a PUT that fails at once.
func (d Deployments) awaitEnd(r *http.Request, x *exchange.Exchange, job jobrow.Job) (record deploy.Record, ok bool) {
	if job, ended := d.Polls.Await(r.Context(), x, job); !ended || job.State != jobrow.Done {
		return record, false
	}
	found, seen, err := d.findDeployment(r, x)
	return seen.Record, err == nil && found.Job == job.ID
}

func (d Deployments) refusal(ctx context.Context, x *exchange.Exchange, n deploymentrow.Name, err error) error {
	switch {
	case errors.Is(err, deploymentrow.ErrTooMany):
		return tooMany("as many deployments of the subscription are under way as may be")
	case errors.Is(err, deploymentrow.ErrCallerShare):
		return tooMany(fmt.Sprintf("as many deployments of this caller are under way in the subscription as one caller may have: %d, with templates "+
			"and parameters of %d MiB",
			d.ShareOf(int64(d.Running)), d.ShareOf(deploymentrow.MostContent)>>20))
	case !errors.Is(err, deploymentrow.ErrActive):
		return admission.Refusal(x, err)
	}
	since := ""
	if current, err := d.Store.Deployments.Deployment(ctx, n); err == nil {
		since = current.Began.UTC().Format(time.RFC3339)
	}
	return arm.NewError(arm.DeploymentActive, n.Name, since)
}

// tooMany returns the error for a deployment that must wait for another to end.
func tooMany(why string) *arm.Error {
	fault := arm.NewError(arm.TooManyRequests, why)
	fault.RetryAfter = arm.OutageRetryAfter
	return fault
}

// findDeployment finds the deployment that a request names, and its current record for
// clients.
func (d Deployments) findDeployment(r *http.Request, x *exchange.Exchange) (found deploymentrow.Deployment, record deploy.Stored, err error) {
	n := nameOf(x)
	found, err = d.Store.Deployments.Deployment(r.Context(), n)
	if errors.Is(err, inventory.ErrNotFound) {
		return found, record, arm.NewError(arm.DeploymentNotFound, n.Name)
	}
	if err != nil {
		return found, record, fmt.Errorf("read a deployment: %w", err)
	}
	record, err = deploy.Seen(found)
	return found, record, err
}

func (d Deployments) get(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	_, record, err := d.findDeployment(r, x)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, record.Record)
}

func (d Deployments) head(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	if _, _, err := d.findDeployment(r, x); err != nil {
		return err
	}
	return x.Answer(w, http.StatusNoContent, nil)
}

// delete deletes a deployment within the request.
func (d Deployments) delete(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	n := nameOf(x)
	if err := d.Store.Deployments.Delete(r.Context(), n); err != nil {
		return d.refusal(r.Context(), x, n, fmt.Errorf("delete a deployment: %w", err))
	}
	return x.Answer(w, http.StatusNoContent, nil)
}

func (d Deployments) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	page, err := d.Lists.Read(x)
	if err != nil {
		return err
	}
	wanted, err := stateFilter(x)
	if err != nil {
		return err
	}
	var failure error
	source := route.ListSource[deploymentrow.Named]{
		Read: func(after string, limit int) ([]deploymentrow.Named, error) {
			return d.Store.Deployments.List(r.Context(), req.Subscription.ID, req.Group.Name, after, limit, route.PageBytes)
		},
		Bytes: func(n deploymentrow.Named) int { return len(n.Record) },
		Key:   func(n deploymentrow.Named) string { return n.Name },
		Keep:  func(n deploymentrow.Named) bool { return wanted == "" || strings.EqualFold(n.State.String(), wanted) },
		Show: func(n deploymentrow.Named) any {
			record, err := deploy.Seen(n.Deployment)
			failure = cmp.Or(failure, err)
			return record.Record
		},
	}
	return cmp.Or(source.Answer(w, x, d.Lists, page), failure)
}

func (d Deployments) cancel(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	found, record, err := d.findDeployment(r, x)
	if err != nil {
		return err
	}
	if around := record.Within; around != nil && found.State == deploymentrow.Running {
		return arm.NewError(arm.DeploymentNotRunning, nameOf(x).Name, found.State.String()).
			WithMessage("The deployment '%s' is a part of the deployment '%s': cancel that one.", nameOf(x).Name, around.Deployment.Name)
	}
	if found.State == deploymentrow.Running {
		err = d.Store.CancelJob(r.Context(), req.Subscription.ID, found.Job)
	}
	ended := errors.Is(err, jobrow.ErrEnded)
	if ended { // since it was read
		found, _, err = d.findDeployment(r, x)
	}
	if err != nil {
		return err
	}
	if ended || found.State != deploymentrow.Running {
		return arm.NewError(arm.DeploymentNotRunning, nameOf(x).Name, found.State.String())
	}
	return x.Answer(w, http.StatusNoContent, nil)
}

// export answers with the template of a deployment as it was sent: expressions are not
// evaluated, and parameters have no values.
func (d Deployments) export(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	found, record, err := d.findDeployment(r, x)
	if err != nil {
		return err
	}
	if around := record.Within; around != nil {
		return arm.NewError(arm.ResourceTypeNotSupported).WithMessage("The template of the nested deployment '%s' is a part of that of the "+
			"deployment '%s': export that one.", nameOf(x).Name, around.Deployment.Name)
	}
	exported := exportedTemplate{}
	if n := nameOf(x); found.State == deploymentrow.Running {
		exported.Template, err = deploy.Template(r.Context(), d.Store.Deployments, n, found.Job)
	} else {
		exported.Template, err = d.Store.Deployments.Template(r.Context(), n, found.Job)
	}
	if errors.Is(err, inventory.ErrNotFound) { // deleted or replaced meanwhile
		return arm.NewError(arm.DeploymentNotFound, nameOf(x).Name)
	}
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, exported)
}

type exportedTemplate struct {
	Template json.RawMessage `json:"template"`
}

// status answers with the status of a PUT.
func (d Deployments) status(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	_, job, err := d.Polls.Job(r, x, req.Subscription)
	if err != nil {
		return err
	}
	status := deploymentStatus{Status: map[jobrow.State]string{jobrow.Done: "Succeeded", jobrow.Failed: "Failed", jobrow.Cancelled: "Canceled"}[job.State]}
	if status.Status == "" {
		status.Status = "Running"
		d.Polls.PollAgain(w.Header(), job.Created)
		return x.Answer(w, http.StatusOK, status)
	}
	if found, err := d.Store.Deployments.Deployment(r.Context(), nameOf(x)); err == nil && found.Job == job.ID {
		record, err := deploy.Seen(found)
		if err != nil {
			return fmt.Errorf("read the record of a deployment: %w", err)
		}
		status.Error = record.Properties.Error
	}
	if status.Error == nil && job.State != jobrow.Done {
		status.Error = arm.NewError(arm.DeploymentFailed)
	}
	return x.Answer(w, http.StatusOK, status)
}

type deploymentStatus struct {
	Status string     `json:"status"`
	Error  *arm.Error `json:"error,omitempty"`
}
