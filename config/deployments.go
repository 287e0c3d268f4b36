package config

import (
	"time"

	"portico/config/rule"
	"portico/config/setting"
)

// Deployments limits deployments of templates.
type Deployments struct {
	PerDeployment   int
	PerEndpoint     int
	TransientBudget time.Duration
	Limit           time.Duration
	History         int
	Running         int
}

func (d *Deployments) rows() *setting.Setting {
	return setting.Mapping("deployments", "Deployments of templates.",
		setting.Value("perDeployment", &d.PerDeployment, rule.Count(), 16, "How many resources of one deployment are under way at a time."),
		setting.Value("perEndpoint", &d.PerEndpoint, rule.Count(), 8, "How many of them at one endpoint."),
		setting.Value("transientBudget", &d.TransientBudget, rule.PositiveDuration(), 15*time.Minute,
			"How long a resource is tried again whose provider answers with 408, 429 or 5xx, or not at all."),
		setting.Value("limit", &d.Limit, rule.PositiveDuration(), 24*time.Hour, "How long a deployment may take. Then it fails, and names what was under way."),
		setting.Value("history", &d.History, rule.Count(), 800, "How many deployments of one group, or of one subscription, are kept, with 128 MiB in sum "+
			"at most, and less where a subscription has more than 127 groups: all have 16 GiB. The oldest that have ended go."),
		setting.Value("running", &d.Running, rule.Count(), 50, "How many deployments of one subscription may be under way, with templates and parameters "+
			"of 64 MiB in sum at most. One caller has a share of both, `limits.callerShare`. A further one gets 429."),
	)
}
