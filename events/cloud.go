package events

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// CloudEvent is an event in the JSON form of CloudEvents 1.0, with the types
// of Azure Event Grid for changes of resources.
type CloudEvent struct {
	SpecVersion string `json:"specversion"`
	// ID identifies the event, so that a consumer recognizes a second delivery.
	ID          string    `json:"id"`
	Source      string    `json:"source"`
	Type        string    `json:"type"`
	Subject     string    `json:"subject"`
	Time        time.Time `json:"time"`
	ContentType string    `json:"datacontenttype"`
	// Sequence is the event's number.
	Sequence string    `json:"sequence"`
	Data     CloudData `json:"data"`
}

// CloudData is the content of an event for a consumer.
type CloudData struct {
	ResourceURI string `json:"resourceUri"`
	Operation   string `json:"operationName"`
	Provider    string `json:"resourceProvider"`
	Status      Status `json:"status"`
	Origin      Origin `json:"origin"`
	Unverified  bool   `json:"inDoubt,omitempty"`
	// Exists reports whether the resource exists after the change; nil if the
	// event does not show that.
	Exists         *bool  `json:"exists,omitempty"`
	HTTPStatus     int    `json:"httpStatus,omitempty"`
	SubscriptionID string `json:"subscriptionId,omitempty"`
	TenantID       string `json:"tenantId,omitempty"`
	ObjectID       string `json:"objectId,omitempty"`
	AppID          string `json:"appId,omitempty"`
	Name           string `json:"name,omitempty"` // of the caller; only operators see it
	Correlation    string `json:"correlationId,omitempty"`
	Job            string `json:"job,omitempty"`
	JobID          string `json:"jobId,omitempty"`
	JobOn          string `json:"jobOn,omitempty"`
	MovedFrom      string `json:"movedFrom,omitempty"`
	MovedTo        string `json:"movedTo,omitempty"`
	ETag           string `json:"etag,omitempty"`
}

// CloudEvent converts the event to the form for consumers.
func (e Event) CloudEvent() CloudEvent {
	source, subscription := e.Subscription, ""
	if !strings.HasPrefix(source, "/") { // else it is the path of a tenant
		source, subscription = "/subscriptions/"+e.Subscription, e.Subscription
	}
	provider, _, _ := strings.Cut(e.Action, "/")
	var exists *bool
	if is, known := e.Exists(); known {
		exists = &is
	}
	return CloudEvent{
		SpecVersion: "1.0", ID: uuid.UUID(e.ID).String(), Source: source, Type: e.cloudType(), Subject: e.Resource,
		Time: e.At.UTC(), ContentType: "application/json", Sequence: strconv.FormatInt(e.Number, 10),
		Data: CloudData{
			ResourceURI: e.Resource, Operation: e.Action, Provider: provider, Status: e.Status, Origin: e.Origin, Unverified: e.Unverified,
			Exists: exists, HTTPStatus: e.HTTPStatus,
			SubscriptionID: subscription, TenantID: e.Cause.TenantID, ObjectID: e.Cause.ObjectID, AppID: e.Cause.AppID,
			Correlation: e.Cause.Correlation, Job: e.Cause.Job, JobID: e.Cause.JobID, JobOn: e.Cause.JobOn,
			MovedFrom: e.From, MovedTo: e.To, ETag: e.ETag,
		},
	}
}

// cloudType returns the event's type. Event Grid has none for changes that
// have not ended.
func (e Event) cloudType() string {
	verb := "Action"
	switch {
	case strings.HasSuffix(e.Action, "/write"):
		verb = "Write"
	case strings.HasSuffix(e.Action, "/delete"):
		verb = "Delete"
	}
	switch e.Status {
	case Succeeded:
		return "Microsoft.Resources.Resource" + verb + "Success"
	case Failed:
		return "Microsoft.Resources.Resource" + verb + "Failure"
	case Canceled:
		return "Microsoft.Resources.Resource" + verb + "Cancel"
	}
	return "Portico.Resource" + verb + string(e.Status)
}
