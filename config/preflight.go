package config

import (
	"time"

	"portico/config/rule"
	"portico/config/setting"
)

// Preflight limits the validation of planned resources.
type Preflight struct {
	Timeout time.Duration
}

func (p *Preflight) rows() *setting.Setting {
	return setting.Mapping("preflight", "Validation of planned resources, `POST /providers/Microsoft.Resources/validateResources`.",
		setting.Value("timeout", &p.Timeout, rule.PositiveDuration(), 5*time.Second,
			"How long a call waits for the providers' validation. A provider that has not answered by then does not refuse anything."),
	)
}
