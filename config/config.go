package config

import (
	"math"
	"net/netip"
	"net/url"
	"time"

	"portico/regions"
)

// Config is a whole configuration, checked, with defaults filled in. Sizes are
// bytes. GUIDs and hashes are in lower case, paths are relative to the working
// folder or absolute.
type Config struct {
	Server        Server
	Metadata      Metadata
	Auth          Auth
	Store         Store
	Limits        Limits
	Upstream      Upstream
	Health        Health
	Index         Index
	Jobs          Jobs
	Lists         Lists
	Operations    Operations
	Batch         Batch
	GroupDelete   GroupDelete
	Move          Move
	Log           Log
	Map           *regions.Map
	Subscriptions []Subscription

	Files    []string // every file that was read, the first one first
	Warnings []Fault  // what is unwise, by file and line
	Sources  Sources  // what it was made of, if [Load] made it
}

// Server is how the gateway itself is reached.
type Server struct {
	PublicURL      *url.URL // scheme and host only: what clients dial
	Listen         string   // host:port of the public listener
	Admin          string   // host:port of the admin listener
	Region         string   // the region in which this gateway runs
	TLS            TLS
	Connections    Connections    // of the public listener
	TrustedProxies []netip.Prefix // whose forwarding headers count
	AdminTokens    []AdminToken   // of the admin listener; empty: none is asked for
	AdminHosts     []string       // host names by which the admin listener may be called
	Drain          Drain
	WatchInterval  time.Duration // between two looks at the configuration's files; 0: none
}

// Connections bounds those of the public listener.
type Connections struct {
	All                 int           // at a time
	PerAddress          int           // from one address that is no trusted proxy; at most All
	Idle                time.Duration // between two requests
	IdleUnauthenticated time.Duration // the same until a request was authenticated
}

// AdminToken is a bearer token of the admin listener, known by its hash.
type AdminToken struct {
	SHA256 string // hexadecimal
	Name   string // as audit lines have it
}

// TLS is the public listener's. Cert and Key are both set or both empty;
// Terminated says that something in front of the gateway speaks TLS for it.
type TLS struct {
	Cert, Key  string
	Terminated bool
}

// Drain is how the gateway stops: it reports itself unready for Delay, then
// lets requests finish until Limit.
type Drain struct {
	Delay, Limit time.Duration
}

// Metadata is what /metadata/endpoints tells clients. What is not configured
// is empty.
type Metadata struct {
	Name          string
	LoginEndpoint string
	GraphEndpoint string
	Audiences     []string
	Tenant        string // a GUID, or the word common or organizations
	Suffixes      Suffixes
}

// Suffixes are how the host names of other services of the cloud end.
type Suffixes struct {
	Storage, KeyVault string
}

// The modes of authentication.
const (
	AuthNone   = "none"   // one fixed caller; loopback only
	AuthTokens = "tokens" // static bearer tokens
)

// Auth is who may call.
type Auth struct {
	Mode   string
	Tokens []Token
}

// Token is a bearer token, known by its hash, and whom it stands for.
type Token struct {
	SHA256   string // hexadecimal
	TenantID string
	ObjectID string
	Name     string // may be empty
	AppID    string // may be empty
}

// The engines of the store.
const (
	SQLite   = "sqlite"
	Postgres = "postgres"
)

// Store is where the gateway keeps what it remembers.
type Store struct {
	Driver string
	DSN    string // may hold a password
	// Connections bounds those of this gateway to PostgreSQL; SQLite has no use
	// for it.
	Connections int
}

// Limits are bounds on what clients and providers send and on what there may
// be.
type Limits struct {
	RequestBody   int64
	ContentMemory int64 // for the bodies of all requests together; at least RequestBody
	// CallerShare is the part of each budget that callers share which one caller
	// may hold, above 0 and up to 1.
	CallerShare              float64
	AnswerBody               int64
	TagsPerResource          int
	ResourcesPerTypeAndGroup int
	GroupsPerSubscription    int
}

// ShareOf is what one caller may hold of a budget, at least 1.
func (l Limits) ShareOf(budget int64) int64 {
	return max(1, int64(math.Round(float64(budget)*l.CallerShare)))
}

// Upstream is how providers are called.
type Upstream struct {
	CallTimeout      time.Duration
	ReadsPerEndpoint int // the gateway's own reads of one endpoint at a time
	CallsPerEndpoint int // calls of one endpoint at a time; reads and writes count apart
	TLS              UpstreamTLS
}

// UpstreamTLS names PEM files: CA in place of the system's roots, Cert and Key
// (both or neither) as the gateway's own identity. Each may be empty.
type UpstreamTLS struct {
	CA, Cert, Key string
}

// Index holds the times by which the index of tracked resources is kept true.
type Index struct {
	SendWithin      time.Duration // from an intent to the first byte of its call
	CallMargin      time.Duration // added to the call's limit until nothing more can be sent
	LateWriteWindow time.Duration // how long a provider may still act on an unanswered write
	Tombstones      time.Duration // how long a removed resource is remembered
	AskTimeout      time.Duration // for one question to a provider, or wait for calls, on a client's time
	CacheTTL        time.Duration // of cached locations; 0 turns the cache off
	CacheEntries    int           // how many locations are cached at most
	FollowLimit     time.Duration // for following one operation closely
	LostAfter       time.Duration // for which polls know of no such operation until it is lost
	FollowRecheck   time.Duration // between looks after FollowLimit
	VersionFallback time.Duration // of refusals, until a row is asked for with its type's newest api-version
	PollFloor       time.Duration // the least time between two polls
	SweepInterval   time.Duration // between two sweeps of everything; 0: none
	EndpointAbsence time.Duration // for which a notice waits for an endpoint that the map lacks
}

