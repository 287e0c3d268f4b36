package api

import "net/http"

var explainOperations = []Operation{
	{
		Method: http.MethodPost, Path: "/admin/explain", Summary: "Explains how a request would be handled, without sending it.",
		Content: Question{}, Answer: Explanation{}, Status: http.StatusOK,
	},
}

// Question is a request to explain.
type Question struct {
	// Method is GET if it is empty; an ID without a query then gets an api-version of its
	// type.
	Method string `json:"method,omitempty"`
	// Path is the request's path with its query, or a resource ID.
	Path string `json:"path,omitempty"`
	// Raw are the bytes of an HTTP/1.1 request, as a client sends them. They stand for
	// method, path, header and content. Without a principal the request signs in with its
	// own credential.
	Raw []byte `json:"raw,omitempty"`
	// Token is the caller's bearer token. It is neither shown in an answer nor stored.
	Token string `json:"token,omitempty"`
	// Principal is the object ID of the caller. Without one, and without a token, no roles
	// are checked.
	Principal string `json:"principal,omitempty"`
	// Groups are object IDs of groups that the caller belongs to: a token would name them.
	Groups []string `json:"groups,omitempty"`
	// Tenant is the caller's tenant; by default the tenant of the path's subscription.
	Tenant string `json:"tenant,omitempty"`
	// Header are headers of the request.
	Header map[string]string `json:"header,omitempty"`
	// Content is the request's content; it counts as JSON unless a header says otherwise.
	Content string `json:"content,omitempty"`
	// Ask makes Portico ask providers for the place of a resource that the index does not
	// know. It records their answers, as for a request. It also fetches the keys of
	// issuers.
	Ask bool `json:"ask,omitempty"`
}

// Outcomes of a request.
const (
	Forwarded = "forwarded" // a provider answers it
	Answered  = "answered"  // Portico answers it, without an error
	Refused   = "refused"   // Portico answers it with an error
	Open      = "open"      // it depends on a provider's answer
)

// Explanation is the way that a request would take.
type Explanation struct {
	Verdict Verdict          `json:"verdict"`
	Request ExplainedRequest `json:"request"`
	Caller  ExplainedCaller  `json:"caller"`
	// SignIn is the result of signing in; nil if the question names the caller.
	SignIn *ExplainedSignIn `json:"signIn,omitempty"`
	// HeldBy are the entries of Known that refuse or delay the request and that end by
	// time, by a job, or by an operator.
	HeldBy []Waiting `json:"heldBy,omitempty"`
	// Checks are the steps of the way, in their order, up to the one that ends it.
	Checks []ExplainedCheck `json:"checks"`
	// Judges are the verdicts on the body of a PUT if it were planned, in order, up to the
	// first refusal; none if the question has no content.
	Judges []ExplainedJudge `json:"judges,omitempty"`
	// Locks are the locks on the resource that the request changes, or above it.
	Locks []Lock `json:"locks,omitempty"`
	// Place is where the request goes, and why; nil if it goes nowhere.
	Place *ExplainedPlace `json:"place,omitempty"`
	// Calls are the calls that providers would get, in their order. Calls that depend
	// on the answer to an earlier one are missing.
	Calls []ExplainedCall `json:"calls,omitempty"`
	// Known is all that is known of the resource that the path names; nil if it names none.
	Known *ResourceDetail `json:"known,omitempty"`
}

// Verdict is the outcome of the request.
type Verdict struct {
	Outcome string `json:"outcome"`
	// Summary describes it in one sentence.
	Summary string `json:"summary"`
	// Status, Code and Message describe Portico's own answer. Status is 0 if a provider
	// decides it.
	Status     int    `json:"status,omitempty"`
	Code       string `json:"code,omitempty"`
	Message    string `json:"message,omitempty"`
	RetryAfter string `json:"retryAfter,omitempty"`
	// Step is the step that ends the way.
	Step string `json:"step,omitempty"`
}

// ExplainedRequest is a request as Portico reads it.
type ExplainedRequest struct {
	Method string `json:"method"`
	Path   string `json:"path"` // with the query
	Class  string `json:"class"`
	// Route is the route, for one of Portico's own resources.
	Route        string `json:"route,omitempty"`
	Provider     string `json:"provider,omitempty"`
	ResourceType string `json:"resourceType,omitempty"`
	Kind         string `json:"kind,omitempty"` // of the type
	APIVersion   string `json:"apiVersion,omitempty"`
}

// ExplainedCaller is the assumed caller of the request.
type ExplainedCaller struct {
	ObjectID string `json:"objectId,omitempty"`
	TenantID string `json:"tenantId,omitempty"`
	// Roles is how roles apply to the request: enforced, ignored (by configuration) or
	// notAsked (the question names no principal).
	Roles string `json:"roles"`
}

