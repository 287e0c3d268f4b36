package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portico/test/harness"
)

// Where the resources of a graph lie, and of which types they are.
var (
	graphRegions = append(harness.RegionNames(), "southindia")
	graphTypes   = []string{"Contoso.Mesh/nodes", "Contoso.Mesh/leaves", "Contoso.Other/nodes"}
)

// node is a resource that needs others to go before it.
type node struct {
	typeAndName, region string
	needs               []int
	fault               string // what its provider does with a DELETE; see graph.remove
	times               int    // how often yet, of what passes

	there, working bool
	deletes        int
	refusal        string // what it was refused with last
	// gone is in which age of the graph its delete was answered as successful, and
	// caller who was; 0 for never, or where no one can have heard it.
	gone   int64
	caller string
}

// graph are the providers of two namespaces in four regions, and all that they
// hold. What they hold survives everything.
type graph struct {
	urls map[string]string // by region

	mu     sync.Mutex
	nodes  []*node
	again  []string        // what was deleted again, though its caller lived to hear that it had gone
	slow   bool            // a gateway lost its hold on a deletion while it lived
	closed map[string]bool // connections, by their far ends

	// fuse is how many more moments, the beginning and the end of each call, pass
	// until a gateway has to die; age counts the deaths.
	fuse, age atomic.Int64
	deaths    chan chan struct{}
}

func newGraph(t *testing.T) *graph {
	t.Helper()
	g := &graph{urls: map[string]string{}, closed: map[string]bool{}, deaths: make(chan chan struct{})}
	g.age.Store(1)
	for _, region := range graphRegions {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			g.killAtItsTurn(r)
			g.serve(w, r, region)
		}))
		server.Config.ConnState = func(c net.Conn, state http.ConnState) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.closed[c.RemoteAddr().String()] = state == http.StateClosed
		}
		server.Start()
		t.Cleanup(server.Close)
		g.urls[region] = server.URL
	}
	g.urls["global"] = g.urls["westus"]
	return g
}

// config is a configuration with the providers of the graph.
func (g *graph) config() harness.Config {
	var providers, endpoints strings.Builder
	for region, url := range g.urls {
		fmt.Fprintf(&endpoints, "      %s: [%q]\n", region, url)
	}
	for namespace, types := range map[string][]string{"Contoso.Mesh": {"nodes", "leaves"}, "Contoso.Other": {"nodes"}} {
		fmt.Fprintf(&providers, "  - namespace: %s\n    registration: automatic\n    endpoints:\n%s    resourceTypes:\n", namespace, &endpoints)
		for _, typ := range types {
			fmt.Fprintf(&providers, "      - {name: %s, kind: tracked, apiVersions: [%q]}\n", typ, harness.Version)
		}
	}
	return harness.Config{Endpoints: g.urls, Regions: graphRegions[3:], Providers: providers.String(), Extra: deletionSettings}
}

// set replaces what the providers hold by nothing, and what they will hold.
func (g *graph) set(nodes []*node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nodes, g.again = nodes, nil
	for i, n := range nodes {
		n.typeAndName, n.region = fmt.Sprintf("%s/n-%04d", graphTypes[i%len(graphTypes)], i), graphRegions[i/2%len(graphRegions)]
		switch n.fault {
		case "throttle", "error", "reset":
			n.times = 2
		}
	}
}

// find returns the node of a path that ends in its type and name.
func (g *graph) find(path string) (int, *node) {
	for i, n := range g.nodes {
		if strings.HasSuffix(path, "/"+n.typeAndName) {
			return i, n
		}
	}
	return 0, nil
}

// killAtItsTurn kills a gateway before the call that is due for it is answered.
func (g *graph) killAtItsTurn(r *http.Request) {
	if r.Method != http.MethodDelete && r.Method != http.MethodGet || g.fuse.Add(-1) != 0 {
		return
	}
	done := make(chan struct{})
	select {
	case g.deaths <- done:
		<-done
	case <-time.After(settled): // no one minds any more
	}
}

