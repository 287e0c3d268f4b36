package config

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestReference holds the committed reference and schema to what the code
// says. Both come from a reading that notes what it asks for, so that a
// setting that is read but not explained, or explained but not read, fails
// here as well.
func TestReference(t *testing.T) {
	var page, schema bytes.Buffer
	if err := WriteReference(&page); err != nil {
		t.Fatal(err)
	}
	if err := WriteSchema(&schema); err != nil {
		t.Fatal(err)
	}
	golden(t, "../configs/reference.md", page.String())
	golden(t, "../configs/portico.schema.json", schema.String())
}

// TestReferenceIsWhole takes one part away at a time: what is read and what is
// explained must each be missed.
func TestReferenceIsWhole(t *testing.T) {
	d, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	var all []meaning
	for _, path := range d.under("") {
		all = append(all, d.meanings[path])
	}
	if len(all) != len(d.meanings) || len(all) < 100 {
		t.Fatalf("%d settings, %d meanings", len(all), len(d.meanings))
	}
	for i, m := range all {
		if _, err := explain(d.settings, slices.Concat(all[:i], all[i+1:])); err == nil || !strings.HasPrefix(err.Error(), m.path+" ") {
			t.Errorf("without the meaning of %s: %v", m.path, err)
		}
		rest := maps.Clone(d.settings)
		delete(rest, m.path)
		if _, err := explain(rest, all); err == nil || !strings.HasPrefix(err.Error(), m.path+" ") {
			t.Errorf("without the reading of %s: %v", m.path, err)
		}
	}
	if _, err := explain(d.settings, append(all, all[0])); err == nil {
		t.Error("a second meaning of one setting is taken")
	}
	newKey := maps.Clone(d.settings)
	jobs := *newKey["jobs"]
	jobs.keys = append(slices.Clone(jobs.keys), "new")
	newKey["jobs"] = &jobs
	if _, err := explain(newKey, all); err == nil || !strings.HasPrefix(err.Error(), "jobs.new ") {
		t.Errorf("with a key that the reading does not come to: %v", err)
	}
}

// TestReferenceDefaults compares what the reading shows with Defaults.
func TestReferenceDefaults(t *testing.T) {
	d, err := describe()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"server.drain.delay": "5s", "index.tombstones": "24h", "operations.retryAfterMax": "10m", "upstream.callTimeout": "1m",
		"limits.requestBody": "4MiB", "index.cacheEntries": "262144", "auth.mode": "none", "lists.onRegionFailure": "fail",
		"server.listen": "127.0.0.1:8080", "subscriptions.covered": "false",
	} {
		if got, written := d.preset(path); got != want || !written {
			t.Errorf("%s: got %q", path, got)
		}
	}
	for _, d := range []time.Duration{0, time.Second, 90 * time.Second, 24 * time.Hour, 10 * time.Hour, 20 * time.Minute, 100 * time.Minute} {
		if again, err := time.ParseDuration(writtenDuration(d)); err != nil || again != d {
			t.Errorf("%s is written %s", d, writtenDuration(d))
		}
	}
}
