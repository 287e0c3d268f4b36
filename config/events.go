package config

import (
	"time"

	"portico/config/files"
	"portico/config/rule"
	"portico/config/setting"
)

// Events configures how long events are kept, how many, and who receives them.
type Events struct {
	Retention time.Duration
	Most      int
	Sinks     []Sink
}

func (e *Events) rows(r *files.Reader) *setting.Setting {
	return setting.Mapping("events", "What has changed, for the activity log and the change feed.",
		setting.Value("retention", &e.Retention, rule.PositiveDuration(), 90*24*time.Hour,
			"How long events are kept.").RestartOnly(),
		setting.Value("most", &e.Most, rule.Count(), 10_000_000,
			"How many of all subscriptions are kept at most, each about 1 KB in the store; the oldest of those subscriptions go first that have most.").
			RestartOnly(),
		sinkRows(r, &e.Sinks),
	)
}
