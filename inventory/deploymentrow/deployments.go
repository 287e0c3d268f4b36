// Package deploymentrow stores deployments of templates, each with the job that runs it and
// the results of its steps. The transactions that begin, end, cancel and delete a deployment
// record events. Only a deployment's content, which is encrypted, holds its secret
// parameters; at the end the template replaces the content.
package deploymentrow

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/inventory/transaction"
)

// Job is the kind of the job that runs a deployment. Its subject is the deployment's ID.
const Job = "deployment"

// ErrActive refuses to replace or delete a deployment that has not ended.
var ErrActive = errors.New("inventory: the deployment has not ended")

// MostContent bounds the total content, in bytes, of a subscription's running deployments:
// 16 templates of the largest size that a request may have.
const MostContent = 64 << 20

// Bounds of the stored deployments, in bytes. A scope may have maxHistory, or an equal share
// of the subscription's maxAllHistory if that is less, but at least minHistory.
const (
	maxHistory    = 128 << 20
	maxAllHistory = 16 << 30
	minHistory    = 16 << 20
)

// ErrTooMany refuses another deployment in a subscription that has too many running ones, or
// too much content of running ones.
var ErrTooMany = errors.New("inventory: the subscription has too many deployments under way")

// ErrCallerShare refuses another deployment of a caller that has as many running ones, or as
// much content of running ones, as one caller may have.
var ErrCallerShare = errors.New("inventory: the caller has too many deployments under way")

// State is the state of a deployment. The numbers are stored.
type State uint8

// The states of deployments.
const (
	Running State = iota
	Succeeded
	Failed
	Canceled
)

var states = [...]string{"Running", "Succeeded", "Failed", "Canceled"}

// String returns ARM's name of the state.
func (s State) String() string { return states[s] }

// Name identifies a deployment, in any casing.
type Name struct {
	Subscription string
	Group        string // empty at the subscription
	Name         string
}

func (n Name) folded() Name {
	return Name{arm.Fold(n.Subscription), arm.Fold(n.Group), arm.Fold(n.Name)}
}

// Deployment is a deployment as clients see it.
type Deployment struct {
	Job    [16]byte
	State  State
	Began  time.Time
	Record []byte // in the caller's format
}

// Step is the progress of a deployment's step. State and Record have the caller's format.
type Step struct {
	State   uint8
	Record  []byte
	Created *Deployed // the resource that an ended step created or changed; nil: none to record
}

