package events

import "context"

// Cause is who or what makes a change. Its texts are people's data: the store encrypts
// them.
type Cause struct {
	TenantID    string `json:"tenantId,omitempty"`
	ObjectID    string `json:"objectId,omitempty"`
	AppID       string `json:"appId,omitempty"`
	Name        string `json:"name,omitempty"`
	Issuer      string `json:"issuer,omitempty"`
	Application bool   `json:"application,omitempty"` // no user acts
	// Operator: it came by the admin listener.
	Operator bool `json:"operator,omitempty"`
	// Address is the client's.
	Address string `json:"address,omitempty"`
	// Correlation, Request and ClientRequest are the ids of the request that began it.
	Correlation   string `json:"correlationId,omitempty"`
	Request       string `json:"requestId,omitempty"`
	ClientRequest string `json:"clientRequestId,omitempty"`
	Method        string `json:"method,omitempty"`
	// URI is the request's path.
	URI string `json:"uri,omitempty"`
	// Job is the kind of durable work that acts, "" for a request itself.
	Job string `json:"job,omitempty"`
}

// CauseKey finds a *[Cause] in a context.
type CauseKey struct{}

// With returns a context whose changes have the cause.
func With(ctx context.Context, c *Cause) context.Context {
	return context.WithValue(ctx, CauseKey{}, c)
}

// CauseOf returns the cause of the changes that are made with a context; the zero Cause
// for Portico itself.
func CauseOf(ctx context.Context) Cause {
	if c, ok := ctx.Value(CauseKey{}).(*Cause); ok && c != nil {
		return *c
	}
	return Cause{}
}
