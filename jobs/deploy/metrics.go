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
			Name: "portico_deployments_total", Help: "Deployments that have ended, by how: Succeeded, or the code of the error.",
		}, []string{"end"}),
		stepEnds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_deployment_steps_total",
			Help: "Steps of deployments that have ended, by how: Succeeded, Failed, Ended (by what they depend on), Canceled. " +
				"Deletions of complete mode are not among them.",
		}, []string{"end"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_deployment_failures_total",
			Help: "Steps of deployments that have failed, by ARM's code of the error; other: a code that only the provider knows.",
		}, []string{"code"}),
		expansions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_deployment_expansions_total",
			Help: "Times that this replica worked the template of a deployment out to carry it out: once for each that it begins or takes over, " +
				"and again if there was no room to keep it while its providers were waited for.",
		}),
		seconds:     prometheus.NewHistogram(meter.Long("portico_deployment_seconds", "Time from the PUT of a deployment to its end.")),
		stepSeconds: prometheus.NewHistogram(meter.Long("portico_deployment_step_seconds", "Time from a step's last sending to its end.")),
		steps: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_deployment_steps",
			Help: "Steps of the deployments that this replica works on at the moment: waiting, running (sent, and not ended).",
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
