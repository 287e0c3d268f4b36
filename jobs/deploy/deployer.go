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
	Parent  *deploymentrow.Parent // for a call that begins a nested deployment: the deployment that makes it
}

// Sender sends a call as a deployment's caller, through the same checks as the caller's own
// requests. After an error it is unknown whether the call took effect.
type Sender func(ctx context.Context, c Call) (Response, error)

// Deployer runs deployments. It is a kind of durable work.
type Deployer struct {
	Store  *inventory.Store
	Sender func(caller json.RawMessage) (Sender, error) // for the deployments of a caller
	Limits deployplan.Limits
	// Target returns the request for a resource, and its endpoint; see [probe.Prober.Target].
	Target func(inventory.Resource) (*routing.Request, *regions.Endpoint, error)
	// May returns why a caller may not do what an ID names.
	May func(ctx context.Context, caller json.RawMessage, action, id string) error
	// Unregistered reports whether a subscription must yet be registered for a namespace.
	Unregistered func(ctx context.Context, subscription, namespace string) (bool, error)
	// Limit bounds the time of a deployment, and CallLimit the time of a call, after which it
	// cannot take effect any more.
	Limit, CallLimit time.Duration
	Kept             time.Duration // how long an ended job is kept
	// Patience is the longest pause that an attempt waits out with nothing under way. For longer
	// ones it gives the job back, in favour of others.
	Patience time.Duration
	// Memory bounds the answers that all deployments hold, MemoryLimit the answers that one holds.
	Memory      *limits.Memory
	MemoryLimit int64
	Log         *zap.Logger

	metrics *metrics
	shelf   *shelf
	reads   chan struct{} // places for reading large answers
}

// Describe implements [jobs.Kind].
func (d *Deployer) Describe() jobs.Description {
	return jobs.Description{Cancellable: true, AfterRestore: jobs.Cancelled, Limit: d.Limit, LimitSetting: "deployments.limit",
		Canceled: "What was deployed stays. Nothing more is sent.",
		Problems: jobs.Problems{Subject: "A deployment"}, GiveUpPart: d.giveUp, Breakdown: d.breakdown,
		Show: func(j jobrow.Job) jobs.ProgressReport {
			var p payload
			_ = j.Read(&p) // it is this package's
			return jobs.ProgressReport{Done: p.Progress.Done, Of: p.Progress.Of}
		}}
}

type payload struct {
	Progress progress `json:"progress"`
	// CallerName is here too, as the content, which has it, is large and encrypted.
	CallerName string `json:"callerName,omitempty"`
}

type progress struct {
	Done int `json:"done"`
	Of   int `json:"of"`
}

// Payload returns a job payload with the deployment's caller and progress.
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

// nameOf returns the name of a job's deployment.
func nameOf(job jobrow.Job) deploymentrow.Name {
	var group string
	if in, inGroup := strings.CutPrefix(arm.Fold(job.Subject), "/subscriptions/"+job.Subscription+"/resourcegroups/"); inGroup {
		group, _, _ = strings.Cut(in, "/")
	}
	return deploymentrow.Name{Subscription: job.Subscription, Group: group, Name: job.Subject[strings.LastIndexByte(job.Subject, '/')+1:]}
}
