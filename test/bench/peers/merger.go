package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

const mergerRole = "merge-plainly"

// StartMerger runs a plain merger of lists: it calls all addresses at once, decodes their
// pages and encodes the elements again.
func StartMerger(t testing.TB, addresses []string) Peer {
	t.Helper()
	url, pid := startRole(t, mergerRole, addresses...)
	return Peer{Name: "plain merger", URL: url, PID: pid}
}

func mergePlainly(ctx context.Context, addresses []string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("%s: http://%s\n", mergerRole, listener.Addr())
	// Connections stay open: opening them is not part of merging.
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	type page struct {
		Value []map[string]any `json:"value"`
	}
	server := http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pages := make([]page, len(addresses))
		var wait sync.WaitGroup
		for i, address := range addresses {
			wait.Go(func() {
				call, err := http.NewRequestWithContext(r.Context(), http.MethodGet, address+r.URL.RequestURI(), http.NoBody)
				if err != nil {
					return
				}
				answer, err := client.Do(call)
				if err != nil {
					return
				}
				defer answer.Body.Close()
				_ = json.NewDecoder(answer.Body).Decode(&pages[i])
			})
		}
		wait.Wait()
		var merged page
		for _, p := range pages {
			merged.Value = append(merged.Value, p.Value...)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(merged)
	})}
	return server.Serve(listener)
}
