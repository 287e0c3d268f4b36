package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"portico/test/bench/peers"
	"portico/test/harness"
)

// cloud is a number of regions, each with one page of machines that it repeats as often
// as wanted, and a Portico in its own process before them.
type cloud struct {
	portico *harness.Portico
	client  *http.Client
	regions []string // by name
	urls    []string
	delay   atomic.Int64 // as [time.Duration]
	held    atomic.Pointer[held]
}

// held is the regions' content.
type held struct {
	page  [][]byte // by region: the elements of each of its pages, comma-separated
	pages int      // of a region
}

const listPath = "/subscriptions/" + harness.SubscriptionID + "/providers/Contoso.Compute/virtualMachines?api-version=" + harness.Version

// newCloud has that many regions. Each answers after delay.
func newCloud(b *testing.B, n int, delay time.Duration) *cloud {
	b.Helper()
	c := &cloud{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, Timeout: 5 * time.Minute}}
	c.delay.Store(int64(delay))
	b.Cleanup(c.client.CloseIdleConnections)
	// No sweep asks the regions meanwhile.
	config := harness.Config{Endpoints: map[string]string{}, Extra: "index: {sweepInterval: 0s}\n"}
	more := "regions:\n"
	for i := range n {
		region := fmt.Sprintf("bench%02d", i)
		if i < len(harness.RegionNames()) {
			region = harness.RegionNames()[i]
		} else {
			more += "  - {name: " + region + "}\n"
		}
		c.regions = append(c.regions, region)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, i) }))
		b.Cleanup(server.Close)
		config.Endpoints[region] = server.URL
		c.urls = append(c.urls, server.URL)
	}
	for _, region := range append(harness.RegionNames(), "global") {
		if config.Endpoints[region] == "" {
			config.Endpoints[region] = c.urls[0]
		}
	}
	if n > len(harness.RegionNames()) {
		file := filepath.Join(b.TempDir(), "regions.yaml")
		harness.OK(b, os.WriteFile(file, []byte(more), 0o600))
		config.Extra += "include: [" + strconv.Quote(file) + "]\n"
	}
	c.portico = harness.StartPortico(b, config)
	c.do(b, http.MethodPut, "/subscriptions/"+harness.SubscriptionID+"/resourceGroups/rg?api-version="+harness.Version, `{"location":"westus"}`)
	for _, region := range c.regions {
		c.do(b, http.MethodPut, "/subscriptions/"+harness.SubscriptionID+"/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/"+region+"?api-version="+harness.Version, `{"location":"`+region+`"}`)
	}
	return c
}

// holds sets each region's content: the number of pages and their approximate size in
// bytes.
func (c *cloud) holds(size, pages int) {
	h := held{pages: pages}
	for range c.urls {
		h.page = append(h.page, peers.Machines(len(h.page), size))
	}
	c.held.Store(&h)
}

// serve answers like a region.
func (c *cloud) serve(w http.ResponseWriter, r *http.Request, region int) {
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet {
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprintf(w, `{"id":%q,"properties":{}}`, r.URL.Path)
		return
	}
	time.Sleep(time.Duration(c.delay.Load()))
	n, _ := strconv.Atoi(r.URL.Query().Get("$skipToken"))
	link := ""
	held := c.held.Load()
	if n+1 < held.pages {
		link = fmt.Sprintf(`,"nextLink":%q`, "http://"+r.Host+r.URL.Path+"?api-version="+harness.Version+"&$skipToken="+strconv.Itoa(n+1))
	}
	const head, tail = `{"value":[`, `]`
	page := held.page[region]
	w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(page)+len(tail)+len(link)+1))
	_, _ = io.WriteString(w, head)
	_, _ = w.Write(page)
	_, _ = io.WriteString(w, tail+link+"}")
}

func (c *cloud) do(b *testing.B, method, path, body string) {
	b.Helper()
	r, err := http.NewRequest(method, c.portico.URL+path, strings.NewReader(body))
	harness.OK(b, err)
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.client.Do(r)
	harness.OK(b, err)
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode > 299 {
		b.Fatalf("%s %s: %d %s %v", method, path, answer.StatusCode, text, err)
	}
}

// get reads an answer to its end and returns its length.
func (c *cloud) get(b *testing.B, url string) int64 {
	b.Helper()
	answer, err := c.client.Get(url)
	harness.OK(b, err)
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d, %v", url, answer.StatusCode, err)
	}
	return n
}

// walk reads a list through Portico to its end and returns its length.
func (c *cloud) walk(b *testing.B) (size int64, pages int) {
	b.Helper()
	return c.walkFrom(b, c.portico.URL+listPath)
}

func (c *cloud) walkFrom(b *testing.B, url string) (size int64, pages int) {
	b.Helper()
	for ; url != ""; pages++ {
		answer, err := c.client.Get(url)
		harness.OK(b, err)
		tail := &tail{}
		n, err := io.Copy(tail, answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("x-ms-portico-completed") != "true" {
			b.Fatalf("%d %s, %v", answer.StatusCode, tail.last, err)
		}
		size += n
		url = tail.nextLink(b)
	}
	return size, pages
}

// tail keeps the end of the written text.
type tail struct{ last []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	if over := len(t.last) - 8<<10; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(p), nil
}

func (t *tail) nextLink(b *testing.B) string {
	b.Helper()
	_, text, found := strings.Cut(string(t.last), `,"nextLink":`)
	if !found {
		return ""
	}
	var link string
	harness.OK(b, json.Unmarshal([]byte(strings.TrimSuffix(text, "}")), &link))
	return link
}
