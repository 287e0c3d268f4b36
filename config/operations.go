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
	return setting.Mapping("operations", "Long-running operations, as clients see them.",
		setting.Value("retryAfterMin", &p.RetryAfterMin, rule.WholeSeconds(), 10*time.Second,
			"Minimum Retry-After of a provider's operation, even if the provider sends less."),
		setting.Value("retryAfterMax", &p.RetryAfterMax, rule.WholeSeconds(), 10*time.Minute,
			"Maximum Retry-After, including Portico's own operations. At least `operations.retryAfterMin`."),
		setting.Value("firstAnswer", &p.FirstAnswer, rule.DurationTo(time.Minute), 2*time.Second,
			"How long the answer to a request that starts an operation of Portico's own (a deployment, the deletion of a group, a move, a long "+
				"batch) waits for the operation's end, so that the client need not poll. 0s: it does not wait."),
		setting.Value("waiting", &p.Waiting, rule.Count(), 256,
			"Maximum number of requests that wait in this way. One caller may use the share `limits.callerShare`. Others are answered "+
				"immediately, and poll.").
			RestartOnly(),
		setting.Value("records", &p.Records, rule.PositiveDuration(), 48*time.Hour,
			"How long an operation is remembered; longer while it is polled.").RestartOnly(),
		setting.Value("perCaller", &p.PerCaller, rule.Count(), 100000,
			"Maximum number of polling URLs that are remembered for one caller in a subscription. Beyond it, the caller's writes there are not "+
				"sent, and answered with 429, until older ones are forgotten."),
		setting.Value("learned", &p.Learned, rule.Count(), 1000,
			"Maximum number of polling URLs without an owner, found in answers to reads, that are remembered per subscription. The oldest are "+
				"forgotten first.").RestartOnly(),
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
	return setting.Mapping("jobs", "Leases of durable work.",
		setting.Value("lease", &j.Lease, rule.PositiveDuration(), 10*time.Second,
			"How long a gateway's lease on a job lasts unless it is renewed. After that, another gateway may take the job.").RestartOnly(),
	)
}

// GroupDelete limits the deletion of a resource group.
type GroupDelete struct {
	TransientBudget, Limit time.Duration
	PerEndpoint, PerJob    int // concurrent deletes
}

func (g *GroupDelete) rows() *setting.Setting {
	return setting.Mapping("groupDelete", "Limits of the deletion of a resource group.",
		setting.Value("transientBudget", &g.TransientBudget, rule.PositiveDuration(), 15*time.Minute,
			"How long transient failures of one resource (408, 429, 500) are retried."),
		setting.Value("limit", &g.Limit, rule.PositiveDuration(), time.Hour,
			"Maximum duration of the deletion. After that the group can be used again, with the resources that are left."),
		setting.Value("perEndpoint", &g.PerEndpoint, rule.Count(), 8,
			"Number of concurrent deletes per endpoint for one caller. All callers together have this number divided by `limits.callerShare`."),
		setting.Value("perJob", &g.PerJob, rule.Count(), 64, "Number of concurrent deletes per group."),
	)
}

// Move limits a move of resources between groups.
type Move struct {
	TransientBudget, Limit time.Duration
}

func (m *Move) rows() *setting.Setting {
	return setting.Mapping("move", "Limits of moves of resources.",
		setting.Value("transientBudget", &m.TransientBudget, rule.PositiveDuration(), 15*time.Minute,
			"How long transient failures of one provider's call (408, 429, 500) are retried."),
		setting.Value("limit", &m.Limit, rule.PositiveDuration(), 4*time.Hour,
			"Maximum duration of the move. After that no new calls start, and those already made to providers are waited for."),
	)
}
