package compare

import (
	"fmt"
	"strings"
	"time"

	"portico/test/bench/load"
	"portico/test/bench/peers"
	"portico/test/harness"
)

// The proxies and what stands beside them, as the page names them.
const (
	portico         = "Portico"
	porticoPostgres = "Portico, PostgreSQL"
	reverseProxy    = peers.ReverseProxy
	nginx           = peers.Nginx
	haproxy         = peers.HAProxy
	caddy           = peers.Caddy
	merger          = "plain merger"
	direct          = "the provider itself"
)

// The loads, as the page names them.
const (
	getInstance     = "GET, 1 KiB"
	putExisting     = "PUT, existing, 2 KiB"
	putNew          = "PUT, new, 2 KiB"
	ownNotFound     = "404 of its own"
	getLarge        = "GET, 1 MiB"
	getSecure       = "GET, 1 KiB, TLS with HTTP/2"
	mergedList      = "list of 8 regions, 1 MiB"
	manyConnections = "512 connections"
	steadyRate      = "2,000 a second"
)

// What the loads ask for.
const (
	regions   = 8
	pageSize  = 128 << 10 // of a region's list
	instances = 256
	callers   = 8

	subscription = "/subscriptions/" + harness.SubscriptionID
	types        = "/providers/Contoso.Compute/virtualMachines"
	machines     = subscription + "/resourceGroups/rg" + types + "/"
	missing      = subscription + "/resourceGroups/missing"
	apiVersion   = "?api-version=" + harness.Version
	notFound     = `{"error":{"code":"ResourceGroupNotFound","message":"Resource group missing could not be found."}}`
)

// turn is one load, that the proxies get in turns.
type turn struct {
	name    string
	request load.Request
	// connections is how many wrk has; with secure, h2load has eight.
	connections int
	secure      bool
	proxies     []string
	// anyWorkers: all numbers of workers take it, otherwise the greatest alone.
	anyWorkers bool
	memory     bool // its peak is measured too
}

const turnTime = time.Second

// body is what a PUT sends.
func body() string {
	const start = `{"location":"westus","tags":{"env":"prod","owner":"someone"},"properties":{"fill":"`
	return start + strings.Repeat("x", peers.WrittenSize-len(start)-3) + `"}}`
}

func turns() []turn {
	tokens := tokens()
	var paths []string
	for i := range instances {
		paths = append(paths, fmt.Sprintf("%svm%03d%s", machines, i, apiVersion))
	}
	all := []string{portico, porticoPostgres, reverseProxy, nginx, haproxy, caddy}
	get := load.Request{Method: "GET", Paths: paths, Tokens: tokens}
	return []turn{
		{name: getInstance, request: get, connections: 64, proxies: append(all, direct), anyWorkers: true},
		{name: putExisting, request: load.Request{Method: "PUT", Paths: paths, Tokens: tokens, Body: body()}, connections: 64, proxies: all, anyWorkers: true},
		{name: putNew, request: load.Request{Method: "PUT", Fresh: true, Tokens: tokens, Body: body()}, connections: 64, proxies: all},
		{name: ownNotFound, request: load.Request{Method: "GET", Paths: []string{missing + types + "/vm000" + apiVersion}, Tokens: tokens, Refused: true}, connections: 64, proxies: all},
		{name: getLarge, request: load.Request{Method: "GET", Paths: []string{machines + peers.LargeName + apiVersion}, Tokens: tokens}, connections: 16, proxies: []string{portico, reverseProxy, nginx, haproxy, caddy, direct}},
		{name: getSecure, request: get, secure: true, proxies: []string{portico, reverseProxy, nginx, haproxy, caddy}},
		{name: mergedList, request: load.Request{Method: "GET", Paths: []string{subscription + types + apiVersion}, Tokens: tokens}, connections: 8, proxies: []string{portico, porticoPostgres, merger}},
		{name: manyConnections, request: get, connections: 512, proxies: append(all, direct), memory: true},
	}
}

// tokens are those of the callers: as in production there are several, of whom none may
// take all of what they share.
func tokens() []string {
	var all []string
	for i := range callers {
		all = append(all, fmt.Sprintf("caller-%d-of-the-comparison", i))
	}
	return all
}
