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
	// The same gateway, for callers of an issuer with roles, and for callers with static
	// tokens who may do everything.
	porticoIssuer = "Portico, OpenID Connect and roles"
	porticoKnown  = "Portico, static tokens without roles"
	direct        = "the provider itself"
)

// The loads, as the page names them.
const (
	getInstance     = "GET, 1 KiB"
	putExisting     = "PUT, existing, 2 KiB"
	putNew          = "PUT, new, 2 KiB"
	ownNotFound     = "404 of its own"
	getLarge        = "GET, 1 MiB"
	signedIn        = "GET, 1 KiB, signed in"
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

// scenario is one load, which the proxies take in turns.
type scenario struct {
	name    string
	request load.Request
	// connections is the number of wrk's connections; with secure, h2load sends over eight.
	connections int
	secure      bool
	proxies     []string
	// anyWorkers: proxies with any number of workers take it, otherwise only those with
	// the most.
	anyWorkers bool
	memory     bool // its peak is measured too
	// passes is how often a proxy takes it in a round, whose figure is their median; 0: once.
	passes int
	lasts  time.Duration
}

// How long a load lasts: longer where its p99 is reported.
const (
	turnTime   = time.Second
	longerTime = 2 * time.Second

	aimedPasses    = 3 // of a load whose figures have an aim
	comparedPasses = 9 // where two figures that hardly differ are compared
)

// body is what a PUT sends.
func body() string {
	const start = `{"location":"westus","tags":{"env":"prod","owner":"someone"},"properties":{"fill":"`
	return start + strings.Repeat("x", peers.WrittenSize-len(start)-3) + `"}}`
}

func scenarios() []scenario {
	tokens := tokens()
	var paths []string
	for i := range instances {
		paths = append(paths, fmt.Sprintf("%svm%03d%s", machines, i, apiVersion))
	}
	all := []string{portico, porticoPostgres, reverseProxy, nginx, haproxy, caddy}
	get := load.Request{Method: "GET", Paths: paths, Tokens: tokens}
	return []scenario{
		{name: getInstance, request: get, connections: 64, lasts: turnTime, passes: aimedPasses, proxies: append(all, direct), anyWorkers: true},
		{name: signedIn, request: get, connections: 64, lasts: turnTime, passes: comparedPasses, proxies: []string{porticoIssuer, porticoKnown}},
		{name: putExisting, request: load.Request{Method: "PUT", Paths: paths, Tokens: tokens, Body: body()}, connections: 64, lasts: turnTime, passes: aimedPasses, proxies: all, anyWorkers: true},
		{name: putNew, request: load.Request{Method: "PUT", Fresh: true, Tokens: tokens, Body: body()}, connections: 64, lasts: turnTime, proxies: all},
		{name: ownNotFound, request: load.Request{Method: "GET", Paths: []string{missing + types + "/vm000" + apiVersion}, Tokens: tokens, Refused: true}, connections: 64, lasts: turnTime, proxies: all},
		{name: getLarge, request: load.Request{Method: "GET", Paths: []string{machines + peers.LargeName + apiVersion}, Tokens: tokens}, connections: 16, lasts: turnTime, proxies: []string{portico, reverseProxy, nginx, haproxy, caddy, direct}},
		{name: getSecure, request: get, secure: true, lasts: turnTime, proxies: []string{portico, reverseProxy, nginx, haproxy, caddy}},
		{name: mergedList, request: load.Request{Method: "GET", Paths: []string{subscription + types + apiVersion}, Tokens: tokens}, connections: 8, lasts: turnTime, proxies: []string{portico, porticoPostgres, merger}},
		{name: manyConnections, request: get, connections: 512, lasts: longerTime, passes: aimedPasses, proxies: append(all, direct), memory: true},
	}
}

// tokens returns the callers' tokens. There are several, as in production: Portico limits
// each caller to a share of the calls to an endpoint.
func tokens() []string {
	var all []string
	for i := range callers {
		all = append(all, fmt.Sprintf("caller-%d-of-the-comparison", i))
	}
	return all
}