const (
	insertDeployment = `INSERT INTO deployments (subscription, resource_group, name, job, state, began, record, content, operations, caller) ` +
		`VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	lockDeployment   = `SELECT job, state FROM deployments WHERE subscription = ? AND resource_group = ? AND name = ?` + engine.ForUpdate
	lockActive       = activeColumns + `subscription = ? AND resource_group = ? AND name = ? AND job = ? AND state = ?` + engine.ForUpdate
	selectDeployment = `SELECT job, state, began, record FROM deployments WHERE subscription = ? AND resource_group = ? AND name = ?`
	listDeployments  = `SELECT name, job, state, began, record FROM deployments WHERE subscription = ? AND resource_group = ? AND name > ? ORDER BY name LIMIT ?`
	sizesOfRecords   = `SELECT LENGTH(record) FROM deployments WHERE subscription = ? AND resource_group = ? AND name > ? ORDER BY name LIMIT ?`
	selectContent    = `SELECT content FROM deployments WHERE subscription = ? AND resource_group = ? AND name = ? AND job = ? AND state = ?`
	selectTemplate   = `SELECT content FROM deployments WHERE subscription = ? AND resource_group = ? AND name = ? AND job = ? AND state <> ?`
	selectOperations = `SELECT operations FROM deployments WHERE subscription = ? AND resource_group = ? AND name = ? AND job = ?`
	deleteDeployment = `DELETE FROM deployments WHERE subscription = ? AND resource_group = ? AND name = ?`
	endDeployment    = `UPDATE deployments SET state = ?, record = ?, operations = ?, content = ?
		WHERE subscription = ? AND resource_group = ? AND name = ? AND job = ?`
	sumDeployments = `SELECT COUNT(*), COALESCE(SUM(` + keptBytes + `), 0) FROM deployments WHERE subscription = ? AND resource_group = ?`
	oldDeployments = `SELECT name, ` + keptBytes + ` FROM deployments WHERE subscription = ? AND resource_group = ? AND state <> ? ORDER BY began LIMIT ?`
	keptBytes      = `LENGTH(record) + LENGTH(content) + LENGTH(operations)`
	countGroups    = `SELECT COUNT(*) FROM resource_groups WHERE subscription = ?`
	// sumRunning counts a nested deployment and its parent once: they have the same job.
	sumRunning = `SELECT COUNT(DISTINCT job), COALESCE(SUM(LENGTH(content)), 0),
		COUNT(DISTINCT CASE WHEN caller = ? THEN job END), COALESCE(SUM(CASE WHEN caller = ? THEN LENGTH(content) ELSE 0 END), 0)
		FROM deployments WHERE subscription = ? AND state = ?`

	putStep = `INSERT INTO deployment_steps (subscription, resource_group, job, step, state, record) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, resource_group, job, step) DO UPDATE SET state = excluded.state, record = excluded.record`
	giveUpStep  = `UPDATE deployment_steps SET state = ?, record = ? WHERE subscription = ? AND resource_group = ? AND job = ? AND step = ? AND state = ?`
	listSteps   = `SELECT step, state, record FROM deployment_steps WHERE subscription = ? AND resource_group = ? AND job = ? ORDER BY step`
	deleteSteps = `DELETE FROM deployment_steps WHERE subscription = ? AND resource_group = ? AND job = ?`

	// OfGroup deletes the deployments of a group.
	OfGroup = `DELETE FROM deployments WHERE subscription = ? AND resource_group = ?`
	// StepsOfGroup deletes their steps.
	StepsOfGroup = `DELETE FROM deployment_steps WHERE subscription = ? AND resource_group = ?`
)

// Deployments stores deployments.
type Deployments struct{ database *transaction.Database }

// New returns the deployments of a database.
func New(d *transaction.Database) *Deployments { return &Deployments{database: d} }

// sealPlace returns the place that encryption binds a part of a deployment to.
func sealPlace(n Name, job [16]byte, what string) []byte {
	return append([]byte("deployment "+what+" "+n.Subscription+" "+n.Group+" "+n.Name+" "), job[:]...)
}

// Started describes a deployment that begins.
type Started struct {
	Name
	ID      string // the deployment's full ID
	Record  []byte // what clients see while it runs
	Content []byte // everything that its job needs
	Payload string // of its job
	// Operation is the caller's polling URL. Its Follow becomes the ID of the job.
	Operation polls.Operation
	History   int // how many deployments the scope keeps; the oldest ended ones are dropped
	Running   int // how many deployments of the subscription may run
	// Caller identifies the caller. One caller may have RunningOfCaller running
	// deployments, with ContentOfCaller bytes of MostContent.
	Caller                           string
	RunningOfCaller, ContentOfCaller int
}

// Begin durably records a deployment with its job. It replaces an ended deployment of the
// same name; created reports whether there was none. The error is ErrActive if the one of
// that name still runs, and ErrCallerShare or ErrTooMany at the limits of running
// deployments. The scope must admit the write, as for the inventory's EditLock.
func (d *Deployments) Begin(ctx context.Context, b Started) (job jobrow.Job, created bool, err error) {
	n := b.folded()
	job = jobrow.Job{Subscription: n.Subscription, ID: engine.NewID(), Kind: Job, Subject: b.ID, Incarnation: engine.NewID(), Payload: b.Payload}
	record, err := d.database.Cipher.Encrypt(ctx, sealPlace(n, job.ID, "record"), b.Record)
	if err != nil {
		return job, false, fmt.Errorf("encrypt the record of a deployment: %w", err)
	}
	content, err := d.database.Cipher.Encrypt(ctx, sealPlace(n, job.ID, "content"), b.Content)
	if err != nil {
		return job, false, fmt.Errorf("encrypt the content of a deployment: %w", err)
	}
	caller := callerKey(b.Caller)
	created, err = transaction.Commit(ctx, d.database, engine.Flushed, scopeLocks(n), func(t *transaction.Tx) (bool, error) {
		if err := openScope(t, n); err != nil {
			return false, err
		}
		found, _, err := deleteEnded(t, n)
		if err != nil {
			return false, err
		}
		if err := b.checkLimits(t, n.Subscription, caller, len(content)); err != nil {
			return false, err
		}
		begun := startEvent(b.ID, !found, events.CauseOf(t.Context))
		if err := d.insert(t, n, job.ID, begun, record, content, caller, b.History); err != nil {
			return false, err
		}
		due := job
		due.Due = t.Now
		if _, err := due.Add(t.Tx); err != nil {
			return false, err
		}
		o := b.Operation
		o.Subscription, o.Follow = n.Subscription, job.ID
		return !found, o.Put(t)
	})
	return job, created, err
}

// callerKey returns the stored form of a caller. It is a hash, because a caller's name may
// be an e-mail address.
func callerKey(caller string) string {
	sum := sha256.Sum256([]byte(caller))
	return hex.EncodeToString(sum[:16])
}

// checkLimits refuses one more deployment at the limits of running deployments and their
// content. The first one of a caller, or of a subscription, may have more content.
func (b *Started) checkLimits(t *transaction.Tx, sub, caller string, content int) error {
	var running, size, own, ownSize int
	if err := t.One(sumRunning, caller, caller, sub, Running)(&running, &size, &own, &ownSize); err != nil {
		return fmt.Errorf("count running deployments: %w", err)
	}
	switch {
	case own >= b.RunningOfCaller, ownSize+content > b.ContentOfCaller && own > 0:
		return ErrCallerShare
	case running >= b.Running, size+content > MostContent && running > 0:
		return ErrTooMany
	}
	return nil
}

// scopeLocks returns the lock set of a write that begins a deployment in a scope.
func scopeLocks(n Name) engine.LockSet {
	if n.Group == "" {
		return transaction.SubscriptionLocks(n.Subscription)
	}
	return transaction.GroupLocks(n.Subscription, n.Group)
}

// openScope locks the deployment's scope, and returns an error unless it admits writes.
func openScope(t *transaction.Tx, n Name) error {
	if n.Group == "" {
		return t.Scopes.OpenSubscription(n.Subscription, "", false)
	}
	return t.Scopes.OpenGroup(n.Subscription, n.Group, false)
}

func (d *Deployments) insert(t *transaction.Tx, n Name, job [16]byte, begun events.Payload, record, content []byte, caller string, history int) error {
	text, err := json.Marshal(begun)
	if err != nil {
		return err
	}
	sealed, err := d.database.Cipher.Encrypt(t.Context, sealPlace(n, job, "beginning"), text)
	if err != nil {
		return fmt.Errorf("encrypt the event of a deployment's start: %w", err)
	}
	if _, err := t.Exec(insertDeployment, n.Subscription, n.Group, n.Name, job[:], Running, engine.Micros(t.Now), record, content, sealed, caller); err != nil {
		return fmt.Errorf("insert a deployment: %w", err)
	}
	if err := t.RecordOwnBy(begun.Cause, n.Subscription, begun); err != nil {
		return err
	}
	return dropOldest(t, n, history)
}

// deleteEnded deletes a deployment that has ended, and reports whether there was one. If the
// deployment still runs, it returns its job and ErrActive.
func deleteEnded(t *transaction.Tx, n Name) (found bool, job []byte, err error) {
	var state State
	err = t.One(lockDeployment, n.Subscription, n.Group, n.Name)(&job, &state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil, nil
	case err != nil:
		return false, nil, err
	case state == Running:
		return true, job, ErrActive
	}
	_, err = t.Exec(deleteDeployment, n.Subscription, n.Group, n.Name)
	return true, nil, err
}

// dropOldest drops the oldest ended deployments of a scope that has too many or too large
// ones.
func dropOldest(t *transaction.Tx, n Name, history int) error {
	var kept, groups int
	var bytes int64
	if err := t.One(sumDeployments, n.Subscription, n.Group)(&kept, &bytes); err != nil {
		return fmt.Errorf("count the deployments of a scope: %w", err)
	}
	if kept <= history && bytes <= minHistory {
		return nil
	}
	if err := t.One(countGroups, n.Subscription)(&groups); err != nil {
		return err
	}
	most := max(minHistory, min(maxHistory, maxAllHistory/int64(groups+1))) // 1 for the subscription itself
	if kept <= history && bytes <= most {
		return nil
	}
	type old struct {
		name  string
		bytes int64
	}
	oldest, err := engine.Collect(t, func(scan engine.Scanner) (o old, err error) {
		return o, scan(&o.name, &o.bytes)
	}, oldDeployments, n.Subscription, n.Group, Running, kept)
	if err != nil {
		return fmt.Errorf("read old deployments: %w", err)
	}
	for _, o := range oldest {
		if kept <= history && bytes <= most {
			break
		}
		kept, bytes, n.Name = kept-1, bytes-o.bytes, o.name
		if err := t.Later(deleteDeployment, n.Subscription, n.Group, o.name); err != nil {
			return err
		}
		if err := recordDeleted(t, events.Cause{}, n); err != nil { // no caller caused it
			return err
		}
	}
	return nil
}

// Deployment returns a deployment, or engine.ErrNotFound.
func (d *Deployments) Deployment(ctx context.Context, name Name) (found Deployment, err error) {
	n := name.folded()
	found, err = d.scan(ctx, n, d.database.Read(ctx).One(selectDeployment, n.Subscription, n.Group, n.Name))
	return found, engine.OrNotFound(err)
}

func (d *Deployments) scan(ctx context.Context, n Name, scan engine.Scanner, before ...any) (found Deployment, err error) {
	var (
		job, record []byte
		began       int64
	)
	if err := scan(append(before, &job, &found.State, &began, &record)...); err != nil {
		return found, err
	}
	copy(found.Job[:], job)
	found.Began = engine.TimeOf(began)
	if len(before) > 0 {
		n.Name = *before[0].(*string)
	}
	found.Record, err = d.database.Cipher.Decrypt(ctx, sealPlace(n, found.Job, "record"), record)
	return found, err
}

// Named is a deployment with its folded name.
type Named struct {
	Name string
	Deployment
}

// List returns the deployments of a scope after a folded name, in the order of their names:
// at most limit, and no more once their records have the given number of bytes together.
func (d *Deployments) List(ctx context.Context, sub, group, after string, limit, bytes int) ([]Named, error) {
	n := Name{Subscription: sub, Group: group}.folded()
	read := d.database.Read(ctx)
	sizes, err := engine.Collect(read, engine.ScanOne[int], sizesOfRecords, n.Subscription, n.Group, after, engine.LimitArg(limit))
	if err != nil || len(sizes) == 0 {
		return nil, err
	}
	fit := 0
	for ; fit < len(sizes) && bytes > 0; fit++ {
		bytes -= sizes[fit]
	}
	return engine.Collect(read, func(scan engine.Scanner) (found Named, err error) {
		found.Deployment, err = d.scan(ctx, n, scan, &found.Name)
		return found, err
	}, listDeployments, n.Subscription, n.Group, after, fit)
}

// Content returns the content of a running deployment, or engine.ErrNotFound if it has ended
// or no longer exists.
func (d *Deployments) Content(ctx context.Context, name Name, job [16]byte) ([]byte, error) {
	return d.readSealed(ctx, selectContent, name, job, "content", Running)
}

// Template returns the template of a deployment that has ended, or engine.ErrNotFound.
func (d *Deployments) Template(ctx context.Context, name Name, job [16]byte) ([]byte, error) {
	return d.readSealed(ctx, selectTemplate, name, job, "template", Running)
}

// Operations returns the results of the steps of a deployment that has ended.
func (d *Deployments) Operations(ctx context.Context, name Name, job [16]byte) ([]byte, error) {
	return d.readSealed(ctx, selectOperations, name, job, "operations")
}

func (d *Deployments) readSealed(ctx context.Context, statement string, name Name, job [16]byte, what string, state ...any) ([]byte, error) {
	n := name.folded()
	var text []byte
	err := d.database.Read(ctx).One(statement, append([]any{n.Subscription, n.Group, n.Name, job[:]}, state...)...)(&text)
	if err != nil || len(text) == 0 {
		return nil, engine.OrNotFound(err)
	}
	return d.database.Cipher.Decrypt(ctx, sealPlace(n, job, what), text)
}

// Delete durably deletes a deployment, if it exists, but not its resources. The error is
// ErrActive if it still runs.
func (d *Deployments) Delete(ctx context.Context, name Name) error {
	n := name.folded()
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(n.Subscription), func(t *transaction.Tx) error {
		found, _, err := deleteEnded(t, n)
		if err != nil || !found {
			return err
		}
		return recordDeleted(t, events.CauseOf(t.Context), name)
	})
}

// StepUpdate records the progress of a step in a transaction.
type StepUpdate func(*transaction.Tx) error

// EncryptStep returns the progress of a step, given its number, for [Deployments.PutSteps].
func (d *Deployments) EncryptStep(ctx context.Context, name Name, job [16]byte, number int, s Step) (StepUpdate, error) {
	n := name.folded()
	record, err := d.database.Cipher.Encrypt(ctx, sealPlace(n, job, "step"), s.Record)
	if err != nil {
		return nil, fmt.Errorf("encrypt a step: %w", err)
	}
	then := func(*transaction.Tx) error { return nil }
	if s.Created != nil {
		if then, err = s.Created.preparePut(ctx, d); err != nil {
			return nil, err
		}
	}
	return func(t *transaction.Tx) error {
		if err := t.Later(putStep, n.Subscription, n.Group, job[:], number, s.State, record); err != nil {
			return err
		}
		return then(t)
	}, nil
}

// PutSteps durably records the progress of steps. It calls progress in the transaction, again
// each time the transaction is repeated. The error is jobrow.ErrLeaseLost if the caller no
// longer holds the job, and engine.ErrNotFound if the deployment no longer exists.
func (d *Deployments) PutSteps(ctx context.Context, name Name, j jobrow.Job, progress func() []StepUpdate) error {
	n := name.folded()
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(n.Subscription), func(t *transaction.Tx) error {
		if _, err := d.lockRunning(t, n, &j); err != nil {
			return err
		}
		for _, p := range progress() {
			if err := p(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// lockRunning locks a deployment whose job the caller holds. It checks the job's holder under
// the lock, so that [Deployments.GiveUpStep] cannot revoke the lease meanwhile.
func (d *Deployments) lockRunning(t *transaction.Tx, n Name, j *jobrow.Job) (Active, error) {
	var running *Active
	var held bool
	err := t.LookUp(lookUpRunning(n, j.ID, &running), j.LookUpLease(&held))
	switch {
	case err != nil:
		return Active{}, err
	case !held:
		return Active{}, jobrow.ErrLeaseLost
	case running == nil:
		return Active{}, engine.ErrNotFound
	}
	return *running, nil
}

// lookUpRunning returns a query that locks a running deployment of a job and sets running.
func lookUpRunning(n Name, id [16]byte, running **Active) engine.Lookup {
	return engine.LookupOf(lockActive, func(a Active) { *running = &a }, scanActive, n.Subscription, n.Group, n.Name, id[:], Running)
}

// GiveUpStep durably ends a step on behalf of an operator and revokes the lease of the job's
// holder; the job's next attempt finds the step as s. did is for the job's history. The error
// is engine.ErrNotFound if the deployment does not run, and jobrow.ErrLeaseLost if the step
// is no longer in the state before.
func (d *Deployments) GiveUpStep(ctx context.Context, name Name, job [16]byte, step int, before uint8, s Step, did string) error {
	n := name.folded()
	record, err := d.database.Cipher.Encrypt(ctx, sealPlace(n, job, "step"), s.Record)
	if err != nil {
		return fmt.Errorf("encrypt a step that is given up: %w", err)
	}
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(n.Subscription), func(t *transaction.Tx) error {
		var running *Active
		switch err := t.LookUp(lookUpRunning(n, job, &running)); {
		case err != nil:
			return err
		case running == nil:
			return engine.ErrNotFound
		}
		j, err := jobrow.Lock(t.Tx, n.Subscription, job)
		if err != nil {
			return err
		}
		switch changed, err := t.Exec(giveUpStep, s.State, record, n.Subscription, n.Group, job[:], step, before); {
		case err != nil:
			return err
		case changed == 0:
			return jobrow.ErrLeaseLost
		}
		return j.Revoke(t.Tx, did)
	})
}

// Steps returns the recorded steps of a running deployment by their numbers.
func (d *Deployments) Steps(ctx context.Context, name Name, job [16]byte) (map[int]Step, error) {
	n, steps := name.folded(), map[int]Step{}
	return steps, d.database.Read(ctx).Each(func(scan engine.Scanner) error {
		var number int
		var s Step
		if err := scan(&number, &s.State, &s.Record); err != nil {
			return err
		}
		var err error
		s.Record, err = d.database.Cipher.Decrypt(ctx, sealPlace(n, job, "step"), s.Record)
		steps[number] = s
		return err
	}, listSteps, n.Subscription, n.Group, job[:])
}

// Ended describes the end of a deployment.
type Ended struct {
	State      State
	Error      *arm.Error // nil: it succeeded
	Record     []byte     // what clients see from now on
	Operations []byte     // the results of its steps
	Template   []byte     // nil: none is kept
	Payload    string     // of its job
	Kept       time.Duration
}

// End durably ends a deployment and its job. It deletes the steps, and the content except the
// template. Nested deployments that still run are ended as failed. If the deployment no longer
// exists, only the job ends. The error is jobrow.ErrLeaseLost if the caller no longer holds
// the job.
func (d *Deployments) End(ctx context.Context, name Name, j jobrow.Job, e Ended) error {
	n := name.folded()
	end, err := d.prepareEnd(ctx, n, j, e)
	if err != nil {
		return err
	}
	state := map[State]jobrow.State{Succeeded: jobrow.Done, Failed: jobrow.Failed, Canceled: jobrow.Cancelled}[e.State]
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(n.Subscription), func(t *transaction.Tx) error {
		there, err := end(t)
		if err != nil {
			return err
		}
		if there {
			if err := d.failNested(t, j.ID); err != nil {
				return err
			}
		}
		if _, err := t.Exec(deleteSteps, n.Subscription, n.Group, j.ID[:]); err != nil {
			return fmt.Errorf("delete the steps of a deployment: %w", err)
		}
		return j.End(t.Tx, state, e.Payload, t.Now.Add(e.Kept))
	})
}

// prepareEnd returns a function that ends a deployment in a transaction, and reports whether
// it still exists. The function replaces the content by the template, or by nothing, and
// drops the scope's oldest records of deployed resources if there are too many.
func (d *Deployments) prepareEnd(ctx context.Context, n Name, j jobrow.Job, e Ended) (end func(*transaction.Tx) (there bool, err error), err error) {
	parts := []struct {
		what string
		text []byte
	}{{"record", e.Record}, {"operations", e.Operations}, {"template", e.Template}}
	encrypted := make([][]byte, len(parts))
	for i, p := range parts {
		encrypted[i] = []byte{}
		if p.text == nil {
			continue
		}
		if encrypted[i], err = d.database.Cipher.Encrypt(ctx, sealPlace(n, j.ID, p.what), p.text); err != nil {
			return nil, fmt.Errorf("encrypt the %s of a deployment: %w", p.what, err)
		}
	}
	return func(t *transaction.Tx) (bool, error) {
		active, err := d.lockRunning(t, n, &j)
		switch {
		case errors.Is(err, engine.ErrNotFound):
			return false, nil
		case err != nil:
			return false, err
		}
		if _, err := t.Exec(endDeployment, e.State, encrypted[0], encrypted[1], encrypted[2], n.Subscription, n.Group, n.Name, j.ID[:]); err != nil {
			return false, fmt.Errorf("end a deployment: %w", err)
		}
		if err := d.recordEnd(t, active, events.Status(e.State.String()), e.Error, false); err != nil {
			return false, err
		}
		return true, t.Later(dropOldestDeployed, n.Subscription, n.Group, n.Subscription, n.Group, DeployedKept)
	}, nil
}
