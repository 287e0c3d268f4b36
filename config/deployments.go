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
		setting.Value("perDeployment", &d.PerDeployment, rule.Count(), 16, "Number of resources of one deployment that are deployed concurrently."),
		setting.Value("perEndpoint", &d.PerEndpoint, rule.Count(), 8, "Number of them at one endpoint."),
		setting.Value("transientBudget", &d.TransientBudget, rule.PositiveDuration(), 15*time.Minute,
			"How long a resource is retried if its provider answers 408, 429 or 5xx, or not at all."),
		setting.Value("limit", &d.Limit, rule.PositiveDuration(), 24*time.Hour, "Maximum duration of a deployment. After that it fails, and its "+
			"error names the unfinished resources."),
		setting.Value("history", &d.History, rule.Count(), 800, "Maximum number of stored deployments per group, and per subscription outside of "+
			"groups, with at most 128 MiB each. A subscription and its groups share 16 GiB, so each has less if there are more than 127 groups. "+
			"The oldest finished deployments are deleted first."),
		setting.Value("running", &d.Running, rule.Count(), 50, "Maximum number of running deployments per subscription, with at most 64 MiB of "+
			"templates and parameters in total. One caller may use the share `limits.callerShare` of both. Further deployments are answered with "+
			"429."),
	)
}
