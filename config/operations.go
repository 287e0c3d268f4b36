package config

import (
	"time"

	"portico/config/rule"
	"portico/config/setting"
)

// Operations configures how long-running operations appear to clients. The limits of Retry-After
// are whole seconds.
type Operations struct {
	RetryAfterMin, RetryAfterMax time.Duration
	FirstAnswer                  time.Duration // 0: the answer does not wait
	Waiting                      int
	Records                      time.Duration
	PerCaller                    int // remembered per caller and subscription
	Learned                      int // remembered per subscription, without an owner
}

func (p *Operations) rows() *setting.Setting {
	return setting.Mapping("operations", "How long-running operations appear to clients.",
		setting.Value("retryAfterMin", &p.RetryAfterMin, rule.WholeSeconds(), 10*time.Second,
			"The least Retry-After of a provider's operation, whatever the provider says."),
		setting.Value("retryAfterMax", &p.RetryAfterMax, rule.WholeSeconds(), 10*time.Minute,
			"The greatest Retry-After, of Portico's own operations too; not less than `operations.retryAfterMin`."),
		setting.Value("firstAnswer", &p.FirstAnswer, rule.DurationTo(time.Minute), 2*time.Second,
			"For how long the answer to a request that begins an operation of Portico's own (a deployment, the deletion of a group, a move, a long batch) "+
				"waits for the operation's end, so that its client need not poll. 0s: it does not wait."),
		setting.Value("waiting", &p.Waiting, rule.Count(), 256,
			"How many requests wait so at a time, and of one caller the part `limits.callerShare` of them. Others are answered at once, and polled.").
			RestartOnly(),
		setting.Value("records", &p.Records, rule.PositiveDuration(), 48*time.Hour,
			"How long an operation is remembered; longer as long as it is polled.").RestartOnly(),
		setting.Value("perCaller", &p.PerCaller, rule.Count(), 100000,
			"How many polling URLs are remembered for one caller in one subscription. From then on the caller's writes there are answered with 429, and "+
				"not sent, until older ones are forgotten."),
		setting.Value("learned", &p.Learned, rule.Count(), 1000,
			"How many polling URLs that reads have named, and that belong to no one, are remembered in one subscription; the oldest give way.").RestartOnly(),
	).Check(func(o *setting.Object) {
		if p.RetryAfterMin > p.RetryAfterMax {
			o.Fault(o.At("retryAfterMin", "retryAfterMax"),
				"operations.retryAfterMin "+p.RetryAfterMin.String()+" is longer than retryAfterMax "+p.RetryAfterMax.String(),
				"retryAfterMin at most retryAfterMax")
		}
	})
}

// Jobs configures the leases of durable work.
type Jobs struct {
	Lease time.Duration
}

func (j *Jobs) rows() *setting.Setting {
	return setting.Mapping("jobs", "How durable work is held.",
		setting.Value("lease", &j.Lease, rule.PositiveDuration(), 10*time.Second,
			"For how long a gateway holds a piece of work that it does not renew; then another may take it.").RestartOnly(),
	)
}

// GroupDelete limits the deletion of a resource group.
type GroupDelete struct {
	TransientBudget, Limit time.Duration
	PerEndpoint, PerJob    int // concurrent deletes
}

func (g *GroupDelete) rows() *setting.Setting {
	return setting.Mapping("groupDelete", "Bounds of the deletion of a resource group.",
		setting.Value("transientBudget", &g.TransientBudget, rule.PositiveDuration(), 15*time.Minute,
			"For how long the passing failures of one resource (408, 429, 500) are retried."),
		setting.Value("limit", &g.Limit, rule.PositiveDuration(), time.Hour,
			"For the whole; then the group is given back with what is left in it."),
		setting.Value("perEndpoint", &g.PerEndpoint, rule.Count(), 8,
			"How many deletes are under way at one endpoint for one caller; for all callers together it is as many as this is the part "+
				"`limits.callerShare` of."),
		setting.Value("perJob", &g.PerJob, rule.Count(), 64, "How many deletes are under way for one group."),
	)
}

// Move limits a move of resources between groups.
type Move struct {
	TransientBudget, Limit time.Duration
}

func (m *Move) rows() *setting.Setting {
	return setting.Mapping("move", "Bounds of a move of resources.",
		setting.Value("transientBudget", &m.TransientBudget, rule.PositiveDuration(), 15*time.Minute,
			"For how long the passing failures of one provider's call (408, 429, 500) are retried."),
		setting.Value("limit", &m.Limit, rule.PositiveDuration(), 4*time.Hour,
			"For the whole; then no more calls begin. What a provider was told of by then is waited for."),
	)
}
