package frontdoor

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"portico/arm"
	"portico/events"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory/eventlog"
	"portico/inventory/memory"
)

// eventsAtOnce bounds how many events a request assigns numbers to.
const eventsAtOnce = 1000

// numberSlack bounds how much later than a younger event an event may be numbered.
const numberSlack = time.Minute

// newestEvents lists events since a time, the newest first.
type newestEvents struct {
	// read returns events before a number, 0 for the newest.
	read    func(before int64, limit int) ([]events.Event, error)
	since   time.Time
	matches func(events.Event) bool
	show    func(events.Event) any
}

func (l newestEvents) answer(w http.ResponseWriter, x *exchange.Exchange, lists route.Lists, p route.Page) error {
	over := false
	return route.ListSource[events.Event]{
		Read: func(after string, limit int) ([]events.Event, error) {
			if over {
				return nil, nil
			}
			before, _ := strconv.ParseInt(after, 10, 64)
			found, err := l.read(before, limit)
			for i, e := range found {
				// Numbers and times have the same order, except for the difference of
				// clocks.
				if e.At.Add(numberSlack).Before(l.since) {
					found, over = found[:i], true
					break
				}
			}
			return found, err
		},
		Key:  func(e events.Event) string { return strconv.FormatInt(e.Number, 10) },
		Keep: func(e events.Event) bool { return !e.At.Before(l.since) && l.matches(e) },
		Show: l.show,
	}.Answer(w, x, lists, p)
}

// eventSource reads events of a subscription or, without one, of a tenant: the newest
// first, before a number, and only of one resource if key is not empty. For a
// subscription it also returns events of its tenant, which concerns has to filter: a
// custom role belongs to each subscription where it is assignable, though its changes are
// recorded once.
type eventSource struct {
	store                *eventlog.Log
	subscription, tenant string // folded
}

func (o eventSource) partition() string {
	if o.subscription != "" {
		return o.subscription
	}
	return memory.TenantPartition(o.tenant)
}

func (o eventSource) read(ctx context.Context, key string, before int64, limit int) ([]events.Event, error) {
	own, err := o.readFrom(ctx, o.partition(), key, before, limit)
	within, roleKey := "/subscriptions/"+o.subscription, ""
	if err != nil || o.subscription == "" {
		return own, err
	}
	if key != "" {
		var is bool
		if roleKey, is = strings.CutPrefix(key, within); !is || !strings.HasPrefix(roleKey, roleDefinitions) {
			return own, nil
		}
	}
	roles, err := o.readFrom(ctx, memory.TenantPartition(o.tenant), roleKey, before, limit)
	if len(roles) == 0 || err != nil {
		return own, err
	}
	for i := range roles {
		if e := &roles[i]; len(e.AssignableIn(o.subscription)) > 0 { // shown like a role of the subscription
			e.Subscription, e.Key, e.Resource = o.subscription, within+e.Key, within+e.Resource
		}
	}
	all := slices.Concat(own, roles)
	slices.SortFunc(all, func(a, b events.Event) int { return cmp.Compare(b.Number, a.Number) })
	return all[:min(limit, len(all))], nil
}

var roleDefinitions = arm.Fold("/providers/Microsoft.Authorization/roleDefinitions/")

func (o eventSource) readFrom(ctx context.Context, partition, key string, before int64, limit int) ([]events.Event, error) {
	if key != "" {
		return o.store.OfResource(ctx, partition, key, before, limit)
	}
	return o.store.OfSubscription(ctx, partition, before, limit)
}

// concerns reports whether an event belongs to the subscription, or to the tenant.
func (o eventSource) concerns(e events.Event) bool { return e.Subscription == o.partition() }
