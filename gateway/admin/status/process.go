package status

import (
	"fmt"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"

	"portico/gateway/admin/api"
	"portico/internal/meter"
)

// figures are metrics of the process, by name.
type figures map[string][]*dto.Metric

func (s Sources) figures() figures {
	families, _ := s.Metrics.Gather() // the metrics without an error are returned nevertheless
	all := figures{}
	for _, family := range families {
		all[family.GetName()] = family.GetMetric()
	}
	return all
}

// value returns the value of a metric without labels, or 0.
func (f figures) value(name string) float64 {
	for _, m := range f[name] {
		return valueOf(m)
	}
	return 0
}

func valueOf(m *dto.Metric) float64 { return m.GetGauge().GetValue() + m.GetCounter().GetValue() }

// The metrics of the process that problems are derived from.
const (
	reloadedMetric     = "portico_config_last_reload_success"
	reloadTimeMetric   = "portico_config_last_reload_timestamp_seconds"
	removedMetric      = "portico_config_removed_credentials"
	certificatesMetric = "portico_certificate_expiry_timestamp_seconds"
	auditMetric        = "portico_audit_failures_total"
	accessMetric       = "portico_access_lines_lost_total"
	issuerMetric       = "portico_issuer_unavailable_timestamp_seconds"
)

// budgets returns the name prefixes of memory metrics with the settings that bound the memory.
func budgets() [][2]string {
	return [][2]string{
		{"portico_batch", "batch.totalMemory"}, {"portico_fanout", "lists.totalMemory"}, {"portico_content", "limits.contentMemory"},
	}
}

// process finds problems of the process itself.
func (f *finding) process(figures figures, now time.Time) {
	if n := int(figures.value(auditMetric)); n > 0 {
		f.add(api.Problem{Code: api.AuditLinesLost, Count: n, Summary: "Some audit lines could not be written to the file."})
	}
	if n := int(figures.value(accessMetric)); n > 0 {
		f.add(api.Problem{Code: api.AccessLinesLost, Count: n, Summary: "Lines of the access log were lost, because standard error was too slow " +
			"or failed."})
	}
	if n := int(figures.value(removedMetric)); n > 0 {
		f.add(api.Problem{Code: api.RemovedCredentials, Count: n,
			Summary: "Credentials that are no longer in the configuration's files are still accepted, until these are in use or the gateway is restarted."})
	}
	if len(figures[reloadedMetric]) > 0 && figures.value(reloadTimeMetric) > 0 && figures.value(reloadedMetric) == 0 {
		f.add(api.Problem{Code: api.ReloadFailed, Since: since(seconds(figures.value(reloadTimeMetric))),
			Summary: "The latest configuration was refused; the next start would fail."})
	}
	for _, m := range figures[issuerMetric] {
		issuer := meter.Label(m, "issuer")
		f.add(api.Problem{Code: api.IssuerUnavailable, Subject: issuer, Since: since(seconds(valueOf(m))),
			Summary: fmt.Sprintf("The keys of the issuer %s cannot be fetched: its tokens are refused unless they are signed by a key that was "+
				"fetched before.", issuer)})
	}
	for _, m := range figures[certificatesMetric] {
		use := meter.Label(m, "use")
		f.certificate(use, certificateOwner(use), seconds(valueOf(m)), now)
	}
	for _, b := range budgets() {
		used, limit := figures.value(b[0]+"_held_bytes"), figures.value(b[0]+"_limit_bytes")
		if limit > 0 && used > 0.9*limit {
			f.add(api.Problem{
				Code: api.BudgetUsedUp, Subject: b[1], Summary: fmt.Sprintf("%.0f %% of %s are in use: requests that need more are refused.", 100*used/limit, b[1]),
			})
		}
	}
}

// certificateOwner names the certificate that a use label means.
func certificateOwner(use string) string {
	switch {
	case use == "listener":
		return "of the public listener"
	case strings.Contains(use, "."):
		return "that " + use + " is shown"
	}
	return "that providers are shown"
}

func seconds(s float64) time.Time { return time.UnixMilli(int64(s * 1000)) }
