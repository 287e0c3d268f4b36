// Package deploymentrow keeps deployments of templates, each with the job that runs it, and
// what their steps came to. The transactions that begin, end, cancel and delete them record
// that as events. Secrets among what a deployment was given are in its content
// alone, which is encrypted, and gives way to the template at its end.
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

// MostContent bounds the bytes of all content of one subscription's deployments that have not
// ended: 16 templates of the largest size that a request may have.
const MostContent = 64 << 20

// Bounds of the deployments that are kept, in bytes: of one scope, and of all scopes of a
// subscription, each of which may have as large a part of that, but at least leastHistory.
const (
	mostHistory  = 128 << 20
	allHistory   = 16 << 30
	leastHistory = 16 << 20
)

// ErrTooMany refuses another deployment in a subscription with too many that have not ended,
// or with too much content of such ones.
var ErrTooMany = errors.New("inventory: the subscription has too many deployments under way")

// ErrCallerShare refuses another deployment of a caller that has as many of these, or as much
// content, as one caller may have.
var ErrCallerShare = errors.New("inventory: the caller has too many deployments under way")

// State says whether a deployment runs, or how it has ended. The numbers are stored.
type State uint8

// The states of deployments.
const (
	Running State = iota
	Succeeded
	Failed
	Canceled
)

var states = [...]string{"Running", "Succeeded", "Failed", "Canceled"}

// String names the state as ARM does.
func (s State) String() string { return states[s] }

// Name is where a deployment lies; case does not count.
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
	Record []byte // in the form of whoever wrote it
}

// Step is the progress of a step: its state and record, in the form of whoever wrote them.
type Step struct {
	State   uint8
	Record  []byte
	Created *Deployed // what it has made, with its end; nil: nothing, or nothing that is kept
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
	// sumRunning counts nested ones with the one whose job they have.
	sumRunning = `SELECT COUNT(DISTINCT job), COALESCE(SUM(LENGTH(content)), 0),
		COUNT(DISTINCT CASE WHEN caller = ? THEN job END), COALESCE(SUM(CASE WHEN caller = ? THEN LENGTH(content) ELSE 0 END), 0)
		FROM deployments WHERE subscription = ? AND state = ?`

	putStep = `INSERT INTO deployment_steps (subscription, resource_group, job, step, state, record) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, resource_group, job, step) DO UPDATE SET state = excluded.state, record = excluded.record`
	giveUpStep  = `UPDATE deployment_steps SET state = ?, record = ? WHERE subscription = ? AND resource_group = ? AND job = ? AND step = ? AND state = ?`
	listSteps   = `SELECT step, state, record FROM deployment_steps WHERE subscription = ? AND resource_group = ? AND job = ? ORDER BY step`
	deleteSteps = `DELETE FROM deployment_steps WHERE subscription = ? AND resource_group = ? AND job = ?`

	// OfGroup forgets the deployments of a group.
	OfGroup = `DELETE FROM deployments WHERE subscription = ? AND resource_group = ?`
	// StepsOfGroup forgets their steps.
	StepsOfGroup = `DELETE FROM deployment_steps WHERE subscription = ? AND resource_group = ?`
)

// Deployments are those of a database.
type Deployments struct{ database *transaction.Database }

// New returns the deployments of a database.
func New(d *transaction.Database) *Deployments { return &Deployments{database: d} }

// place binds what is encrypted to where it stands.
func place(n Name, job [16]byte, what string) []byte {
	return append([]byte("deployment "+what+" "+n.Subscription+" "+n.Group+" "+n.Name+" "), job[:]...)
}

// Started is a deployment that begins.
type Started struct {
	Name
	ID      string // its whole ID
	Record  []byte // what clients see while it runs
	Content []byte // all that its job needs
	Payload string // of its job
	// Operation is what the caller polls. Its Follow becomes the ID of the job.
	Operation polls.Operation
	History   int // how many of the scope are kept; the oldest ones that have ended go
	Running   int // how many of the subscription may be under way
	// Caller tells callers apart. One may have RunningOfCaller of those under way, with
	// ContentOfCaller bytes of MostContent.
	Caller                           string
	RunningOfCaller, ContentOfCaller int
}

