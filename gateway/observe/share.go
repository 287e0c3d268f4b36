package observe

import (
	"cmp"
	"context"
	"slices"
	"time"

	"portico/internal/timing"
)

const (
	shareEvery = 5 * time.Second
	shareTime  = 2 * time.Second // for the store
)

// ReplicaGroup is a group of error answers of a replica.
type ReplicaGroup struct {
	ErrorGroup
	Replica string
}

// Run writes changed groups for other replicas every five seconds until ctx ends, and a last
// time then.
func (r *Recent) Run(ctx context.Context) {
	if !r.shared.Shared() {
		return
	}
	written := uint64(0)
	for ended := false; !ended; {
		ended = timing.Sleep(ctx, shareEvery) != nil
		written = r.shareGroups(context.WithoutCancel(ctx), written)
	}
}

// shareGroups writes the groups if they changed since the change count written, and returns
// the change count of the groups in the store.
func (r *Recent) shareGroups(ctx context.Context, written uint64) uint64 {
	r.mu.Lock()
	changes, all := r.groups.changes, r.groups.newestFirst(time.Now())
	r.mu.Unlock()
	if changes == written {
		return written
	}
	ctx, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	text, err := packGroups(all)
	if err == nil {
		err = r.shared.Put(ctx, r.replica, text)
	}
	if err != nil { // reported by others: the store fails for all
		return written
	}
	return changes
}

// Groups returns the groups of all replicas, the newest first. If the store does not answer,
// it returns only this replica's groups, and ownOnly is true.
func (r *Recent) Groups(ctx context.Context) (all []ReplicaGroup, ownOnly bool) {
	now := time.Now()
	r.mu.Lock()
	own := r.groups.newestFirst(now)
	r.mu.Unlock()
	add := func(replica string, groups []ErrorGroup) {
		for _, g := range groups {
			if now.Sub(g.Time) < groupsKept {
				all = append(all, ReplicaGroup{g, replica})
			}
		}
	}
	add(r.replica, own)
	ctx, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	others, err := r.shared.Others(ctx, r.replica)
	for name, text := range others {
		groups, err := unpackGroups(text)
		if err == nil { // a later version may write another form
			add(name, groups)
		}
	}
	slices.SortFunc(all, func(a, b ReplicaGroup) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Replica, b.Replica), cmp.Compare(a.Correlation, b.Correlation))
	})
	return all, err != nil && r.shared.Shared()
}

// Replica returns the name of this replica.
func (r *Recent) Replica() string { return r.replica }
