package frontdoor

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"portico/arm"
	"portico/events"
	"portico/jobs/groupdelete"
)

// changeBody is an event as a change of its resource, in Azure's form. It lacks the
// properties that changed, which Portico does not keep, and has Portico's own members.
type changeBody struct {
	ID         string           `json:"id"`
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	Properties changeProperties `json:"properties"`
}

type changeProperties struct {
	TargetID   string           `json:"targetResourceId"`
	TargetType string           `json:"targetResourceType"`
	ChangeType string           `json:"changeType"`
	Attributes changeAttributes `json:"changeAttributes"`

	Status     events.Status `json:"status"`
	Origin     events.Origin `json:"origin"`
	Unverified bool          `json:"inDoubt,omitempty"`
	StatusCode string        `json:"statusCode,omitempty"`
	Error      *changeError  `json:"error,omitempty"`
	Job        string        `json:"job,omitempty"`
	JobID      string        `json:"jobId,omitempty"`
	JobOn      string        `json:"jobOn,omitempty"`
	// GroupDeletion is the group whose deletion deleted the resource.
	GroupDeletion string `json:"groupDeletion,omitempty"`
	MovedFrom     string `json:"movedFrom,omitempty"`
	MovedTo       string `json:"movedTo,omitempty"`
	// MovedChanges is where the history continues under the other ID.
	MovedChanges string `json:"movedChanges,omitempty"`
}

type changeAttributes struct {
	Timestamp     string `json:"timestamp"`
	CorrelationID string `json:"correlationId,omitempty"`
	OperationID   string `json:"operationId,omitempty"`
	ChangedBy     string `json:"changedBy"`
	ObjectID      string `json:"changedByObjectId,omitempty"`
	ChangedByType string `json:"changedByType"`
	Operation     string `json:"operation"`
}

type changeError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func changeOf(e events.Event) changeBody {
	id := e.Resource
	if id == "" { // it can no longer be decrypted
		id = e.Key
	}
	body := changeBody{
		ID: id + "/providers/" + changesType + "/" + changeName(e), Name: changeName(e), Type: changesType,
		Properties: changeProperties{
			TargetID: id, TargetType: typeOf(e), ChangeType: changeTypeOf(e),
			Attributes: changeAttributes{
				Timestamp: e.At.UTC().Format(time.RFC3339Nano), CorrelationID: e.Cause.Correlation, OperationID: e.Cause.Request,
				ChangedBy: e.Cause.Caller(), ObjectID: e.Cause.ObjectID, ChangedByType: changerOf(e.Cause), Operation: e.Action,
			},
			Status: e.Status, Origin: e.Origin, Unverified: e.Unverified, Job: e.Cause.Job, JobID: e.Cause.JobID, JobOn: e.Cause.JobOn,
			MovedFrom: e.From, MovedTo: e.To,
		},
	}
	p := &body.Properties
	if e.HTTPStatus != 0 {
		p.StatusCode = strconv.Itoa(e.HTTPStatus)
	}
	if e.Error != nil {
		p.Error = &changeError{string(e.Error.Code), e.Error.Message}
	}
	if group := groupIDOf(id); p.ChangeType == deleted && groupdelete.Caused(e) && !arm.EqualFold(group, id) {
		p.GroupDeletion = group
	}
	return body
}

// changeName returns the name of a change. The number in it finds the event.
func changeName(e events.Event) string {
	return strconv.FormatInt(e.Number, 10) + "_" + uuid.UUID(e.ID).String()
}

// typeOf returns the type of an event's resource, as its action names it.
func typeOf(e events.Event) string {
	if typ, verb, found := strings.CutLast(e.Action, "/"); found && (verb == "write" || verb == "delete") {
		return typ
	}
	return arm.TypeIn(e.Resource)
}

// The kinds of changes, in Azure's words.
const (
	created = "Create"
	updated = "Update"
	deleted = "Delete"
)

func changeTypeOf(e events.Event) string {
	switch {
	case strings.HasSuffix(e.Action, "/delete"):
		return deleted
	case e.New:
		return created
	}
	return updated
}

// changerOf returns the kind of caller that made a change.
func changerOf(c events.Cause) string {
	switch {
	case c.Operator:
		return "Operator"
	case c.Application:
		return "Application"
	case c.Caller() != "":
		return "User"
	}
	return "System"
}

// groupIDOf returns the ID of the group that contains an ID, in the same spelling.
func groupIDOf(id string) string {
	segments := strings.SplitN(id, "/", 6)
	if len(segments) < 5 || !strings.EqualFold(segments[3], "resourceGroups") {
		return ""
	}
	return strings.Join(segments[:5], "/")
}
