package observe

import (
	"cmp"
	"net/http"
	"strings"
	"sync"
	"time"

	"portico/access"
	"portico/arm"
	"portico/gateway/exchange"
	"portico/internal/logs"
	"portico/inventory/observed"
)

const (
	// mostRecent bounds the failures in memory, and separately the refusals, so that refusals do
	// not push out failures.
	mostRecent     = 250
	longestMessage = 500 // bytes
)

// Recent holds the last error answers, which are 5xx and Portico's own refusals: one by one,
// and in groups that are shared with other replicas. It is safe for concurrent use.
type Recent struct {
	shared  *observed.Errors
	replica string // the name of this replica

	mu                 sync.Mutex
	failures, refusals ring
	groups             groups
}

// NewRecent returns a Recent for the replica with the given name.
func NewRecent(shared *observed.Errors, replica string) *Recent {
	return &Recent{shared: shared, replica: replica}
}

// ErrorAnswer is an error answer. It holds no values of the query.
type ErrorAnswer struct {
	Time         time.Time
	Class        string
	Method       string
	Path         string // as the access log has it
	Status       int
	Code         string // of Portico's own errors
	Cause        string // gateway or service
	Blame        string // as in [arm.Error.Blame]
	Message      string // redacted
	Region       string
	Subscription string // folded; "": none
	Caller       Caller
	Correlation  string
}

// Caller names who made a request; the zero Caller was not authenticated.
type Caller struct {
	TenantID string
	ID       string // the object id, or an application's id
}

func callerOf(p *access.Principal) Caller {
	return Caller{p.TenantID, cmp.Or(p.ObjectID, p.AppID)}
}

type ring struct {
	all  []ErrorAnswer
	next int
}

func (r *ring) add(a ErrorAnswer) {
	if len(r.all) < mostRecent {
		r.all = append(r.all, a)
		return
	}
	r.all[r.next] = a
	r.next = (r.next + 1) % mostRecent
}

// newestFirst returns the answers in the ring.
func (r *ring) newestFirst() []ErrorAnswer {
	all := make([]ErrorAnswer, 0, len(r.all))
	for i := range r.all {
		all = append(all, r.all[(r.next+len(r.all)-1-i)%len(r.all)])
	}
	return all
}

// add records a request's answer if it is a 5xx or Portico's own refusal.
func (r *Recent) add(s *served) {
	failed := s.status >= http.StatusInternalServerError
	if !failed && (s.Cause != exchange.CauseGateway || s.status < http.StatusBadRequest) {
		return
	}
	a := ErrorAnswer{
		Time: s.ended, Class: s.class.String(), Method: Method(s.method), Path: strings.Clone(Path(s.Path)), Status: s.status,
		Cause: s.Cause, Blame: arm.BlamePortico, Region: regionLabel(s.Exchange),
		Subscription: subscriptionOf(s.Exchange), Caller: callerOf(&s.Principal), Correlation: strings.Clone(s.Identity.Correlation),
	}
	if s.Shown != nil { // a caller's name is kept only encrypted
		nameless := strings.ReplaceAll(s.Shown.Message, "'"+s.Principal.Signature()+"'", "'"+s.Principal.ObjectID+"'")
		a.Blame, a.Code, a.Message = s.Shown.Blame(), string(s.Shown.Code), logs.Clip(logs.Detail(nameless), longestMessage)
	}
	if s.Cause == exchange.CauseService {
		a.Blame, a.Code = arm.BlameProvider, ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups.add(a)
	if failed {
		r.failures.add(a)
	} else {
		r.refusals.add(a)
	}
}

// subscriptionOf returns the subscription that a request names, or "" if it is no valid id.
func subscriptionOf(x *exchange.Exchange) string {
	if sub := x.Subscription(); arm.ValidGUID(sub) {
		return strings.Clone(sub)
	}
	return ""
}

// Answers returns the recorded answers, the newest first.
func (r *Recent) Answers() []ErrorAnswer {
	r.mu.Lock()
	failures, refusals := r.failures.newestFirst(), r.refusals.newestFirst()
	r.mu.Unlock()
	all := make([]ErrorAnswer, 0, len(failures)+len(refusals))
	for len(failures) > 0 || len(refusals) > 0 {
		if len(refusals) == 0 || len(failures) > 0 && failures[0].Time.After(refusals[0].Time) {
			all, failures = append(all, failures[0]), failures[1:]
		} else {
			all, refusals = append(all, refusals[0]), refusals[1:]
		}
	}
	return all
}