// Jobs is how durable work is held.
type Jobs struct {
	Lease time.Duration
}

// Lists is how collections of several regions are answered.
type Lists struct {
	Memory          int64 // per request, for pages held; at least Limits.AnswerBody
	TotalMemory     int64 // for all requests together; at least Memory
	OnRegionFailure regions.RegionFailure
	TokenKeys       []TokenKey // the first seals, all open; may be empty
	TokenLifetime   time.Duration
}

// TokenKey is a key for skip tokens.
type TokenKey struct {
	ID  string
	Key [32]byte
}

// String names the key without showing it.
func (k TokenKey) String() string { return "token key " + k.ID }

// Operations is how long-running operations appear to clients. The bounds of
// Retry-After are whole seconds.
type Operations struct {
	RetryAfterMin, RetryAfterMax time.Duration
	Records                      time.Duration // how long an operation is remembered
}

// Batch bounds what a client sends as many requests in one.
type Batch struct {
	Immediate   int   // requests that are answered at once
	Requests    int   // in one batch, at most; beyond Immediate they are carried later
	AtOnce      int   // requests of one batch under way
	Memory      int64 // for the answers of one batch; at least Limits.AnswerBody
	TotalMemory int64 // for those of all batches together; at least Memory
	PerCaller   int   // batches beyond Immediate that one caller may have under way
}

// GroupDelete bounds the deletion of a resource group.
type GroupDelete struct {
	TransientBudget time.Duration // for one resource's passing failures
	Limit           time.Duration // for the whole
	PerEndpoint     int           // deletes in flight per endpoint, for one caller
	PerJob          int           // deletes in flight per group
}

// Move bounds a move of resources between groups.
type Move struct {
	TransientBudget time.Duration // for one provider's passing failures
	Limit           time.Duration // past it no provider is told any more
}

// AuditStderr is the place of audit lines that is no file.
const AuditStderr = "stderr"

// Log is what is written of requests.
type Log struct {
	// Audit is where the lines of writes go: AuditStderr, or a file's path.
	Audit string
	// Slow is from when on a request is always written.
	Slow time.Duration
	// OneIn says, by class of requests, of how many reads that went well one is
	// written; those of a class that is absent are all written.
	OneIn map[string]int
}

// LogClasses are the classes of Log.OneIn.
func LogClasses() []string {
	return []string{"own", "none", "instance", "collection", "below", "provider", "located", "poll"}
}

// Subscription is one that the configuration declares. State is one of
// Enabled, PastDue, Warned, Disabled and Deleted. Covered says that no
// resources of it were made before the gateway stood in front.
type Subscription struct {
	ID          string
	TenantID    string
	DisplayName string
	State       string
	Covered     bool
	OfferID     string
	PlacementID string
	Features    []string // "Namespace/name"
}

// Defaults returns the settings of a configuration that names none. It has no
// map, public URL or region: these have no default.
func Defaults() Config {
	return Config{
		Server: Server{
			Listen: "127.0.0.1:8080",
			Admin:  "127.0.0.1:8081",
			Drain:  Drain{Delay: 5 * time.Second, Limit: 30 * time.Second},

			Connections: Connections{
				All:                 10000,
				PerAddress:          5000,
				Idle:                2 * time.Minute,
				IdleUnauthenticated: 15 * time.Second,
			},
			WatchInterval: 2 * time.Second,
		},
		Metadata: Metadata{Name: "Portico"},
		Auth:     Auth{Mode: AuthNone},
		Store:    Store{Driver: SQLite, DSN: "portico.db", Connections: 16},
		Limits: Limits{
			RequestBody:              4 << 20,
			ContentMemory:            128 << 20,
			CallerShare:              0.25,
			AnswerBody:               8 << 20,
			TagsPerResource:          50,
			ResourcesPerTypeAndGroup: 800,
			GroupsPerSubscription:    980,
		},
		Upstream: Upstream{CallTimeout: time.Minute, ReadsPerEndpoint: 64, CallsPerEndpoint: 512},
		Health:   defaultHealth(),
		Index: Index{
			SendWithin:      5 * time.Second,
			CallMargin:      10 * time.Second,
			LateWriteWindow: 5 * time.Minute,
			Tombstones:      24 * time.Hour,
			AskTimeout:      2 * time.Second,
			CacheTTL:        time.Minute,
			CacheEntries:    1 << 18,
			FollowLimit:     24 * time.Hour,
			LostAfter:       time.Minute,
			FollowRecheck:   time.Hour,
			VersionFallback: 24 * time.Hour,
			PollFloor:       time.Second,
			SweepInterval:   6 * time.Hour,
			EndpointAbsence: time.Hour,
		},
		Jobs: Jobs{Lease: 10 * time.Second},
		Lists: Lists{
			Memory:          32 << 20,
			TotalMemory:     256 << 20,
			OnRegionFailure: regions.Fail,
			TokenLifetime:   time.Hour,
		},
		Operations: Operations{
			RetryAfterMin: 10 * time.Second,
			RetryAfterMax: 10 * time.Minute,
			Records:       48 * time.Hour,
		},
		Batch: Batch{
			Immediate:   20,
			Requests:    500,
			AtOnce:      8,
			Memory:      64 << 20,
			TotalMemory: 256 << 20,
			PerCaller:   16,
		},
		GroupDelete: GroupDelete{
			TransientBudget: 15 * time.Minute,
			Limit:           time.Hour,
			PerEndpoint:     8,
			PerJob:          64,
		},
		Move: Move{TransientBudget: 15 * time.Minute, Limit: 4 * time.Hour},
		Log:  Log{Audit: AuditStderr, Slow: time.Second},
	}
}
