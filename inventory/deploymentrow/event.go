package deploymentrow

import (
	"context"
	"encoding/json"
	"errors"

	"portico/arm"
	"portico/events"
	"portico/inventory/encryption"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

const (
	typeName = "Microsoft.Resources/deployments"

	activeColumns = `SELECT subscription, resource_group, name, job, operations, caller FROM deployments WHERE `
	activeOfJob   = activeColumns + `job = ? AND state = ?` + engine.ForUpdate
	activeOfGroup = activeColumns + `subscription = ? AND resource_group = ? AND state = ?` + engine.ForUpdate
)

func (n Name) id() string {
	scope := "/subscriptions/" + n.Subscription
	if n.Group != "" {
		scope += "/resourceGroups/" + n.Group
	}
	return scope + "/providers/" + typeName + "/" + n.Name
}

// Active is a running deployment.
type Active struct {
	name       Name // folded
	job        [16]byte
	startEvent []byte
	caller     string // its key
}

func scanActive(scan engine.Scanner) (a Active, err error) {
	var job []byte
	err = scan(&a.name.Subscription, &a.name.Group, &a.name.Name, &job, &a.startEvent, &a.caller)
	copy(a.job[:], job)
	return a, err
}

// LookUpActive returns a query that locks the running deployments of a group and passes them
// to each.
func LookUpActive(sub, group string, each func(Active)) engine.Lookup {
	return engine.LookupOf(activeOfGroup, each, scanActive, sub, group, Running)
}

// loadStartEvent returns the event of a deployment's start, with the deployment's job in its
// cause. Until the deployment ends, the event is stored encrypted in the operations column.
// If its key is lost, the event names no caller.
func (d *Deployments) loadStartEvent(ctx context.Context, a Active) (events.Payload, error) {
	e := startEvent(a.name.id(), false, events.Cause{})
	text, err := d.database.Cipher.Decrypt(ctx, sealPlace(a.name, a.job, "beginning"), a.startEvent)
	if err == nil {
		err = json.Unmarshal(text, &e)
	}
	if err != nil && !errors.Is(err, encryption.ErrDecrypt) {
		return e, err
	}
	e.Cause.Job = Job
	return e, nil
}

func startEvent(id string, isNew bool, by events.Cause) events.Payload {
	return events.Payload{Resource: id, Action: typeName + index.WriteVerb, Status: events.Accepted, New: isNew, Cause: by}
}

// recordEnd records the event of a deployment's end. gone: its record is deleted, too.
func (d *Deployments) recordEnd(t *transaction.Tx, a Active, status events.Status, why *arm.Error, gone bool) error {
	e, err := d.loadStartEvent(t.Context, a)
	if err != nil {
		return err
	}
	e.Status, e.Error, e.Gone = status, why, gone
	return t.RecordOwnBy(e.Cause, a.name.Subscription, e)
}

// RecordGone records the ends of deployments that are deleted with their group.
func (d *Deployments) RecordGone(t *transaction.Tx, all []Active) error {
	return d.recordFailed(t, all, "The resource group of the deployment was deleted.", true)
}

func (d *Deployments) recordFailed(t *transaction.Tx, all []Active, why string, gone bool) error {
	for _, a := range all {
		if err := d.recordEnd(t, a, events.Failed, arm.NewError(arm.DeploymentFailed).WithMessage("%s", why), gone); err != nil {
			return err
		}
	}
	return nil
}

// failNested ends the running nested deployments of a job as failed.
func (d *Deployments) failNested(t *transaction.Tx, job [16]byte) error {
	all, err := engine.Collect(t, scanActive, activeOfJob, job[:], Running)
	if err != nil || len(all) == 0 {
		return err
	}
	if err := d.recordFailed(t, all, "The deployment that it is nested in has ended without it.", false); err != nil {
		return err
	}
	_, err = t.Exec(endNested, Failed, []byte{}, job[:], Running)
	return err
}

func recordDeleted(t *transaction.Tx, by events.Cause, n Name) error {
	return t.RecordOwnBy(by, arm.Fold(n.Subscription), events.Payload{Resource: n.id(), Action: typeName + index.DeleteVerb, Status: events.Succeeded})
}

// RecordCanceled records the event of a cancellation of a job's deployment. The event of its
// end follows.
func RecordCanceled(t *transaction.Tx, j jobrow.Job) error {
	return t.RecordOwn(j.Subscription, events.Payload{Resource: j.Subject, Action: typeName + "/cancel/action", Status: events.Succeeded})
}
