package deploy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/deploymentrow"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/jobs/deploy/deployplan"
	"portico/limits"
	"portico/regions"
	"portico/routing"
)

// Call is a request that a step makes.
type Call struct {
	Method  string
	Target  string // path and query
	Content []byte
	Parent  *deploymentrow.Parent // of a call that begins a nested deployment: the one that runs
}

// Sender sends a call as a deployment's caller, through all that a request of its own goes
// through. An error means that nothing is known of what became of it.
type Sender func(ctx context.Context, c Call) (Response, error)

// Deployer runs deployments. It is a kind of durable work.
type Deployer struct {
	Store  *inventory.Store
	Sender func(caller json.RawMessage) (Sender, error) // of a deployment whose caller this is
	Limits deployplan.Limits
	// Target is the request of a resource, and its endpoint; see [locate.Prober.Target].
	Target func(inventory.Resource) (*routing.Request, *regions.Endpoint, error)
	// May returns why a caller may not do what an ID names.
	May func(ctx context.Context, caller json.RawMessage, action, id string) error
	// Unregistered reports whether a subscription must yet be registered for a namespace.
	Unregistered func(ctx context.Context, subscription, namespace string) (bool, error)
	// Limit is how long a deployment may take; CallLimit how long a call may, after which
	// it cannot land any more.
	Limit, CallLimit time.Duration
	Kept             time.Duration // of its job
	// Patience is how long an attempt waits with nothing under way before it gives the job
	// back, in favour of others.
	Patience time.Duration
	// Memory is for what deployments know of answers to their questions; MemoryLimit bounds
	// what one of them takes.
	Memory      *limits.Memory
	MemoryLimit int64
	Log         *zap.Logger

	metrics *metrics
	shelf   *shelf
	reads   chan struct{} // of answers at a time
}

// Describe implements [jobs.Kind].
func (d *Deployer) Describe() jobs.Description {
	return jobs.Description{Cancellable: true, AfterRestore: jobs.Cancelled, Limit: d.Limit, LimitSetting: "deployments.limit",
		Problems: jobs.Problems{Subject: "A deployment"}, GiveUpPart: d.giveUp, Breakdown: d.breakdown,
		Show: func(j jobrow.Job) jobs.ProgressReport {
			var p payload
			_ = j.Read(&p) // it is this package's
			return jobs.ProgressReport{Done: p.Progress.Done, Of: p.Progress.Of}
		}}
}

type payload struct {
	Progress progress `json:"progress"`
	// CallerName stands here too, as the content, which has it, is large and encrypted.
	CallerName string `json:"callerName,omitempty"`
}

type progress struct {
	Done int `json:"done"`
	Of   int `json:"of"`
}

// Payload returns a job payload that records whose deployment it is, and its progress.
func (o *Order) Payload(done, of int) string {
	return jobrow.PayloadOf(payload{progress{done, of}, o.CallerName})
}

// Caller implements [jobs.Commissioned].
func (d *Deployer) Caller(_ context.Context, job jobrow.Job) (string, error) {
	var p payload
	err := job.Read(&p)
	return p.CallerName, err
}

func (d *Deployer) orderOf(ctx context.Context, job jobrow.Job) (o Order, err error) {
	content, err := d.Store.Deployments.Content(ctx, nameOf(job), job.ID)
	if err == nil {
		err = json.Unmarshal(content, &o)
	}
	if err != nil {
		return o, fmt.Errorf("read the order of a deployment: %w", err)
	}
	return o, nil
}

// nameOf is the deployment of a job.
func nameOf(job jobrow.Job) deploymentrow.Name {
	var group string
	if in, inGroup := strings.CutPrefix(arm.Fold(job.Subject), "/subscriptions/"+job.Subscription+"/resourcegroups/"); inGroup {
		group, _, _ = strings.Cut(in, "/")
	}
	return deploymentrow.Name{Subscription: job.Subscription, Group: group, Name: job.Subject[strings.LastIndexByte(job.Subject, '/')+1:]}
}
