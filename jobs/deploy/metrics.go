package deploy

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/arm"
	"portico/internal/meter"
	"portico/jobs"
	"portico/jobs/deploy/deployplan"
)

// metrics are labelled by the names of states and ends, and by ARM's codes.
type metrics struct {
	ends, stepEnds, failures *prometheus.CounterVec
	expansions               prometheus.Counter
	seconds, stepSeconds     prometheus.Histogram
	steps                    *prometheus.GaugeVec

	live meter.Live[openSteps] // of the deployments that this replica works on
}

// openSteps counts the steps of a deployment that have not ended.
type openSteps struct{ waiting, running int }

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		ends: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_deployments_total", Help: "Deployments that ended, by outcome: Succeeded, or the error code.",
		}, []string{"end"}),
		stepEnds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_deployment_steps_total",
			Help: "Steps of deployments that ended, by outcome: Succeeded, Failed, Ended (a step they depend on failed), Canceled. Deletions of " +
				"complete mode do not count.",
		}, []string{"end"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_deployment_failures_total",
			Help: "Steps of deployments that failed, by ARM's error code; other: a code of the provider.",
		}, []string{"code"}),
		expansions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_deployment_expansions_total",
			Help: "How often this replica evaluated the template of a deployment in order to run it: once for each deployment that it starts or " +
				"takes over, and again if the result could not be kept in memory while waiting for providers.",
		}),
		seconds:     prometheus.NewHistogram(meter.Long("portico_deployment_seconds", "Time from the PUT of a deployment to its end.")),
		stepSeconds: prometheus.NewHistogram(meter.Long("portico_deployment_step_seconds", "Time from the last call of a step to its end.")),
		steps: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_deployment_steps",
			Help: "Steps of the deployments that this replica is running, by state: waiting, running (sent, and not ended).",
		}, []string{"state"}),
	}
	m.live.Show = m.show
	registry.MustRegister(m.ends, m.stepEnds, m.failures, m.expansions, m.seconds, m.stepSeconds, m.steps)
	return m
}

// Start implements [jobs.Lasting].
func (d *Deployer) Start(registry prometheus.Registerer) {
	d.metrics, d.shelf, d.reads = newMetrics(registry), newShelf(), make(chan struct{}, readers)
}

// Succeed implements [jobs.Lasting].
func (d *Deployer) Succeed(before jobs.Kind) {
	former := before.(*Deployer)
	d.metrics, d.shelf, d.reads = former.metrics, former.shelf, former.reads
}

// end counts a deployment that has ended.
func (m *metrics) end(fault *arm.Error, took time.Duration) {
	end := deployplan.Succeeded.String()
	if fault != nil {
		end = codeOf(fault)
	}
	m.ends.WithLabelValues(end).Inc()
	m.seconds.Observe(took.Seconds())
}

// endStep counts a step that has ended.
func (m *metrics) endStep(state deployplan.State, r *stepRecord) {
	m.stepEnds.WithLabelValues(state.String()).Inc()
	if state == deployplan.Failed {
		m.failures.WithLabelValues(codeOf(r.Fault)).Inc()
	}
	if !r.Began.IsZero() {
		m.stepSeconds.Observe(r.Ended.Sub(r.Began).Seconds())
	}
}

// codeOf returns the code of an error if ARM knows it, else "other": providers invent codes.
func codeOf(fault *arm.Error) string {
	if fault == nil || !fault.Code.Known() {
		return "other"
	}
	return string(fault.Code)
}

// measure shows how many steps of the attempt's deployment wait and run.
func (a *attempt) measure() {
	var s openSteps
	for i := range a.plan.Steps {
		switch state := a.plan.Steps[i].State; {
		case state == deployplan.Waiting:
			s.waiting++
		case !state.Over():
			s.running++
		}
	}
	a.metrics.live.Set(a.job.ID, s)
}

func (m *metrics) show(deployments []openSteps) {
	var all openSteps
	for _, s := range deployments {
		all.waiting, all.running = all.waiting+s.waiting, all.running+s.running
	}
	m.steps.WithLabelValues("waiting").Set(float64(all.waiting))
	m.steps.WithLabelValues("running").Set(float64(all.running))
}
