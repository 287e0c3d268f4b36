package api

import (
	"net/http"
	"time"
)

// The operations that the console needs and no command uses.
var consoleOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/traffic",
		Summary: "Outcomes of requests to this replica in the last 15 minutes, by interval of seconds, or to all replicas in a longer range.",
		Query: []Parameter{
			{"after", "only intervals that ended after this time (RFC 3339)"},
			{"range", "1h to 24h: of all replicas, by minutes"}, {"region", "with a range: this region's flow in each interval, too"},
		},
		Answer: Traffic{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/errors",
		Summary: "Error answers of all replicas in the last day, grouped by status, code, region, subscription, caller and replica, with the " +
			"newest of each group. Newest first.",
		Query: append([]Parameter{
			{"each", "true: each of the latest error answers of this replica, ungrouped"}, {"blame", "only errors with this blame"},
		}, paging[:1]...),
		Answer: ErrorAnswers{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/configuration",
		Summary: "The settings in use, without secrets.",
		Answer:  ConfigurationInUse{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/configurations", Summary: "The configurations that were accepted or refused since the start, " +
			"newest first.",
		Answer: Page[Configuration]{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/strays",
		Summary: "Resources found in a region other than that in the index.",
		Query:   paging, Answer: Page[Stray]{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodGet, Path: "/admin/jobs/{id}/members",
		Summary: "The resources that a group deletion has yet to delete, and what each of them waits for.",
		Answer:  DeletionMembers{}, Status: http.StatusOK,
	},
}

// Traffic is the outcome of requests over time.
type Traffic struct {
	// Seconds is the length of a usual interval without a range.
	Seconds   float64           `json:"seconds"`
	Intervals []TrafficInterval `json:"intervals"` // the oldest first
}

// TrafficInterval is the traffic of an interval.
type TrafficInterval struct {
	Time     time.Time `json:"time"` // of its end
	Seconds  float64   `json:"seconds"`
	InFlight int       `json:"inFlight"` // at its end; in a range the mean of its minutes
	Flow
	Regions []RegionFlow `json:"regions"` // with requests in the interval; in a range only the one that was asked for
}

// Flow is the outcome of requests in an interval.
type Flow struct {
	Requests int     `json:"requests"`
	Failures int     `json:"failures"` // 5xx
	Refusals int     `json:"refusals"` // 4xx of Portico's own
	Mean     float64 `json:"mean"`     // seconds
	P95      float64 `json:"p95"`      // seconds, estimated; in a range the highest of its minutes and replicas
}

// RegionFlow is the flow of one region, with the times of its providers.
type RegionFlow struct {
	Region string `json:"region"`
	Flow
}

// ErrorAnswers are a list of answers with errors.
type ErrorAnswers struct {
	Page[ErrorAnswer]
	// Note is present if the list lacks something: while the store is away it has only the
	// errors of one replica.
	Note string `json:"note,omitempty"`
}

// ErrorAnswer is an answer with an error: 5xx, or a refusal by Portico. It is the newest of
// a group of similar ones.
type ErrorAnswer struct {
	Time          time.Time `json:"time"`
	Class         string    `json:"class"` // what the request addressed
	Method        string    `json:"method"`
	Path          string    `json:"path"` // as the access log has it, without the query
	Status        int       `json:"status"`
	Code          string    `json:"code,omitempty"`    // of Portico's own errors
	Cause         string    `json:"cause"`             // x-ms-failure-cause of the answer: gateway or service
	Blame         string    `json:"blame"`             // Portico, unreachable (a provider that gave no answer), provider (by its answer) or caller
	Message       string    `json:"message,omitempty"` // that the client got, redacted
	Region        string    `json:"region"`
	CorrelationID string    `json:"correlationId"`
	Subscription  string    `json:"subscription,omitempty"` // in the path
	// Caller is the object id of the caller, or the id of an application, in its tenant;
	// empty for one that was not authenticated.
	Caller   string    `json:"caller,omitempty"`
	Name     string    `json:"name,omitempty"` // in the caller's token
	TenantID string    `json:"tenantId,omitempty"`
	Replica  string    `json:"replica"`
	Count    int       `json:"count"` // how many answers are in the group
	First    time.Time `json:"first"` // the time of the first one
}

// ConfigurationInUse is the configuration in use.
type ConfigurationInUse struct {
	Settings []Setting `json:"settings"`
}

// Setting is a setting with its value. REDACTED replaces values that may be secret or name a
// person.
type Setting struct {
	Path      string `json:"path"`
	Value     string `json:"value"`
	Default   string `json:"default,omitempty"` // a value, or in words
	AtDefault bool   `json:"atDefault,omitempty"`
}

// Outcomes of a configuration.
const (
	ConfigurationTaken   = "taken"
	ConfigurationRefused = "refused"
)

// Configuration is a configuration that was read.
type Configuration struct {
	Generation int64     `json:"generation,omitempty"` // only if it was taken
	Time       time.Time `json:"time"`
	Outcome    string    `json:"outcome"`
	Why        string    `json:"why"`          // why it was read
	By         string    `json:"by,omitempty"` // the name of the admin token
	// NeedsRestart are the settings that stayed as they were.
	NeedsRestart []string `json:"needsRestart,omitempty"`
	// Changes are the differences from the generation before. Faults are the reasons for a
	// refusal.
	Changes []SettingChange `json:"changes,omitempty"`
	Faults  []string        `json:"faults,omitempty"`
	Further int             `json:"further,omitempty"` // changes or faults that are left out
}

// SettingChange is a setting that changed; a side without a value is left out.
type SettingChange struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Stray is a resource in another region than the one that the index has for its ID.
type Stray struct {
	ID           string    `json:"id"`
	Subscription string    `json:"subscription"`
	Region       string    `json:"region"`
	Type         string    `json:"type"`
	Seen         time.Time `json:"seen"`
}

// DeletionMembers are the resources that the deletion of a group still has to delete.
type DeletionMembers struct {
	Group   string           `json:"group"` // its ID
	Members []DeletionMember `json:"members"`
	Further bool             `json:"further,omitempty"` // there are more
}

// States of a member of a deletion.
const (
	MemberWaiting  = "waiting"  // to be sent when it is due
	MemberInFlight = "inFlight" // its call is under way
	MemberAccepted = "accepted" // its provider works on it or is asked about it
	MemberRefused  = "refused"  // tried again when something has gone, or its own write has ended
)

// DeletionMember is a resource that has to go with its group.
type DeletionMember struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Region string `json:"region"`
	State  string `json:"state"`
	Stray  bool   `json:"stray,omitempty"`
	// Parent is the ID of the resource that it lies below. WaitsFor are the resources that
	// have to go before it, as its provider's refusal named them.
	Parent   string   `json:"parent,omitempty"`
	WaitsFor []string `json:"waitsFor,omitempty"`
	// OwnWrite is the write of the resource itself, such as PUT, whose end a refused one
	// waits for.
	OwnWrite string     `json:"ownWrite,omitempty"`
	Tries    int        `json:"tries,omitempty"` // failures in a row
	Since    *time.Time `json:"since,omitempty"` // the first of them
	Why      string     `json:"why,omitempty"`   // the last failure, or the provider's error
	Due      *time.Time `json:"due,omitempty"`
}

var deletionOrderOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/deleteOrder", Summary: "The order of types that group deletions have learned in a subscription.",
		Query: []Parameter{{"subscription", "the subscription; required"}}, Answer: Page[TypeOrder]{}, Status: http.StatusOK,
	},
}

// TypeOrder means that resources of the type Before are deleted before resources of the
// type After.
type TypeOrder struct {
	Before string    `json:"before"`
	After  string    `json:"after"`
	Seen   time.Time `json:"seen"`
}

var reloadOperations = []Operation{
	{
		Method: http.MethodPost, Path: "/admin/reload",
		Summary: "Reloads the configuration. If it has faults, nothing changes, and the error has a detail for each fault.",
		Answer:  Reloaded{}, Status: http.StatusOK,
	},
}

// Reloaded describes a configuration that was loaded.
type Reloaded struct {
	Generation int64 `json:"generation"` // the first is 1
	// NeedsRestart are the settings that differ from the gateway's present ones but cannot
	// change while it runs: they stay as they were.
	NeedsRestart []string `json:"needsRestart,omitempty"`
}
