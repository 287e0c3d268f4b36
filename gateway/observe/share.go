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

// ReplicaGroup is a group of the errors that a replica answered with.
type ReplicaGroup struct {
	ErrorGroup
	Replica string
}

// Run writes the groups for other replicas until ctx ends, and once more then: not more
// often than every five seconds, and not if none changed.
func (r *Recent) Run(ctx context.Context) {
	if !r.shared.Shared() {
		return
	}
	written := uint64(0)
	for ended := false; !ended; {
		ended = timing.Sleep(ctx, shareEvery) != nil
		written = r.share(context.WithoutCancel(ctx), written)
	}
}

// share writes the groups unless they are as they were written, and returns which are
// written now.
func (r *Recent) share(ctx context.Context, written uint64) uint64 {
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
	if err != nil { // what watches the store says so
		return written
	}
	return changes
}

// Groups are those of all replicas, the newest first. While the store does not answer
// they are those of this one alone, which is reported.
func (r *Recent) Groups(ctx context.Context) (all []ReplicaGroup, alone bool) {
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

// Replica is the name of this replica.
func (r *Recent) Replica() string { return r.replica }
