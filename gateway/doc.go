// Package gateway is the HTTP face of Portico: the public listener's chain, the
// routes that Portico answers itself, the way of a proxied request, and the
// admin listener.
//
// A request meets, in this order: recovery from panics, the access log and
// metrics, its identity (ids minted, reserved headers stripped), the guard on
// hosts, authentication, classification; then either one of Portico's own
// routes or the proxy. The order is composed once, in [Gateway.Public].
//
// Handlers return errors. One renderer, render.go, turns them into answers,
// whatever they are; nothing else writes an error body.
//
// The way of a proxied request stands in proxy.go, that of writes to tracked
// resources, which are told to the inventory before and after, in write.go,
// and what may reach a client of a provider's answer in guard.go.
package gateway
