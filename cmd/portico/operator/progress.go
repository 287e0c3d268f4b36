package operator

import (
	"encoding/json"
	"fmt"
	"strings"

	"portico/gateway/admin/api"
)

// progress is how far a job has come, of any kind that says so.
type progress struct {
	Done       int      `json:"done"`
	Of         int      `json:"of"`
	Total      int      `json:"total"`
	Deleted    int      `json:"deleted"`
	Moved      int      `json:"moved"`
	Answered   int      `json:"answered"`
	InFlight   int      `json:"inFlight"`
	Waiting    int      `json:"waiting"`
	Parked     int      `json:"parked"`
	Failed     int      `json:"failed"`
	WaitingFor []string `json:"waitingFor"`
}

func progressOf(j api.Job) (p progress) {
	_ = json.Unmarshal(j.Progress, &p) // other kinds have none of this form
	return p
}

// done of so many parts are done; of 0: the kind does not say.
func (p progress) done() int { return p.Done + p.Deleted + p.Moved + p.Answered }
func (p progress) of() int   { return p.Of + p.Total }

func (p progress) short() string {
	if p.of() == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", p.done(), p.of())
}

// note is what keeps it from the end.
func (p progress) note() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{p.InFlight, "in flight"}, {p.Waiting, "waiting"}, {p.Parked, "refused"}, {p.Failed, "failed"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if len(p.WaitingFor) > 0 {
		parts = append(parts, "waits for "+strings.Join(p.WaitingFor, ", "))
	}
	return strings.Join(parts, ", ")
}
