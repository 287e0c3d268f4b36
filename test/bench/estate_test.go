package bench

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"portico/inventory/tagindex"
	"portico/test/bench/peers"
	"portico/test/harness"
)

// An estate of 50 regions: a list of a subscription takes the time of its slowest
// region, page for page, and holds as much memory as a page, with 10 million resources
// of 1,000 subscriptions as with few. Portico's own lists cost what they return, by
// whatever they are narrowed. The short form has a thousandth of the resources;
// PORTICO_BENCH_ESTATE=n has n subscriptions of 10,000.
func BenchmarkEstate(b *testing.B) {
	const regions, page, pages = 50, 40 << 10, 4
	const slowest = 200 * time.Millisecond
	subscriptions, rows := 10, 1_000
	if os.Getenv("PORTICO_BENCH_LONG") != "" {
		subscriptions, rows = 1_000, 10_000
	}
	if given := os.Getenv("PORTICO_BENCH_ESTATE"); given != "" {
		var err error
		if subscriptions, err = strconv.Atoi(given); err != nil {
			b.Fatal(err)
		}
		rows = 10_000
	}
	c := newCloud(b, regions, slowest)
	fillEstate(b, c, subscriptions, rows)
	c.holds(page, pages)
	c.get(b, c.portico.URL+estateList(0)) // connections are open from here on
	for b.Loop() {
		c.delay.Store(int64(slowest))
		c.compareWithRegion(b, pages, subscriptions)
		c.delay.Store(0)
		c.compareWithNginx(b)
		c.compareOwnLists(b, subscriptions)
	}
}

// ownFilters narrow Portico's own list of an estate's resources: to all of them, some,
// one, and none.
var ownFilters = []string{
	"resourceGroup eq 'rg'", "resourceGroup eq 'none'",
	"resourceType eq 'Contoso.Compute/virtualMachines'", "resourceType eq 'Contoso.Compute/none'",
	"name eq 'vm77'", "name eq 'none'",
	"startswith(name,'vm')", "startswith(name,'vm7')", "startswith(name,'vm77')", "startswith(name,'none')",
	"location eq 'westus'", "location eq 'nowhere'",
	"tagName eq 'tier' and tagValue eq 'gold'", "tagName eq 'tier' and tagValue eq 'none'", "tagName eq 'none' and tagValue eq 'gold'",
}

// compareOwnLists measures a page by each filter beside a page of everything, both by
// what they return. What a page costs without any resource on it counts as fifty.
func (c *cloud) compareOwnLists(b *testing.B, subscriptions int) {
	b.Helper()
	const rounds, ofPage = 10, 50
	cost := func(filter string) (perResource float64, returned int) {
		var took time.Duration
		for round := range rounds {
			path := "/subscriptions/" + estateID(subscriptions*round/rounds) + "/resources?api-version=2021-04-01&$top=1000"
			if filter != "" {
				path += "&$filter=" + url.QueryEscape(filter)
			}
			started := time.Now()
			returned += c.countOwn(b, path)
			took += time.Since(started)
		}
		return float64(took.Microseconds()) / float64(returned+rounds*ofPage), returned / rounds
	}
	cost("") // warm
	all, _ := cost("")
	worst := 0.0
	var each strings.Builder
	for _, filter := range ownFilters {
		own, returned := cost(filter)
		fmt.Fprintf(&each, "%s: %d resources, %.2f × all; ", filter, returned, own/all)
		worst = max(worst, own/all)
	}
	b.Log(each.String())
	b.ReportMetric(all, "own-µs/resource")
	b.ReportMetric(worst, "worst-filter-x-all")
}

// countOwn returns how many resources are on a page of Portico's own.
func (c *cloud) countOwn(b *testing.B, path string) int {
	b.Helper()
	answer, err := c.client.Get(c.portico.URL + path)
	harness.OK(b, err)
	defer answer.Body.Close()
	var page struct{ Value []json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil || answer.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d %v", path, answer.StatusCode, err)
	}
	return len(page.Value)
}

// compareWithRegion measures lists of some subscriptions beside those of one region.
func (c *cloud) compareWithRegion(b *testing.B, pages, subscriptions int) {
	b.Helper()
	var first, single, walked, walkedAlone time.Duration
	took := func(d *time.Duration, do func()) {
		started := time.Now()
		do()
		*d += time.Since(started)
	}
	const rounds = 3
	var peaks [rounds]float64
	var merged int
	if err := peers.ForgetPeak(c.portico.Pid()); err != nil {
		b.Skipf("the peak of memory cannot be measured anew: %v", err)
	}
	for round := range rounds {
		list := estateList(subscriptions * round / rounds)
		took(&first, func() { c.get(b, c.portico.URL+list) })
		took(&single, func() { c.get(b, c.urls[0]+list) })
		took(&walked, func() { _, merged = c.walkFrom(b, c.portico.URL+list) })
		took(&walkedAlone, func() {
			for n := range pages {
				c.get(b, c.urls[0]+list+"&$skipToken="+strconv.Itoa(n))
			}
		})
		_, peak, err := peers.Memory(c.portico.Pid())
		harness.OK(b, err)
		peaks[round] = float64(peak)
	}
	b.ReportMetric(float64(first)/float64(single), "first-page-x-region")
	b.ReportMetric(float64(walked)/float64(walkedAlone), "walk-x-region")
	b.ReportMetric(float64(merged), "pages")
	b.ReportMetric(peaks[rounds-1]/peaks[0], "x-memory")
	b.ReportMetric(peaks[rounds-1]/(1<<20), "MiB")
}

