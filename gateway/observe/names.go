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

// Bounds on the names in memory.
const (
	mostNamesKnown = 20_000         // callers whose names were written lately
	mostNamesToDo  = 1000           // names to write
	longestName    = 200            // bytes
	nameWrittenFor = 24 * time.Hour // until a name is written again
)

// Names stores the names in callers' tokens, so that operators see them next to the callers'
// ids. It is safe for concurrent use.
type Names struct {
	store *observed.Names

	mu      sync.Mutex
	written map[Caller]writtenName
	todo    map[Caller]string
}

type writtenName struct {
	name string
	at   time.Time
}

// NewNames returns a Names that writes to store.
func NewNames(store *observed.Names) *Names {
	return &Names{store: store, written: map[Caller]writtenName{}, todo: map[Caller]string{}}
}

// remember queues a caller's name for writing, unless it was written lately.
func (n *Names) remember(p *access.Principal, now time.Time) {
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

// Run writes new names every few seconds until ctx ends, and a last time then.
func (n *Names) Run(ctx context.Context) {
	for ended := false; !ended; {
		ended = timing.Sleep(ctx, shareEvery) != nil
		n.write(context.WithoutCancel(ctx), time.Now())
	}
}

// write writes the queued names, tenant by tenant. If that fails for a tenant, its names are
// dropped; they are queued again with the callers' next requests.
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
		if n.store.Put(ctx, tenant, names) != nil { // reported by others: the store fails for all
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
