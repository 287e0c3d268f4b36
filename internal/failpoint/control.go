package failpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Environment variables of a build with failpoints.
const (
	RulesVariable  = "PORTICO_FAILPOINTS"
	ListenVariable = "PORTICO_FAILPOINTS_LISTEN"
)

// longestRule bounds a request to the control listener.
const longestRule = 1 << 10

// start sets the rules in the environment, and opens the control listener if
// the environment has an address; see Start.
func (r *Registry) start(ctx context.Context, getenv func(string) string) (stop func(), err error) {
	rules, err := parseRules(getenv(RulesVariable))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", RulesVariable, err)
	}
	for p, rule := range rules {
		r.Set(p, rule)
	}
	forget := context.AfterFunc(ctx, r.Close)
	at := getenv(ListenVariable)
	if at == "" {
		return func() { forget(); r.Close() }, nil
	}
	listener, err := listenLoopback(at)
	if err != nil {
		forget()
		return nil, fmt.Errorf("%s: %w", ListenVariable, err)
	}
	server := &http.Server{Handler: r.control(), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // until stop closes it
	}()
	return func() {
		forget()
		r.Close()
		_ = server.Close()
		<-ended
	}, nil
}

// listenLoopback listens on an address that only this machine can reach.
func listenLoopback(at string) (net.Listener, error) {
	address, err := netip.ParseAddrPort(at)
	if err != nil || !address.Addr().IsLoopback() {
		return nil, fmt.Errorf("%q: want a loopback address with a port, such as 127.0.0.1:7000", at)
	}
	return net.ListenTCP("tcp", net.TCPAddrFromAddrPort(address))
}

// control serves the rules.
func (r *Registry) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /points", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"value": r.States()}) // the client may have gone
	})
	each := func(pattern string, do func(Description, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, q *http.Request) {
			name := q.PathValue("name")
			d, ok := known(name)
			if !ok {
				http.Error(w, unknownPoint(name).Error(), http.StatusNotFound)
				return
			}
			if err := do(d, q); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		})
	}
	each("PUT /points/{name}", func(d Description, q *http.Request) error {
		text, err := io.ReadAll(io.LimitReader(q.Body, longestRule))
		if err != nil {
			return errors.New("the rule could not be read")
		}
		rule, err := d.rule(string(text))
		if err != nil {
			return err
		}
		r.Set(d.Point, rule)
		return nil
	})
	each("POST /points/{name}/release", func(d Description, _ *http.Request) error { r.Release(d.Point); return nil })
	each("DELETE /points/{name}", func(d Description, _ *http.Request) error { r.Clear(d.Point); return nil })
	return mux
}
