package meter

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Of times that are about as long, one a second has an exemplar.
func TestExemplars(t *testing.T) {
	observer := &exemplars{}
	times := NewTimes(observer)
	now := time.Unix(1_000_000, 0)
	for i := range 100 {
		times.Observe(time.Millisecond, now, fmt.Sprint("short", i), "")
		times.Observe(time.Hour, now, fmt.Sprint("long", i), "")
	}
	times.Observe(time.Millisecond, now.Add(time.Second), "later", "")
	times.Observe(-time.Second, now, "negative", "")
	times.Observe(time.Second, now.Add(time.Minute), "", "")
	for i := range 10 { // what is traced has an exemplar beside what is not
		times.Observe(time.Millisecond, now.Add(time.Second), fmt.Sprint("traced", i), "0af7")
	}
	if got := fmt.Sprint(observer.with); got != "[short0 long0 later negative traced0 0af7]" || observer.n != 213 {
		t.Errorf("%s of %d", got, observer.n)
	}
}

// exemplars is a histogram that keeps who had an exemplar.
type exemplars struct {
	with []string
	n    int
}

func (e *exemplars) Observe(float64) { e.n++ }

func (e *exemplars) ObserveWithExemplar(_ float64, labels prometheus.Labels) {
	e.n++
	e.with = append(e.with, labels[CorrelationLabel])
	if trace, ok := labels[TraceLabel]; ok {
		e.with = append(e.with, trace)
	}
}

func TestCode(t *testing.T) {
	for status, want := range map[int]string{0: "other", 99: "other", 200: "200", 299: "2xx", 418: "418", 498: "4xx", 499: "499", 503: "503", 600: "other", -1: "other"} {
		if got := Code(status); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
}

func TestConfigurationAndCertificates(t *testing.T) {
	r := prometheus.NewRegistry()
	c := NewConfiguration(r)
	c.Loaded(1, time.UnixMilli(1500))
	c.Refused(time.Unix(2, 0))
	c.Removed(4)
	certificates := NewCertificates(r)
	certificates.Use(ListenerCertificate, time.Unix(3, 0))
	certificates.UseTowards(map[string]time.Time{UpstreamCertificate: time.Unix(4, 0), "Contoso.Compute": time.Unix(5, 0), "Contoso.Insight": time.Unix(6, 0)})
	certificates.UseTowards(map[string]time.Time{UpstreamCertificate: {}, "Contoso.Insight": time.Unix(7, 0)})
	if err := testutil.GatherAndCompare(r, strings.NewReader(`
# HELP portico_config_generation The number of the configuration in use: 1 at the start, one more after each accepted reload.
# TYPE portico_config_generation gauge
portico_config_generation 1
# HELP portico_config_last_reload_success 1 if the configuration that was last read is in use, 0 if it was refused and the one before stays in use.
# TYPE portico_config_last_reload_success gauge
portico_config_last_reload_success 0
# HELP portico_config_last_reload_timestamp_seconds When a configuration was last read, whether it was accepted or refused.
# TYPE portico_config_last_reload_timestamp_seconds gauge
portico_config_last_reload_timestamp_seconds 2
# HELP portico_config_removed_credentials Credentials that were removed from the configuration file but are still accepted, because the file was refused or the removal needs a restart.
# TYPE portico_config_removed_credentials gauge
portico_config_removed_credentials 4
# HELP portico_certificate_expiry_timestamp_seconds When a certificate of the gateway expires, by its use: listener (the public listener), upstream (shown to providers), or a namespace (shown to this provider).
# TYPE portico_certificate_expiry_timestamp_seconds gauge
portico_certificate_expiry_timestamp_seconds{use="Contoso.Insight"} 7
portico_certificate_expiry_timestamp_seconds{use="listener"} 3
`)); err != nil {
		t.Error(err)
	}
}

// What belongs to labels is made once, also by many at a time.
func TestHandles(t *testing.T) {
	type labels struct{ a, b string }
	created := 0
	h := NewHandles(func(labels) *int { created++; return new(int) })
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for k := range 100 {
				l := labels{fmt.Sprint((i + k) % 10), "b"}
				if first, again := h.Get(l), h.Get(l); first != again {
					t.Error("another one for the same labels")
				}
			}
		})
	}
	wait.Wait()
	if created != 10 || h.Get(labels{"1", "b"}) == h.Get(labels{"2", "b"}) {
		t.Errorf("%d are made for 10 sets of labels", created)
	}
	l := labels{"1", "b"}
	if n := testing.AllocsPerRun(100, func() { h.Get(l) }); n != 0 {
		t.Errorf("%v allocations for what is made", n)
	}
}
