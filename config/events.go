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
	return setting.Mapping("events", "Events about changes, for the activity log and the change feed.",
		setting.Value("retention", &e.Retention, rule.PositiveDuration(), 90*24*time.Hour,
			"How long events are kept.").RestartOnly(),
		setting.Value("most", &e.Most, rule.Count(), 10_000_000,
			"Maximum number of events stored for all subscriptions together, each about 1 KB. If it is exceeded, the oldest events of the "+
				"subscriptions with the most events are deleted first.").
			RestartOnly(),
		sinkRows(r, &e.Sinks),
	)
}
