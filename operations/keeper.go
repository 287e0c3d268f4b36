package operations

import (
	"context"
	"net/http"
	"sync"
	"time"

	"go.uber.org/zap"

	"portico/inventory"
	"portico/tracing"
)

// Pace of a [Keeper].
const (
	longestPauses = 60  // of Floor: between two questions about one row
	rowsPerPass   = 200 // of one subscription
	subsPerPage   = 500
	askedAtOnce   = 8
	cleanUp       = 1000 // expired records removed in one pass
)

// Keeper asks for the rows that are in doubt until none is left. Doubt is
// durable, so a Keeper that starts anew goes on where the last one ended; only
// its patience with each row begins afresh.
type Keeper struct {
	Asker  Asker
	Floor  time.Duration // the least time between two questions about one row
	Region string        // of the front door, for the ids of its calls
	Log    *zap.Logger

	patience map[rowVersion]patience
}

// rowVersion names what is known of a row at one time.
type rowVersion struct {
	subscription, key string
	generation        [16]byte
}

// patience is when a row is asked for again.
type patience struct {
	due   time.Time
	pause time.Duration
}

// Run works until ctx ends. It must not be called twice at a time.
func (k *Keeper) Run(ctx context.Context) {
	k.patience = map[rowVersion]patience{}
	ticker := time.NewTicker(k.Floor)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := k.pass(ctx); err != nil && ctx.Err() == nil {
			k.Log.Warn("the index could not be looked over", zap.Error(err))
		}
	}
}

// pass ends what time has ended and asks for every row that is due.
func (k *Keeper) pass(ctx context.Context) error {
	store := k.Asker.Store
	if _, err := store.Expire(ctx, cleanUp); err != nil {
		return err
	}
	if _, err := store.ForgetOperations(ctx, cleanUp); err != nil {
		return err
	}
	seen := map[rowVersion]patience{}
	after := ""
	for {
		subscriptions, err := store.Subscriptions(ctx, "", after, subsPerPage)
		if err != nil {
			return err
		}
		for _, s := range subscriptions {
			rows, err := store.Doubtful(ctx, s.ID, rowsPerPass)
			if err != nil {
				return err
			}
			k.askAll(ctx, rows, seen)
			after = s.ID
		}
		if len(subscriptions) < subsPerPage {
			break
		}
	}
	k.patience = seen // what is settled is forgotten
	return nil
}

// askAll asks for the rows that are due, and notes in seen when each is again.
func (k *Keeper) askAll(ctx context.Context, rows []inventory.Resource, seen map[rowVersion]patience) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, askedAtOnce)
	now := time.Now()
	for _, row := range rows {
		version := rowVersion{row.Subscription, row.Key, row.Generation}
		p, known := k.patience[version]
		if !known {
			// A row that was just written is most often settled by its own
			// request: let that have its say first.
			p = patience{now.Add(k.Floor), k.Floor}
		}
		if now.Before(p.due) {
			seen[version] = p
			continue
		}
		p.pause = min(2*p.pause, longestPauses*k.Floor)
		p.due = now.Add(p.pause)
		seen[version] = p
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			k.ask(ctx, row)
		})
	}
	wait.Wait()
}

func (k *Keeper) ask(ctx context.Context, row inventory.Resource) {
	h := http.Header{}
	id, _ := tracing.Identify(h, k.Region, time.Now()) // no client, so nothing to refuse
	id.Stamp(h)
	if _, err := k.Asker.Ask(ctx, h, row); err != nil && ctx.Err() == nil {
		k.Log.Info("a resource in doubt could not be asked for", zap.String("id", row.ID), zap.String("region", row.Region), zap.String("correlationId", id.Correlation), zap.Error(err))
	}
}
