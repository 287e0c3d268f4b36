package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Prometheus is a test's own running Prometheus, on loopback, with its data in the
// test's folder. It scrapes its targets every second.
type Prometheus struct {
	URL string

	process *Process
	client  *http.Client
}

// StartPrometheus runs a Prometheus until the test ends. targets are the addresses
// (host:port) to scrape, by name of the scrape job; rules are files of rules, possibly
// none.
func StartPrometheus(t testing.TB, targets map[string][]string, rules ...string) *Prometheus {
	t.Helper()
	program := Installed(t, "prometheus")
	dir, address := t.TempDir(), FreeAddress(t)
	var config strings.Builder
	config.WriteString("global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files:\n")
	for _, file := range rules {
		absolute, err := filepath.Abs(file)
		OK(t, err)
		fmt.Fprintf(&config, "  - %q\n", absolute)
	}
	config.WriteString("scrape_configs:\n")
	for job, addresses := range targets {
		fmt.Fprintf(&config, "  - job_name: %q\n    static_configs: [{targets: [\"%s\"]}]\n", job, strings.Join(addresses, `", "`))
	}
	file := filepath.Join(dir, "prometheus.yaml")
	OK(t, os.WriteFile(file, []byte(config.String()), 0o600))
	p := &Prometheus{URL: "http://" + address, client: newClient(&http.Transport{})}
	p.process = Start(t, "prometheus", dir, program, "--config.file="+file, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+address, "--log.level=warn", "--enable-feature=exemplar-storage")
	t.Cleanup(p.client.CloseIdleConnections)
	ctx, cancel := context.WithTimeout(t.Context(), startBound)
	defer cancel()
	for {
		a, err := send(ctx, p.client, p.URL, "", Request{Method: http.MethodGet, Path: "/-/ready"})
		if err == nil && a.Status == http.StatusOK {
			return p
		}
		select {
		case <-p.process.ended:
			t.Fatalf("prometheus has ended: %v\n%s", p.process.err, p.process.stderr.tail(8<<10))
		case <-ctx.Done():
			t.Fatalf("prometheus is not ready after %v: %v\n%s", startBound, err, p.process.stderr.tail(8<<10))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Series is one series of an answer: its labels, and its values in the order of time.
type Series struct {
	Labels map[string]string
	Points []Point
}

// Last is the latest value.
func (s Series) Last() float64 { return s.Points[len(s.Points)-1].Value }

// Point is a value at a time.
type Point struct {
	At    time.Time
	Value float64
}

// UnmarshalJSON reads [seconds, "value"].
func (p *Point) UnmarshalJSON(text []byte) error {
	var pair [2]json.RawMessage
	var seconds float64
	var value string
	if err := json.Unmarshal(text, &pair); err != nil {
		return err
	}
	if err := json.Unmarshal(pair[0], &seconds); err != nil {
		return err
	}
	if err := json.Unmarshal(pair[1], &value); err != nil {
		return err
	}
	number, err := strconv.ParseFloat(value, 64)
	p.At, p.Value = time.UnixMilli(int64(seconds*1000)).UTC(), number
	return err
}

// Exemplars returns the values of one label of the exemplars of an expression's series,
// from a time on.
func (p *Prometheus) Exemplars(ctx context.Context, expr string, from time.Time, label string) ([]string, error) {
	query := url.Values{
		"query": {expr}, "start": {from.UTC().Format(time.RFC3339Nano)}, "end": {time.Now().UTC().Format(time.RFC3339Nano)},
	}
	var data []struct {
		Exemplars []struct {
			Labels map[string]string `json:"labels"`
		} `json:"exemplars"`
	}
	if err := p.ask(ctx, "/api/v1/query_exemplars?"+query.Encode(), &data); err != nil {
		return nil, err
	}
	var all []string
	for _, series := range data {
		for _, e := range series.Exemplars {
			if said := e.Labels[label]; said != "" {
				all = append(all, said)
			}
		}
	}
	return all, nil
}

// QueryRange returns the values of an expression from a time on until now.
func (p *Prometheus) QueryRange(ctx context.Context, expr string, from time.Time, step time.Duration) ([]Series, error) {
	query := url.Values{
		"query": {expr}, "step": {strconv.FormatFloat(step.Seconds(), 'f', -1, 64)},
		"start": {from.UTC().Format(time.RFC3339Nano)}, "end": {time.Now().UTC().Format(time.RFC3339Nano)},
	}
	var data struct {
		Result []struct {
			Metric map[string]string `json:"metric"`
			Values []Point           `json:"values"`
		} `json:"result"`
	}
	if err := p.ask(ctx, "/api/v1/query_range?"+query.Encode(), &data); err != nil {
		return nil, err
	}
	var all []Series
	for _, r := range data.Result {
		all = append(all, Series{r.Metric, r.Values})
	}
	return all, nil
}

// Alert is a pending or firing alert.
type Alert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
	ActiveAt    time.Time         `json:"activeAt"`
}

// Alerts returns the pending and firing alerts.
func (p *Prometheus) Alerts(ctx context.Context) ([]Alert, error) {
	var data struct {
		Alerts []Alert `json:"alerts"`
	}
	err := p.ask(ctx, "/api/v1/alerts", &data)
	return data.Alerts, err
}

// ask makes a call of the HTTP API, and reads its data.
func (p *Prometheus) ask(ctx context.Context, path string, into any) error {
	a, err := send(ctx, p.client, p.URL, "", Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return err
	}
	answer := struct {
		Error string `json:"error"`
		Data  any    `json:"data"`
	}{Data: into}
	if err := json.Unmarshal(a.Body, &answer); err != nil {
		return fmt.Errorf("prometheus, %d: %w", a.Status, err)
	}
	if a.Status != http.StatusOK {
		return fmt.Errorf("prometheus, %d: %s", a.Status, answer.Error)
	}
	return nil
}
