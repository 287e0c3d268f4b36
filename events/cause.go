package events

import (
	"context"
	"strings"

	"portico/arm"
)

// Cause is the origin of a change. It holds personal data: the store encrypts it.
type Cause struct {
	TenantID    string `json:"tenantId,omitempty"`
	ObjectID    string `json:"objectId,omitempty"`
	AppID       string `json:"appId,omitempty"`
	Name        string `json:"name,omitempty"`
	Issuer      string `json:"issuer,omitempty"`
	Application bool   `json:"application,omitempty"` // no user acts
	// Operator reports whether the request came through the admin listener.
	Operator bool `json:"operator,omitempty"`
	// Address is the client's address.
	Address string `json:"address,omitempty"`
	// Correlation, Request and ClientRequest are the ids of the request that
	// started the change.
	Correlation   string `json:"correlationId,omitempty"`
	Request       string `json:"requestId,omitempty"`
	ClientRequest string `json:"clientRequestId,omitempty"`
	Method        string `json:"method,omitempty"`
	// URI is the request's path.
	URI string `json:"uri,omitempty"`
	// Job is the kind of durable work that makes the change, "" for a request itself. JobID is
	// the job's name. JobOn is the ID that a client's job works on, such as the group that it
	// deletes.
	Job   string `json:"job,omitempty"`
	JobID string `json:"jobId,omitempty"`
	JobOn string `json:"jobOn,omitempty"`
	// Secrets reports whether the request may have held secrets.
	Secrets bool `json:"secrets,omitempty"`
}

// CauseKey finds a *[Cause] in a context.
type CauseKey struct{}

// With returns a context that gives its changes the cause.
func With(ctx context.Context, c *Cause) context.Context {
	return context.WithValue(ctx, CauseKey{}, c)
}

// CauseOf returns the cause of changes made with a context; the zero Cause
// for Portico itself.
func CauseOf(ctx context.Context) Cause {
	if c, ok := ctx.Value(CauseKey{}).(*Cause); ok && c != nil {
		return *c
	}
	return Cause{}
}

// Caller returns the name of the caller, or else the object id. People choose their
// names: a name that looks like an id is shown only if it is the caller's own id.
func (c Cause) Caller() string {
	if c.Name == "" || arm.ValidGUID(c.Name) && !arm.EqualFold(c.Name, c.AppID) {
		return c.ObjectID
	}
	return c.Name
}

// IsBy reports whether a text, in any casing, names the caller: the result of Caller,
// the object id, or the id of an application that acts without a user.
func (c Cause) IsBy(text string) bool {
	return arm.EqualFold(text, c.Caller()) || arm.EqualFold(text, c.ObjectID) || c.Application && arm.EqualFold(text, c.AppID)
}

// Bounds of an error in an event, in bytes.
const (
	longestCode    = 128
	longestTarget  = 1 << 10
	longestMessage = 4 << 10
)

// Bounded returns an error cut for an event: code, message and target. nil stays nil.
func Bounded(e *arm.Error) *arm.Error {
	if e == nil {
		return nil
	}
	return &arm.Error{
		Status: e.Status, Code: arm.Code(cut(string(e.Code), longestCode)), Message: cut(e.Message, longestMessage), Target: cut(e.Target, longestTarget),
	}
}

func cut(text string, bound int) string {
	if len(text) <= bound {
		return text
	}
	return strings.ToValidUTF8(text[:bound], "")
}
