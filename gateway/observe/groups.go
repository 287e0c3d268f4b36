package observe

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"slices"
	"time"
)

// Bounds on the groups of errors. One caller cannot push out the groups of all others.
const (
	mostGroups       = 500
	groupsPerCaller  = 50
	groupsKept       = 24 * time.Hour // after the last answer
	mostGroupsLength = 4 << 20        // bytes, uncompressed, of another replica
)

// ErrorGroup is a group of error answers with the same status, code, cause, caller, region and
// subscription.
type ErrorGroup struct {
	ErrorAnswer `json:"newest"`
	Count       int       `json:"count"`
	First       time.Time `json:"first"`
}

// groupKey identifies a group.
type groupKey struct {
	status                            int
	code, cause, region, subscription string
	caller                            Caller
}

func (a *ErrorAnswer) group() groupKey {
	return groupKey{a.Status, a.Code, a.Cause, a.Region, a.Subscription, a.Caller}
}

// groups is a bounded set of groups. It is not safe for concurrent use.
type groups struct {
	all     map[groupKey]*ErrorGroup
	changes uint64 // counts the answers
}

func (g *groups) add(a ErrorAnswer) {
	g.changes++
	key := a.group()
	if known := g.all[key]; known != nil {
		known.ErrorAnswer, known.Count = a, known.Count+1
		return
	}
	if g.all == nil {
		g.all = map[groupKey]*ErrorGroup{}
	}
	g.makeRoom(a.Caller)
	g.all[key] = &ErrorGroup{a, 1, a.Time}
}

// makeRoom forgets the caller's oldest group if the caller has its maximum, or the oldest
// group of all if that maximum is reached.
func (g *groups) makeRoom(caller Caller) {
	var oldest, oldestOwn *ErrorGroup
	own := 0
	for _, one := range g.all {
		if oldest == nil || one.Time.Before(oldest.Time) {
			oldest = one
		}
		if one.Caller != caller {
			continue
		}
		if own++; oldestOwn == nil || one.Time.Before(oldestOwn.Time) {
			oldestOwn = one
		}
	}
	switch {
	case own >= groupsPerCaller:
		delete(g.all, oldestOwn.group())
	case len(g.all) >= mostGroups:
		delete(g.all, oldest.group())
	}
}

// newestFirst returns the groups with an answer within groupsKept.
func (g *groups) newestFirst(now time.Time) []ErrorGroup {
	found := make([]ErrorGroup, 0, len(g.all))
	for _, one := range g.all {
		if now.Sub(one.Time) < groupsKept {
			found = append(found, *one)
		}
	}
	slices.SortFunc(found, func(a, b ErrorGroup) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Correlation, b.Correlation))
	})
	return found
}

// packGroups encodes groups for other replicas.
func packGroups(all []ErrorGroup) ([]byte, error) {
	var text bytes.Buffer
	to := gzip.NewWriter(&text)
	if err := json.NewEncoder(to).Encode(all); err != nil {
		return nil, err
	}
	err := to.Close()
	return text.Bytes(), err
}

func unpackGroups(text []byte) (all []ErrorGroup, err error) {
	from, err := gzip.NewReader(bytes.NewReader(text))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(from, mostGroupsLength)).Decode(&all)
	}
	return all, err
}
