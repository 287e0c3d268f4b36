package e2e

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"portico/test/harness"
)

// scraped is what a scrape brought: kinds by metric, and of each the label sets
// of its series.
type scraped struct {
	kinds  map[string]string
	labels map[string]map[string]bool
	text   string
}

var (
	typeLine   = regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	seriesLine = regexp.MustCompile(`^(\w+)(?:\{(.*)\})? \S+`)
	labelName  = regexp.MustCompile(`(\w+)="(?:[^"\\]|\\.)*"`)
)

func scrape(t *testing.T, p *harness.Portico, accept string) scraped {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.AdminURL+"/metrics", http.NoBody)
	harness.OK(t, err)
	request.Header.Set("Accept", accept)
	answer, err := p.Client.Do(request)
	harness.OK(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%d %v: %s", answer.StatusCode, err, text)
	}
	s := scraped{kinds: map[string]string{}, labels: map[string]map[string]bool{}, text: string(text)}
	for line := range strings.Lines(s.text) {
		line = strings.TrimSuffix(line, "\n")
		if kind := typeLine.FindStringSubmatch(line); kind != nil {
			s.kinds[kind[1]] = kind[2]
		} else if series := seriesLine.FindStringSubmatch(line); series != nil {
			name := series[1]
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if base := strings.TrimSuffix(name, suffix); s.kinds[base] == "histogram" {
					name = base
				}
			}
			if s.labels[name] == nil {
				s.labels[name] = map[string]bool{}
			}
			for _, label := range labelName.FindAllStringSubmatch(series[2], -1) {
				if label[1] != "le" {
					s.labels[name][label[1]] = true
				}
			}
		}
	}
	return s
}

const (
	plainText   = "text/plain;version=0.0.4"
	openMetrics = "application/openmetrics-text;version=1.0.0"
)

// TestMetricsOfARealProcess has a process of several regions do a little of
// everything, and holds what it shows to the page that tells of it and to the
// conventions of Prometheus.
func TestMetricsOfARealProcess(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	p := w.Portico
	const group = "/subscriptions/" + harness.SubscriptionID + "/resourceGroups/metrics"
	const machines = group + "/providers/Contoso.Compute/virtualMachines"
	do := func(status int, method, path, body string) harness.Answer {
		t.Helper()
		answer := p.Do(t, harness.Request{Method: method, Path: path + "?api-version=" + harness.Version, Body: body})
		if answer.Status != status {
			t.Fatalf("%s %s: %d %s", method, path, answer.Status, answer.Body)
		}
		return answer
	}
	do(201, http.MethodPut, group, `{"location":"westus"}`)
	for name, region := range map[string]string{"a": "westus", "b": "eastus"} {
		do(201, http.MethodPut, machines+"/"+name, `{"location":"`+region+`","properties":{}}`)
	}
	read := do(200, http.MethodGet, machines+"/a", "")
	do(200, http.MethodGet, machines, "")
	do(404, http.MethodGet, machines+"/absent", "")

	want := []string{
		`portico_requests_total{cause="none",class="instance",code="201",method="PUT"} 2`,
		`portico_routed_requests_total{cause="none",code="200",provider="Contoso.Compute",region="several"} 1`,
		`portico_routed_requests_total{cause="gateway",code="499",provider="Contoso.Compute",region="westus"}`, // those who left
		`portico_provider_seconds_count{provider="Contoso.Compute",region="eastus"}`,
		`portico_request_own_seconds_count{class="collection"} 1`,
		`portico_fanout_pages_total{outcome="complete"} 1`,
		`portico_index_resources{phase="Live"} 2`,
		`portico_index_intents 0`,
		`portico_store_commit_seconds_count{durability="flushed"}`,
		`portico_upstream_connections_total{endpoint="` + strings.TrimPrefix(w.Contoso("westus").URL, "http://") + `",region="westus",state="new"}`,
		`portico_config_generation 1`,
		`portico_config_last_reload_success 1`,
		`portico_jobs_due{kind="verify"} 0`,
	}
	leave := func() { // before a provider that takes its time has answered
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+machines+"/a?api-version="+harness.Version, http.NoBody)
		harness.OK(t, err)
		request.Header.Set("X-Contoso-Fault", "slow=1m")
		if answer, err := p.Client.Do(request); err == nil {
			_ = answer.Body.Close()
			t.Fatalf("%d from a provider that has not answered", answer.StatusCode)
		}
	}
	var plain scraped
	// Between two counts of the index lie fifty times what one takes, which may be
	// seconds.
	for end := time.Now().Add(6 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		leave()
		plain = scrape(t, p, plainText)
		missing := slices.DeleteFunc(slices.Clone(want), func(series string) bool { return strings.Contains(plain.text, series) })
		if len(missing) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("missing %q in\n%s", missing, plain.text)
		}
	}
	problems, err := promlint.New(strings.NewReader(plain.text)).Lint()
	harness.OK(t, err)
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
	holdToPage(t, plain)

	// Exemplars lead from a metric to the log, by the id that the client got.
	open := scrape(t, p, openMetrics).text
	if !strings.HasSuffix(open, "# EOF\n") {
		t.Error("no OpenMetrics")
	}
	for _, histogram := range []string{"portico_request_seconds", "portico_request_own_seconds", "portico_provider_seconds", "portico_upstream_seconds"} {
		if !regexp.MustCompile(histogram + `_bucket\{[^}]*\} \d+ # \{correlation_id="[0-9a-f-]{36}"\}`).MatchString(open) {
			t.Errorf("%s has no exemplars", histogram)
		}
	}
	correlation := read.Header.Get("x-ms-correlation-request-id")
	if !strings.Contains(open, correlation) && !strings.Contains(p.Log(), correlation) {
		t.Errorf("%s is nowhere", correlation)
	}
}

var pageRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| (.*?) \\| ")

// holdToPage compares names, kinds and labels.
func holdToPage(t *testing.T, real scraped) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "metrics.md"))
	harness.OK(t, err)
	rows := map[string][]string{}
	for _, row := range pageRow.FindAllStringSubmatch(string(text), -1) {
		rows[row[1]] = row[2:]
	}
	for name, kind := range real.kinds {
		if !strings.HasPrefix(name, "portico_") {
			continue
		}
		row := rows[name]
		if row == nil {
			t.Errorf("%s is not on the page", name)
			continue
		}
		labels := strings.FieldsFunc(row[1], func(r rune) bool { return r == '`' || r == ',' || r == ' ' })
		if got := slices.Sorted(maps.Keys(real.labels[name])); kind != row[0] || !slices.Equal(got, labels) {
			t.Errorf("%s is a %s by %v, on the page a %s by %v", name, kind, got, row[0], labels)
		}
	}
}
