package observe

import (
	"context"
	"maps"
	"sync"
	"time"

	"portico/access"
	"portico/arm"
	"portico/internal/logs"
	"portico/internal/timing"
	"portico/inventory/observed"
)

// Bounds of what is remembered of names.
const (
	mostNamesKnown = 20_000         // callers whose names were written of late
	mostNamesToDo  = 1000           // names that wait to be written
	longestName    = 200            // bytes
	nameWrittenFor = 24 * time.Hour // until it is written again
)

// Names keeps the names that callers have in their tokens, so that operators see these
// next to their ids. It is safe for concurrent use.
type Names struct {
	kept *observed.Names

	mu      sync.Mutex
	written map[Caller]writtenName
	todo    map[Caller]string
}

type writtenName struct {
	name string
	at   time.Time
}

// NewNames returns what keeps names.
func NewNames(kept *observed.Names) *Names {
	return &Names{kept: kept, written: map[Caller]writtenName{}, todo: map[Caller]string{}}
}

// note records the name of a caller, unless that happened lately.
func (n *Names) note(p *access.Principal, now time.Time) {
	caller := callerOf(p)
	if p.Name == "" || caller.TenantID == "" || caller.ID == "" || arm.ValidGUID(p.Name) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, ok := n.written[caller]; ok && known.name == p.Name && now.Sub(known.at) < nameWrittenFor {
		return
	}
	if len(n.todo) < mostNamesToDo {
		n.todo[caller] = p.Name
	}
}

// Run writes new names every few seconds until ctx ends, and once more then.
func (n *Names) Run(ctx context.Context) {
	for ended := false; !ended; {
		ended = timing.Sleep(ctx, shareEvery) != nil
		n.write(context.WithoutCancel(ctx), time.Now())
	}
}

// write writes the new names, tenant by tenant. Those of a tenant that could not be written
// are noted again when their callers come again.
func (n *Names) write(ctx context.Context, now time.Time) {
	n.mu.Lock()
	todo := n.todo
	n.todo = map[Caller]string{}
	n.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	byTenant := map[string]map[string]string{}
	for caller, name := range todo {
		if byTenant[caller.TenantID] == nil {
			byTenant[caller.TenantID] = map[string]string{}
		}
		byTenant[caller.TenantID][caller.ID] = logs.Clip(logs.Text(name), longestName)
	}
	for tenant, names := range byTenant {
		if n.kept.Put(ctx, tenant, names) != nil { // what watches the store says so
			maps.DeleteFunc(todo, func(c Caller, _ string) bool { return c.TenantID == tenant })
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.written)+len(todo) > mostNamesKnown {
		clear(n.written)
	}
	for caller, name := range todo {
		n.written[caller] = writtenName{name, now}
	}
}
