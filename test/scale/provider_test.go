package scale

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"portico/test/harness"
)

// providers are the endpoints by region.
type providers struct {
	endpoints map[string]string
	notices   atomic.Int64 // of subscriptions, that the regions got
}

// startProviders starts the endpoint of each region, and a global one. They hold what an
// estate says, by arithmetic, and take every write.
func startProviders(t *testing.T) *providers {
	t.Helper()
	p := &providers{endpoints: map[string]string{}}
	start := func(region string, serve http.HandlerFunc) {
		server := httptest.NewServer(serve)
		t.Cleanup(server.Close)
		p.endpoints[region] = server.URL
	}
	for i := range regions {
		start(regionOf(i), func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, i) })
	}
	start("global", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"value":[]}`) })
	return p
}

var (
	machine  = regexp.MustCompile(`(?i)^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Contoso\.Compute/virtualMachines/[^/]+$`)
	machines = regexp.MustCompile(`(?i)^/subscriptions/[0-9a-f-]{24}([0-9]{12})/providers/Contoso\.Compute/virtualMachines$`)
)

func (p *providers) serve(w http.ResponseWriter, r *http.Request, region int) {
	w.Header().Set("Content-Type", "application/json")
	found := machines.FindStringSubmatch(r.URL.Path)
	switch {
	case machine.MatchString(r.URL.Path) && r.Method != http.MethodDelete:
		_, _ = io.WriteString(w, element(r.URL.Path, region))
	case harness.IsNotice(r.Method, r.URL.RequestURI()):
		p.notices.Add(1)
	case found != nil:
		var subscription int
		_, _ = fmt.Sscan(strings.TrimLeft(found[1], "0")+" ", &subscription)
		var all []string
		for i := region; i < ofSubscription; i += regions {
			all = append(all, element(machineID(subscription, i), region))
		}
		_, _ = io.WriteString(w, `{"value":[`+strings.Join(all, ",")+`]}`)
	case r.Method == http.MethodGet: // other lists, those below machines among them
		_, _ = io.WriteString(w, `{"value":[]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func element(id string, region int) string {
	name, tags := id[strings.LastIndexByte(id, '/')+1:], "{}"
	if strings.HasSuffix(name, "7") && !strings.Contains(name, "-new-") { // as the estate's rows have it
		tags = `{"tier":"gold"}`
	}
	return fmt.Sprintf(`{"id":%q,"name":%q,"type":"Contoso.Compute/virtualMachines","location":%q,"tags":%s,"properties":{"provisioningState":"Succeeded"}}`,
		id, name, regionOf(region), tags)
}
