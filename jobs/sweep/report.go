package sweep

import (
	"strings"
	"sync"
	"time"

	"portico/inventory"
)

// Bounds of a report, which is stored with its job.
const (
	idsPerFinding   = 100
	failuresInFull  = 100
	countsPerReport = 500
	placesPerReport = 500
	longestReason   = 300
)

// Report lists the findings of a sweep so far. Its size is bounded: counts are complete, but
// names are limited to the first hundred.
type Report struct {
	Subscription  string     `json:"subscription,omitempty"` // empty: all
	DryRun        bool       `json:"dryRun,omitempty"`       // nothing was changed
	CorrelationID string     `json:"correlationId,omitempty"`
	Started       time.Time  `json:"started,omitzero"`
	Ended         *time.Time `json:"ended,omitempty"`
	// Done of Of lists are done, one in each region for each type in each subscription.
	// Lists that could not be read in full are not done.
	Done int `json:"done"`
	Of   int `json:"of"`
	// Unlisted are the places whose lists could not be read in full.
	Unlisted []UnlistedPlace `json:"unlisted,omitempty"`

	Counts []Count `json:"counts,omitempty"`
	// MissingRows are resources that a provider holds and the index did not
	// have; they were adopted.
	MissingRows Finding `json:"missingRows"`
	// MissingResources are rows whose resource is gone; they were removed.
	MissingResources Finding `json:"missingResources"`
	// ChangedTags are resources whose tags differed from the index's; the sweep updated the
	// index.
	ChangedTags Finding `json:"changedTags"`
	// Strays are resources in another region than their row's.
	Strays Finding `json:"strays"`
	// UnknownGroups are resources whose group does not exist.
	UnknownGroups Finding `json:"unknownGroups"`
	// Usage names groups and types whose usage of a quota was miscounted.
	Usage Finding `json:"usage"`

	FailureCount int       `json:"failureCount"`
	Failures     []Failure `json:"failures,omitempty"`
}

// Count is the number of resources of a type in the lists of a region.
type Count struct {
	Type   string `json:"type"` // "" sums what the report has no room for
	Region string `json:"region"`
	Listed int    `json:"listed"`
}

// Finding is a kind of disagreement between index and providers.
type Finding struct {
	Count int      `json:"count"`
	IDs   []string `json:"ids,omitempty"` // the first hundred
}

func (f *Finding) add(id string) {
	if f.Count++; len(f.IDs) < idsPerFinding {
		f.IDs = append(f.IDs, id)
	}
}

// Failure is a region that could not be listed in full. The sweep removed nothing
// there, and recorded no coverage.
type Failure struct {
	Subscription string `json:"subscription"`
	Type         string `json:"type"`
	Region       string `json:"region"`
	Reason       string `json:"reason"`
}

// UnlistedPlace is a region with lists of a provider's types that could not be read in full.
type UnlistedPlace struct {
	Region   string `json:"region"` // "" sums what the report has no room for
	Provider string `json:"provider"`
	Lists    int    `json:"lists"`  // one for each type in each subscription
	Reason   string `json:"reason"` // the latest
	// At is when a list failed last; zero: none was requested.
	At time.Time `json:"at,omitzero"`
	// Silent: the region answered no call of the latest list.
	Silent bool `json:"silent,omitempty"`
}

// Complete reports whether every region was listed without a failure.
func (r *Report) Complete() bool { return r.Ended != nil && r.FailureCount == 0 }

// unlisted counts the lists that could not be read in full.
func (r *Report) unlisted() (n int) {
	for _, p := range r.Unlisted {
		n += p.Lists
	}
	return n
}

// merge adds a place whose lists are missing.
func (r *Report) merge(more UnlistedPlace) {
	full := len(r.Unlisted) >= placesPerReport
	for i := range r.Unlisted {
		if p := &r.Unlisted[i]; p.Region == more.Region && p.Provider == more.Provider || full && p.Region == "" {
			p.Lists += more.Lists
			if more.At.After(p.At) {
				p.Reason, p.At, p.Silent = more.Reason, more.At, more.Silent
			}
			return
		}
	}
	if len(r.Unlisted) == placesPerReport-1 {
		more.Region, more.Provider = "", "" // the last one takes in all further ones
	}
	r.Unlisted = append(r.Unlisted, more)
}

// Drift returns the number of disagreements of each kind.
func (r *Report) Drift() map[string]int {
	return map[string]int{
		"missing_row": r.MissingRows.Count, "missing_resource": r.MissingResources.Count, "stray": r.Strays.Count,
		"unknown_group": r.UnknownGroups.Count, "tags": r.ChangedTags.Count, "usage": r.Usage.Count,
	}
}

// ledger is a report that several goroutines write to.
type ledger struct {
	mu     sync.Mutex
	report *Report
}

func (l *ledger) updateReport(change func(*Report)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l.report)
}

func (l *ledger) addListed(typeName, region string, n int) {
	l.updateReport(func(r *Report) {
		full := len(r.Counts) >= countsPerReport
		for i := range r.Counts {
			if c := &r.Counts[i]; c.Type == typeName && c.Region == region || full && c.Type == "" {
				c.Listed += n
				return
			}
		}
		if len(r.Counts) == countsPerReport-1 {
			typeName, region = "", "" // the last one takes in all further ones
		}
		r.Counts = append(r.Counts, Count{typeName, region, n})
	})
}

// reasonOf returns the text of a reason, cut.
func reasonOf(reason error) string {
	text := strings.ToValidUTF8(reason.Error(), "\uFFFD")
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "")
	}
	return text
}

// addLists counts the lists of a type in a subscription. missing has the lists that failed.
func (l *ledger) addLists(lists int, missing []UnlistedPlace) {
	l.updateReport(func(r *Report) {
		for _, place := range missing {
			r.merge(place)
		}
		r.Done = min(r.Done+max(0, lists-len(missing)), r.Of)
	})
}

func (l *ledger) addFailure(sub, typeName, region string, reason error) {
	text := reasonOf(reason)
	l.updateReport(func(r *Report) {
		if r.FailureCount++; len(r.Failures) < failuresInFull {
			r.Failures = append(r.Failures, Failure{sub, typeName, region, text})
		}
	})
}

func (l *ledger) addMiscounts(sub string, off []inventory.Miscount) {
	l.updateReport(func(r *Report) {
		for _, m := range off {
			name := "/subscriptions/" + sub
			if m.Group != "" {
				name += "/resourceGroups/" + m.Group + ": " + m.Type
			}
			r.Usage.add(name)
		}
	})
}
