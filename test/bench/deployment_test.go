package bench

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/bench/peers"
	"portico/test/evidence"
	"portico/test/harness"
)

const (
	deployed = 800 // resources, as many as a template may have
	width    = 16  // steps of a deployment at once, as by default
)

// A deployment of 800 resources over three regions, with providers that answer at once,
// beside a plain loop that sends the same PUTs to the same gateway with the same width. It is
// waited for as clients do, by the URL that its answer names.
func BenchmarkDeployment(b *testing.B) {
	for _, driver := range engines {
		b.Run(driver, func(b *testing.B) {
			config := harness.Config{}
			if driver != engines[0] {
				config.Postgres = database(b, driver)
			}
			w := harness.NewWorld(b, harness.WorldOptions{Config: config})
			var ratio, grew []float64
			for i := 0; b.Loop(); i++ {
				loop, deployment := fmt.Sprint("loop-", i), fmt.Sprint("deployment-", i)
				w.PutGroup(b, loop)
				w.PutGroup(b, deployment)
				plain := putAll(b, w, loop)
				harness.OK(b, peers.ForgetPeak(w.Portico.Pid()))
				rest, _ := resident(b, w)
				took := deployAll(b, w, deployment)
				_, most := resident(b, w)
				ratio, grew = append(ratio, float64(took)/float64(plain)), append(grew, most-rest)
				b.Logf("loop %v, deployment %v, memory %.0f MiB, at most %.0f", plain, took, rest, most)
			}
			b.ReportMetric(evidence.SpreadOf(ratio).Median, "times-the-loop")
			b.ReportMetric(evidence.SpreadOf(grew).Most, "MiB-above-rest")
		})
	}
}

func machineBody(i int) string {
	regions := harness.RegionNames()
	return fmt.Sprintf(`{"location":%q,"tags":{"number":"%d"},"properties":{"size":"small"}}`, regions[i%len(regions)], i)
}

func putAll(b *testing.B, w *harness.World, group string) time.Duration {
	b.Helper()
	began, next := time.Now(), make(chan int)
	var under sync.WaitGroup
	for range width {
		under.Go(func() {
			for i := range next {
				w.Portico.Do(b, harness.Request{
					Method: http.MethodPut, Path: w.ResourcePath(group, fmt.Sprint("Contoso.Compute/virtualMachines/m", i)) + version, Body: machineBody(i),
				}).Want(b, http.StatusCreated)
			}
		})
	}
	for i := range deployed {
		next <- i
	}
	close(next)
	under.Wait()
	return time.Since(began)
}

func deployAll(b *testing.B, w *harness.World, group string) time.Duration {
	b.Helper()
	path := w.GroupPath(group) + "/providers/Microsoft.Resources/deployments/d?api-version=2021-04-01"
	began := time.Now()
	accepted := w.Portico.Do(b, harness.Request{Method: http.MethodPut, Path: path, Body: fmt.Sprintf(`{"properties":{"mode":"Incremental","template":{
		"$schema":"https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#","contentVersion":"1.0.0.0","variables":{"regions":["%s"]},"resources":[{
		"type":"Contoso.Compute/virtualMachines","apiVersion":%q,"name":"[concat('m', copyIndex())]","copy":{"name":"machines","count":%d},
		"location":"[variables('regions')[mod(copyIndex(), length(variables('regions')))]]","tags":{"number":"[string(copyIndex())]"},"properties":{"size":"small"}}]}}}`,
		strings.Join(harness.RegionNames(), `","`), harness.Version, deployed),
	}).Want(b, http.StatusCreated)
	b.Logf("accepted within %v", time.Since(began))
	link, err := url.Parse(accepted.Header.Get("Azure-AsyncOperation"))
	harness.OK(b, err)
	harness.Await(b, 10*time.Minute, "the end of a deployment", func() bool {
		status := string(w.Portico.Do(b, harness.Request{Path: link.RequestURI()}).Want(b, http.StatusOK).Body)
		if strings.Contains(status, `"Failed"`) {
			b.Fatalf("%s", status)
		}
		return strings.Contains(status, `"status":"Succeeded"`)
	})
	return time.Since(began)
}

// resident is the memory of the gateway's process, now and at most, in MiB.
func resident(b *testing.B, w *harness.World) (now, most float64) {
	b.Helper()
	n, m, err := peers.Memory(w.Portico.Pid())
	harness.OK(b, err)
	return float64(n) / (1 << 20), float64(m) / (1 << 20)
}
