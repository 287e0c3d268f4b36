package admin

import (
	"errors"
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

func (l *listener) doubtRoutes() []route {
	return []route{{http.MethodGet, "/admin/doubts", l.listDoubts}}
}

// Why the index is not sure of a resource.
const (
	writeUnderWay       = "writeUnderWay"
	writeWithoutAnswer  = "writeWithoutAnswer"
	moveUnderWay        = "moveUnderWay"
	operationFollowed   = "operationFollowed"
	verificationPending = "verificationPending"
)

var reasonMessages = map[string]string{
	writeUnderWay:       "The write was sent, or is about to be; its call is not known to have ended.",
	writeWithoutAnswer:  "The call of the write ended without a definite answer; the provider may still apply it.",
	moveUnderWay:        "A provider was told to move the resource; that ends when the job of the move knows what became of it.",
	operationFollowed:   "The provider accepted the write; its operation is followed to its end.",
	verificationPending: "The provider is asked for the resource until an answer proves what became of it.",
}

// doubt is a resource that the index is not sure of, as operators see it.
type doubt struct {
	ID     string   `json:"id"`
	Region string   `json:"region"`
	Phase  string   `json:"phase,omitempty"` // of the row; empty: there is none
	Flags  []string `json:"flags"`           // of the row
	Why    []reason `json:"why"`
	// Until is when the last open write ends by time; an answer that the provider
	// gives later is proof. Nil where something else has to end as well, or where no
	// write is open.
	Until *time.Time `json:"until,omitempty"`
}

type reason struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Kind and region are of the write.
	Kind   string     `json:"kind,omitempty"`
	Region string     `json:"region,omitempty"`
	Since  time.Time  `json:"since"`
	Until  *time.Time `json:"until,omitempty"` // when the reason ends by time
	// The further members are of the job that works on it.
	Job         string     `json:"job,omitempty"`
	Attempts    int64      `json:"attempts,omitempty"` // since one last went well
	Next        *time.Time `json:"next,omitempty"`     // attempt; nil: one is being made
	LastOutcome string     `json:"lastOutcome,omitempty"`
}

func doubtOf(u inventory.Unverified, now time.Time) doubt {
	d := doubt{ID: u.Key, Flags: []string{}, Why: []reason{}}
	if len(u.Writes) > 0 {
		d.Region = u.Writes[0].Region
		if last := u.Writes[0].Ends; !last.IsZero() {
			d.Until = &last
		}
	}
	if row := u.Row; row != nil {
		d.ID, d.Region, d.Phase = row.ID, row.Region, row.Phase.String()
		for _, flag := range []struct {
			name string
			set  bool
		}{{"verify", row.Verify}, {"followPut", row.FollowPut}, {"followDelete", row.FollowDelete}} {
			if flag.set {
				d.Flags = append(d.Flags, flag.name)
			}
		}
		if row.FollowPut || row.FollowDelete {
			d.Until = nil
		}
	}
	for _, w := range u.Writes {
		d.Why = append(d.Why, reasonOfWrite(w, now))
	}
	for _, j := range u.Jobs {
		d.Why = append(d.Why, reasonOfJob(j))
	}
	return d
}

func reasonOfWrite(w inventory.OpenWrite, now time.Time) reason {
	r := reason{Reason: writeWithoutAnswer, Kind: w.Kind.String(), Region: w.Region, Since: w.Begun}
	if !w.Ends.IsZero() {
		r.Until = &w.Ends
	}
	switch {
	case w.Kind == index.Move:
		r.Reason = moveUnderWay
	case !w.CallEnded && now.Before(w.NotAfter):
		r.Reason, r.Until = writeUnderWay, &w.NotAfter
	}
	r.Message = reasonMessages[r.Reason]
	return r
}

func reasonOfJob(j jobrow.Job) reason {
	r := reason{Reason: verificationPending, Since: j.Created, Job: j.Name(), Attempts: j.Attempts}
	if j.Owner == "" {
		r.Next = &j.Due
	}
	if j.Kind == inventory.FollowJob {
		r.Reason = operationFollowed
		if follow, err := inventory.ReadFollow(j); err == nil {
			r.Kind, r.LastOutcome = follow.Kind.String(), follow.Progress.Status
		}
	} else {
		var verify inventory.Verify
		if j.Read(&verify) == nil {
			r.LastOutcome = verify.Progress.Outcome
		}
	}
	r.Message = reasonMessages[r.Reason]
	return r
}

// listDoubts lists the resources that the index is not sure of, and says why and
// until when: those of ?subscription=, at most ?limit= of them, behind ?after=. A
// page that is not full may have a next one all the same.
func (l *listener) listDoubts(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	wanted := inventory.UnverifiedQuery{Subscription: query.Get("subscription"), After: query.Get("after")}
	if wanted.Subscription != "" && !arm.ValidGUID(wanted.Subscription) {
		return 0, nil, arm.NewError(arm.InvalidSubscriptionID, wanted.Subscription).About("subscription")
	}
	var err error
	if wanted.Limit, err = pageSize(query); err != nil {
		return 0, nil, err
	}
	found, err := l.Store.Unverified(r.Context(), wanted)
	if errors.Is(err, inventory.ErrInvalidCursor) {
		return 0, nil, arm.NewError(arm.InvalidQueryParameter, "after", "it is that of a nextLink").About("after")
	}
	if err != nil {
		return 0, nil, err
	}
	now := l.Store.Now()
	page := exchange.ListOf(found.Value, func(u inventory.Unverified) doubt { return doubtOf(u, now) })
	if found.Next != "" {
		page.NextLink = nextPage("/admin/doubts", query, found.Next)
	}
	return http.StatusOK, page, nil
}
