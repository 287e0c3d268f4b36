package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/gateway/admin/api"
	"portico/internal/plural"
	"portico/inventory"
)

const (
	eventsWait = time.Minute
	sinkLag    = 5 * time.Minute
)

// events finds changes that readers cannot see yet.
func (s Sources) events(ctx context.Context, f *finding) error {
	counts, err := s.Store.Events.Count(ctx)
	if err == nil && counts.Oldest > eventsWait {
		f.add(api.Problem{Code: api.EventsWaiting, Count: int(counts.Waiting), Since: since(s.Store.Now().Add(-counts.Oldest)),
			Summary: "Neither the activity log nor the change feed shows the latest changes."})
	}
	return err
}

// sinks finds receivers that do not get their events.
func (s Sources) sinks(ctx context.Context, f *finding) error {
	for _, sink := range s.Sinks.Sinks {
		status, err := s.Sinks.Status(ctx, sink.Name)
		if errors.Is(err, inventory.ErrNotFound) {
			continue // its job is made soon
		}
		if err != nil {
			return err
		}
		if !status.AwaySince.IsZero() {
			f.add(api.Problem{Code: api.SinkAway, Subject: sink.Name, Since: since(status.AwaySince),
				Summary: fmt.Sprintf("The receiver of the sink accepts no events: %s.", status.Failure)})
		}
		if lag := time.Duration(status.LagSeconds * float64(time.Second)); lag > sinkLag {
			f.add(api.Problem{Code: api.SinkBehind, Subject: sink.Name, Count: int(status.Lag), Since: since(s.Store.Now().Add(-lag)),
				Summary: fmt.Sprintf("The sink has yet to read %s.", plural.Count(int(status.Lag), "event", "events"))})
		}
		if status.Dead > 0 {
			f.add(api.Problem{Code: api.SinkDeadLetters, Subject: sink.Name, Count: status.Dead,
				Summary: fmt.Sprintf("%s of the sink given up.", plural.Count(status.Dead, "event was", "events were"))})
		}
	}
	return nil
}