// Begin durably records a deployment with its job, in place of one of its name that has
// ended: created reports whether there was none. It returns ErrActive if that has not ended,
// ErrCallerShare or ErrTooMany if as many or as much as may be under way are, and refuses as a
// lock on its scope would be.
func (d *Deployments) Begin(ctx context.Context, b Started) (job jobrow.Job, created bool, err error) {
	n := b.folded()
	job = jobrow.Job{Subscription: n.Subscription, ID: engine.NewID(), Kind: Job, Subject: b.ID, Incarnation: engine.NewID(), Payload: b.Payload}
	record, err := d.database.Cipher.Encrypt(ctx, place(n, job.ID, "record"), b.Record)
	if err != nil {
		return job, false, fmt.Errorf("encrypt the record of a deployment: %w", err)
	}
	content, err := d.database.Cipher.Encrypt(ctx, place(n, job.ID, "content"), b.Content)
	if err != nil {
		return job, false, fmt.Errorf("encrypt the content of a deployment: %w", err)
	}
	caller := callerKey(b.Caller)
	created, err = transaction.Commit(ctx, d.database, engine.Flushed, locksOf(n), func(t *transaction.Tx) (bool, error) {
		if err := open(t, n); err != nil {
			return false, err
		}
		found, _, err := remove(t, n)
		if err != nil {
			return false, err
		}
		if err := b.admit(t, n.Subscription, caller, len(content)); err != nil {
			return false, err
		}
		begun := beginning(b.ID, !found, events.CauseOf(t.Context))
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

// callerKey is the key of a caller, whose name may be an address.
func callerKey(caller string) string {
	sum := sha256.Sum256([]byte(caller))
	return hex.EncodeToString(sum[:16])
}

// admit refuses one more deployment if as many are under way as may be, or as much content. The
// first one of a caller, or of a subscription, may have more content.
func (b *Started) admit(t *transaction.Tx, sub, caller string, content int) error {
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

// locksOf are the locks of a write that begins a deployment in a scope.
func locksOf(n Name) engine.LockSet {
	if n.Group == "" {
		return transaction.SubscriptionLocks(n.Subscription)
	}
	return transaction.GroupLocks(n.Subscription, n.Group)
}

// open refuses a deployment as a lock on its scope would be.
func open(t *transaction.Tx, n Name) error {
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
	sealed, err := d.database.Cipher.Encrypt(t.Context, place(n, job, "beginning"), text)
	if err != nil {
		return fmt.Errorf("encrypt the event of a deployment's start: %w", err)
	}
	if _, err := t.Exec(insertDeployment, n.Subscription, n.Group, n.Name, job[:], Running, engine.Micros(t.Now), record, content, sealed, caller); err != nil {
		return fmt.Errorf("insert a deployment: %w", err)
	}
	if err := t.RecordOwnBy(begun.Cause, n.Subscription, begun); err != nil {
		return err
	}
	return bound(t, n, history)
}

// remove deletes a deployment that has ended, and reports whether there was one. With
// ErrActive it returns the job of one that has not.
func remove(t *transaction.Tx, n Name) (found bool, job []byte, err error) {
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

// bound drops the oldest deployments of a scope that has too many, or too large ones.
func bound(t *transaction.Tx, n Name, history int) error {
	var kept, groups int
	var bytes int64
	if err := t.One(sumDeployments, n.Subscription, n.Group)(&kept, &bytes); err != nil {
		return fmt.Errorf("count the deployments of a scope: %w", err)
	}
	if kept <= history && bytes <= leastHistory {
		return nil
	}
	if err := t.One(countGroups, n.Subscription)(&groups); err != nil {
		return err
	}
	most := max(leastHistory, min(mostHistory, allHistory/int64(groups+1))) // the subscription is a scope, too
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
		if err := recordDeleted(t, events.Cause{}, n); err != nil { // no one asked for that
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
	found.Began = engine.Moment(began)
	if len(before) > 0 {
		n.Name = *before[0].(*string)
	}
	found.Record, err = d.database.Cipher.Decrypt(ctx, place(n, found.Job, "record"), record)
	return found, err
}

// Named is a deployment of a list, by its folded name.
type Named struct {
	Name string
	Deployment
}

// List returns deployments of a scope, by their folded names, from behind one on: no more than
// limit, and no further one once their records have so many bytes together.
func (d *Deployments) List(ctx context.Context, sub, group, after string, limit, bytes int) ([]Named, error) {
	n := Name{Subscription: sub, Group: group}.folded()
	read := d.database.Read(ctx)
	sizes, err := engine.Collect(read, engine.ScanOne[int], sizesOfRecords, n.Subscription, n.Group, after, engine.AtMost(limit))
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

// Content returns what the job of a deployment needs, or engine.ErrNotFound if the
// deployment is there no more, or has ended.
func (d *Deployments) Content(ctx context.Context, name Name, job [16]byte) ([]byte, error) {
	return d.part(ctx, selectContent, name, job, "content", Running)
}

// Template returns the template of a deployment that has ended, or engine.ErrNotFound.
func (d *Deployments) Template(ctx context.Context, name Name, job [16]byte) ([]byte, error) {
	return d.part(ctx, selectTemplate, name, job, "template", Running)
}

// Operations returns what the steps of a deployment that has ended came to.
func (d *Deployments) Operations(ctx context.Context, name Name, job [16]byte) ([]byte, error) {
	return d.part(ctx, selectOperations, name, job, "operations")
}

func (d *Deployments) part(ctx context.Context, statement string, name Name, job [16]byte, what string, state ...any) ([]byte, error) {
	n := name.folded()
	var text []byte
	err := d.database.Read(ctx).One(statement, append([]any{n.Subscription, n.Group, n.Name, job[:]}, state...)...)(&text)
	if err != nil || len(text) == 0 {
		return nil, engine.OrNotFound(err)
	}
	return d.database.Cipher.Decrypt(ctx, place(n, job, what), text)
}

// Delete durably deletes a deployment that has ended, if there is one, and never its
// resources.
func (d *Deployments) Delete(ctx context.Context, name Name) error {
	n := name.folded()
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(n.Subscription), func(t *transaction.Tx) error {
		found, _, err := remove(t, n)
		if err != nil || !found {
			return err
		}
		return recordDeleted(t, events.CauseOf(t.Context), name)
	})
}

// Progress is that of a step, ready to be recorded.
type Progress func(*transaction.Tx) error

// Progress returns that of the step of a number, for [Deployments.PutSteps].
func (d *Deployments) Progress(ctx context.Context, name Name, job [16]byte, number int, s Step) (Progress, error) {
	n := name.folded()
	record, err := d.database.Cipher.Encrypt(ctx, place(n, job, "step"), s.Record)
	if err != nil {
		return nil, fmt.Errorf("encrypt a step: %w", err)
	}
	then := func(*transaction.Tx) error { return nil }
	if s.Created != nil {
		if then, err = s.Created.put(ctx, d); err != nil {
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

// PutSteps durably records the progress of steps. It asks for that in the transaction, and
// once more if that is repeated. The error is jobrow.ErrLeaseLost if the caller no longer
// holds the job, and engine.ErrNotFound if the deployment is there no more.
func (d *Deployments) PutSteps(ctx context.Context, name Name, j jobrow.Job, progress func() []Progress) error {
	n := name.folded()
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(n.Subscription), func(t *transaction.Tx) error {
		if _, err := d.hold(t, n, &j); err != nil {
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

// hold locks a deployment whose job the caller holds. It reads the job's holder under
// the lock, so that [Deployments.GiveUpStep] cannot change it meanwhile.
func (d *Deployments) hold(t *transaction.Tx, n Name, j *jobrow.Job) (Active, error) {
	var running *Active
	var held bool
	err := t.LookUp(lookUpRunning(n, j.ID, &running), j.LookUpHeld(&held))
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

// lookUpRunning locks the deployment of a name, if a job runs it.
func lookUpRunning(n Name, id [16]byte, running **Active) engine.Lookup {
	return engine.LookupOf(lockActive, func(a Active) { *running = &a }, scanActive, n.Subscription, n.Group, n.Name, id[:], Running)
}

// GiveUpStep durably ends a step without the holder of its job and revokes the lease:
// the next attempt finds the step in the state of s. The job's history records did. The
// error is engine.ErrNotFound if the deployment does not run, and jobrow.ErrLeaseLost
// if the step is no longer in the state before.
func (d *Deployments) GiveUpStep(ctx context.Context, name Name, job [16]byte, step int, before uint8, s Step, did string) error {
	n := name.folded()
	record, err := d.database.Cipher.Encrypt(ctx, place(n, job, "step"), s.Record)
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

// Steps returns the recorded steps of a deployment by their numbers, while it runs.
func (d *Deployments) Steps(ctx context.Context, name Name, job [16]byte) (map[int]Step, error) {
	n, steps := name.folded(), map[int]Step{}
	return steps, d.database.Read(ctx).Each(func(scan engine.Scanner) error {
		var number int
		var s Step
		if err := scan(&number, &s.State, &s.Record); err != nil {
			return err
		}
		var err error
		s.Record, err = d.database.Cipher.Decrypt(ctx, place(n, job, "step"), s.Record)
		steps[number] = s
		return err
	}, listSteps, n.Subscription, n.Group, job[:])
}

// Ended is how a deployment has ended.
type Ended struct {
	State      State
	Error      *arm.Error // nil: it has succeeded
	Record     []byte     // what clients see from now on
	Operations []byte     // what its steps came to
	Template   []byte     // nil: none is kept
	Payload    string     // of its job
	Kept       time.Duration
}

// End durably ends a deployment and its job, and deletes its content but for the template,
// and its steps. Of its nested ones, those that have not ended have failed. The error is
// jobrow.ErrLeaseLost if the caller no longer holds the job. Of a deployment that is there no
// more, the job alone ends.
func (d *Deployments) End(ctx context.Context, name Name, j jobrow.Job, e Ended) error {
	n := name.folded()
	end, err := d.ending(ctx, n, j, e)
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
			if err := d.abandon(t, j.ID); err != nil {
				return err
			}
		}
		if _, err := t.Exec(deleteSteps, n.Subscription, n.Group, j.ID[:]); err != nil {
			return fmt.Errorf("delete the steps of a deployment: %w", err)
		}
		return j.End(t.Tx, state, e.Payload, t.Now.Add(e.Kept))
	})
}

// ending returns what ends a deployment of a job in a transaction, if it is still there: it
// puts the template, or nothing, in the place of the content, and drops the oldest records of
// what was deployed where its scope has too many.
func (d *Deployments) ending(ctx context.Context, n Name, j jobrow.Job, e Ended) (end func(*transaction.Tx) (there bool, err error), err error) {
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
		if encrypted[i], err = d.database.Cipher.Encrypt(ctx, place(n, j.ID, p.what), p.text); err != nil {
			return nil, fmt.Errorf("encrypt the %s of a deployment: %w", p.what, err)
		}
	}
	return func(t *transaction.Tx) (bool, error) {
		active, err := d.hold(t, n, &j)
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
		return true, t.Later(boundDeployed, n.Subscription, n.Group, n.Subscription, n.Group, DeployedKept)
	}, nil
}