func (g *graph) serve(w http.ResponseWriter, r *http.Request, region string) {
	g.mu.Lock()
	i, n := g.find(r.URL.Path)
	switch {
	case strings.Contains(r.URL.Path, "/operation"):
		defer g.mu.Unlock()
		g.poll(w, r)
	case n == nil:
		defer g.mu.Unlock()
		g.list(w, r, region)
	case r.Method == http.MethodPut:
		defer g.mu.Unlock()
		n.there, n.gone = true, 0
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, n.text(r.URL.Path))
	case r.Method == http.MethodGet && !n.there:
		defer g.mu.Unlock()
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"error":{"code":"ResourceNotFound","message":"The resource was not found."}}`)
	case r.Method == http.MethodGet:
		defer g.mu.Unlock()
		fmt.Fprint(w, n.text(r.URL.Path))
	default:
		answer := g.remove(r, i, n)
		g.mu.Unlock()
		if n.fault == "slow" {
			time.Sleep(200 * time.Millisecond)
		}
		g.killAtItsTurn(r)
		answer(w)
	}
}

func (n *node) text(id string) string {
	state := "Succeeded"
	if n.working {
		state = "Deleting"
	}
	return fmt.Sprintf(`{"id":%q,"location":%q,"properties":{"provisioningState":%q}}`, id, n.region, state)
}

// list answers what lies directly in a group, of one type and region.
func (g *graph) list(w http.ResponseWriter, r *http.Request, region string) {
	scope, typ, _ := strings.Cut(r.URL.Path, "/providers/")
	elements := []json.RawMessage{}
	for _, n := range g.nodes {
		if n.there && n.region == region && strings.HasPrefix(n.typeAndName, typ+"/") {
			elements = append(elements, json.RawMessage(n.text(scope+"/providers/"+n.typeAndName)))
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"value": elements})
}

// poll answers for the operation of a node, whose number ends the path.
func (g *graph) poll(w http.ResponseWriter, r *http.Request) {
	var i int
	if _, err := fmt.Sscanf(r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], "op-%d", &i); err != nil || i >= len(g.nodes) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	status := strings.Contains(r.URL.Path, "/operationStatuses/")
	switch running := g.nodes[i].working; {
	case status && running:
		fmt.Fprint(w, `{"status":"Deleting"}`)
	case status:
		fmt.Fprint(w, `{"status":"Succeeded"}`)
	case running:
		w.Header().Set("Location", g.urls[g.nodes[i].region]+r.URL.RequestURI())
		w.WriteHeader(http.StatusAccepted)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// remove does what a DELETE does, and returns the answer to it.
func (g *graph) remove(r *http.Request, i int, n *node) func(http.ResponseWriter) {
	n.deletes++
	answer := func(status int, body string) func(http.ResponseWriter) {
		n.refusal = body
		return func(w http.ResponseWriter) { w.WriteHeader(status); fmt.Fprint(w, body) }
	}
	reset := func(http.ResponseWriter) { panic(http.ErrAbortHandler) }
	if n.times > 0 {
		n.times--
		switch n.fault {
		case "throttle":
			return answer(http.StatusTooManyRequests, `{"error":{"code":"TooMany","message":"Not now."}}`)
		case "error":
			return answer(http.StatusInternalServerError, `{"error":{"code":"Broken","message":"Not now."}}`)
		}
		return reset
	}
	if !n.there {
		if n.gone == g.age.Load() && !g.closed[n.caller] {
			g.again = append(g.again, n.typeAndName)
		}
		return answer(http.StatusNoContent, "")
	}
	var blockers []string
	scope, _, _ := strings.Cut(r.URL.Path, "/providers/")
	for _, need := range n.needs {
		if g.nodes[need].there {
			blockers = append(blockers, "'"+scope+"/providers/"+g.nodes[need].typeAndName+"'")
		}
	}
	switch {
	case n.fault == "never":
		return answer(http.StatusForbidden, `{"error":{"code":"Never","message":"It stays."}}`)
	case len(blockers) > 0 && n.fault == "blind":
		return answer(http.StatusConflict, `{"error":{"code":"InUse","message":"It is in use."}}`)
	case len(blockers) > 0:
		return answer(http.StatusConflict, fmt.Sprintf(`{"error":{"code":"InUse","message":"In use by %s."}}`, strings.Join(blockers, ", ")))
	}
	n.refusal = ""
	switch n.fault {
	case "location", "status", "both", "nourl":
		return g.accept(r, i, n)
	case "back": // it comes back at once, for once
		n.fault = ""
		return answer(http.StatusOK, "")
	}
	n.there = false
	if n.fault == "applied" {
		n.fault = ""
		return reset
	}
	n.gone, n.caller = g.age.Load(), r.RemoteAddr
	return answer(http.StatusOK, "")
}

// accept deletes a while later, and names the operation as the node's fault
// says.
func (g *graph) accept(r *http.Request, i int, n *node) func(http.ResponseWriter) {
	if !n.working {
		n.working = true
		time.AfterFunc(100*time.Millisecond, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			n.there, n.working = false, false
		})
	}
	subscription, _, _ := strings.Cut(r.URL.Path, "/resourceGroups/")
	namespace, _, _ := strings.Cut(n.typeAndName, "/")
	at := func(kind string) string {
		return fmt.Sprintf("%s%s/providers/%s/locations/%s/%s/op-%d", g.urls[n.region], subscription, namespace, n.region, kind, i)
	}
	return func(w http.ResponseWriter) {
		if n.fault == "location" || n.fault == "both" {
			w.Header().Set("Location", at("operationResults"))
		}
		if n.fault == "status" || n.fault == "both" {
			w.Header().Set("Azure-AsyncOperation", at("operationStatuses"))
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

// stuck are the numbers of the nodes that no one could delete.
func (g *graph) stuck() (left []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	gone := make([]bool, len(g.nodes))
	for changed := true; changed; {
		changed = false
		for i, n := range g.nodes {
			blocked := gone[i] || n.fault == "never"
			for _, need := range n.needs {
				blocked = blocked || !gone[need]
			}
			if !blocked {
				gone[i], changed = true, true
			}
		}
	}
	for i := range gone {
		if !gone[i] {
			left = append(left, i)
		}
	}
	return left
}

// relieve lets everything go that is left.
func (g *graph) relieve() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.nodes {
		n.needs, n.fault, n.times = nil, "", 0
	}
}

// noteSlow reads a metric of a gateway, which must be read before the gateway dies.
func (g *graph) noteSlow(t *testing.T, p *harness.Portico) {
	t.Helper()
	slow := lostLeases(t, p, "group-delete") > 0
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slow = g.slow || slow
}

// check wants the providers to hold these nodes and no others, and nothing to
// have been deleted again, unless one gateway took the work over from another
// that was too slow: what that one heard may not be settled yet.
func (g *graph) check(t *testing.T, w *harness.World, left []int) {
	t.Helper()
	for _, p := range w.Replicas {
		g.noteSlow(t, p)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	var there []int
	for i, n := range g.nodes {
		if n.there {
			there = append(there, i)
		}
	}
	if !slices.Equal(there, left) {
		t.Errorf("the providers hold %v, want %v", there, left)
	}
	if len(g.again) > 0 && !g.slow {
		t.Errorf("deleted again: %v", g.again)
	}
}