// compareWithNginx measures the processor time of a list beside nginx passing the same
// bytes on, region by region.
func (c *cloud) compareWithNginx(b *testing.B) {
	b.Helper()
	if harness.FindInstalled("nginx") == "" {
		b.Log("nginx is not installed: not compared with it")
		return
	}
	nginx := peers.StartNginx(b, peers.Options{Provider: strings.TrimPrefix(c.urls[0], "http://"), Workers: 1})
	compared := []*peer{
		{pid: c.portico.Pid(), read: func() int64 { return c.get(b, c.portico.URL+estateList(1)) }},
		{pid: nginx.PID, read: func() (bytes int64) {
			for range c.urls {
				bytes += c.get(b, nginx.URL+estateList(1))
			}
			return bytes
		}},
	}
	measure(b, 60, compared)
	b.ReportMetric(compared[0].perMiB()/compared[1].perMiB(), "x-nginx")
}

// estateList is the list of a subscription of the estate.
func estateList(n int) string {
	return strings.Replace(listPath, harness.SubscriptionID, estateID(n), 1)
}

func estateID(n int) string { return fmt.Sprintf("00000000-0000-0000-0001-%012d", n) }

// fillEstate gives the gateway's store subscriptions with so many resources each, in
// all regions.
func fillEstate(b *testing.B, c *cloud, subscriptions, rows int) {
	b.Helper()
	db, err := sql.Open("sqlite", c.portico.Database+"?_pragma=busy_timeout(60000)&_pragma=synchronous(OFF)")
	harness.OK(b, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	names := make([]string, len(c.regions))
	for i, region := range c.regions {
		names[i] = fmt.Sprintf("WHEN %d THEN '%s'", i, region)
	}
	region := fmt.Sprintf("CASE i %% %d %s END", len(names), strings.Join(names, " "))
	for n := range subscriptions {
		for _, statement := range []string{
			`INSERT INTO subscriptions
				(subscription, tenant, display_name, state, offer, placement, features, tags, covered, version, final_version, erased, created, changed)
				VALUES ('%[1]s', '` + harness.TenantID + `', 'estate', 0, '', '', '', '{}', 1, 1, 0, 0, 1700000000000000, 1700000000000000)`,
			`INSERT INTO resource_groups (subscription, key, name, location, managed_by, tags, state, incarnation, generation, etag, created, changed)
				VALUES ('%[1]s', 'rg', 'rg', 'westus', '', '{}', 0, x'00', x'00', '', 1700000000000000, 1700000000000000)`,
			`INSERT INTO resources (subscription, key, id, resource_group, type, type_name, name, name_key, parent, region, location,
					phase, verify, following, generation, provisioning_state, api_version, details, creator, creator_kind, created, changed)
				WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %[2]d)
				SELECT '%[1]s', '/subscriptions/%[1]s/resourcegroups/rg/providers/contoso.compute/virtualmachines/vm' || i,
					'/subscriptions/%[1]s/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/vm' || i,
					'rg', 'contoso.compute/virtualmachines', 'Contoso.Compute/virtualMachines', 'vm' || i, 'vm' || i, '', %[3]s, %[3]s,
					1, 0, 0, x'000102030405060708090a0b0c0d0e0f', 'Succeeded', '2024-01-01', CASE WHEN i % 1000 = 7 THEN '{"tags":{"tier":"gold"}}' ELSE '{}' END, '', '', 1700000000000000, 1700000000000000
				FROM n`,
			`INSERT INTO resource_tags (subscription, tag, resource, value)
				SELECT subscription, 'tier', key, %[4]s FROM resources WHERE subscription = '%[1]s' AND details <> '{}'`,
		} {
			text := strings.NewReplacer("%[1]s", estateID(n), "%[2]d", fmt.Sprint(rows), "%[3]s", region, "%[4]s", fmt.Sprint(tagindex.Digest("gold"))).Replace(statement)
			if _, err := db.ExecContext(b.Context(), text); err != nil {
				b.Fatalf("%.60s: %v", text, err)
			}
		}
	}
}