// ExplainedSignIn is the result of signing in with a credential. Of a token it shows only
// the issuer's claims.
type ExplainedSignIn struct {
	// Method is the method that recognizes the credential: issuer, certificate or token; ""
	// if none does.
	Method string `json:"method,omitempty"`
	// Result is accepted, mustFetch (it depends on keys that have to be fetched first), or
	// why it is refused, as portico_sign_ins_total has it.
	Result string `json:"result"`
	// The caller's attributes other than its ids.
	Name      string   `json:"name,omitempty"`
	AppID     string   `json:"appId,omitempty"`
	Delegated bool     `json:"delegated,omitempty"` // a user acts by way of the application
	Issuer    string   `json:"issuer,omitempty"`
	Groups    []string `json:"groups,omitempty"`
	// Challenge is the WWW-Authenticate of a refusal.
	Challenge string `json:"challenge,omitempty"`
	// Advice explains the result and what to do.
	Advice string `json:"advice,omitempty"`
}

// MustFetch is the result of signing in if keys have to be fetched first.
const MustFetch = "mustFetch"

// How roles apply to an explained request.
const (
	RolesEnforced = "enforced"
	RolesIgnored  = "ignored"
	RolesSkipped  = "notAsked"
)

// ExplainedCheck is one step of a request's way.
type ExplainedCheck struct {
	Step   string `json:"step"`
	Passed bool   `json:"passed"`
	// Detail is the finding of the step.
	Detail string `json:"detail,omitempty"`
}

// ExplainedJudge is the verdict of one of the judges of planned resources.
type ExplainedJudge struct {
	// Judge is gateway, shape (the provider's documents) or provider.
	Judge string `json:"judge"`
	// Verdict is accepts, refuses or notAsked.
	Verdict string `json:"verdict"`
	// Detail is the reason.
	Detail string `json:"detail,omitempty"`
}

// The judges of planned resources, and their verdicts.
const (
	GatewayJudges  = "gateway"
	ShapeJudges    = "shape"
	ProviderJudges = "provider"

	Accepts = "accepts"
	Refuses = "refuses"
	Skipped = "notAsked"
)

// ExplainedPlace is where a request goes.
type ExplainedPlace struct {
	// Regions are the regions that are called: one, or several for a merged list.
	Regions []string `json:"regions"`
	// Reason explains it in one sentence.
	Reason string `json:"reason"`
	// Source is the fact that decided it: row, cache, content, path, parent, operation,
	// map or coverage.
	Source string `json:"source"`
	// Cached: a location came from memory; Remembered: the subscription or the group did.
	Cached     bool `json:"cached,omitempty"`
	Remembered bool `json:"remembered,omitempty"`
	// Verify: the index is not sure of the row, so that the answer may settle it.
	Verify bool `json:"verify,omitempty"`
}

// Purposes of a call.
const (
	Forward = "forward" // the client's own request
	List    = "list"    // a region's part of a merged list
	Search  = "search"  // for a resource that the index does not know
	Probe   = "probe"   // of a resource, or a group, of which the index is not sure
)

// ExplainedCall is a call that a provider would get.
type ExplainedCall struct {
	Purpose string `json:"purpose"`
	Method  string `json:"method"`
	Region  string `json:"region"`
	// Path is the path of the call, with its query.
	Path string `json:"path"`
	// Addresses are the addresses of the endpoint.
	Addresses []ExplainedAddress `json:"addresses"`
	// Headers are the headers of the call, without the connection's own.
	Headers []ExplainedHeader `json:"headers,omitempty"`
	// Sent: the call was made, because the question asked for it.
	Sent bool `json:"made,omitempty"`
}

// ExplainedAddress is an address of an endpoint.
type ExplainedAddress struct {
	URL     string `json:"url"`
	State   string `json:"state"` // up or down
	Circuit string `json:"circuit"`
	// Candidate: the call may go here; it goes to the less busy of two candidates.
	Candidate bool `json:"candidate"`
}

// ExplainedHeader is a header of a call.
type ExplainedHeader struct {
	Name string `json:"name"`
	// Origin is client, portico or secret.
	Origin string `json:"origin"`
	// Value is present if Portico sets the header and it is not a secret.
	Value string `json:"value,omitempty"`
	// Varies: each request has another value.
	Varies bool `json:"varies,omitempty"`
}

// Origins of a header.
const (
	OfClient = "client"
	OfOwn    = "portico"
	OfSecret = "secret"
)
