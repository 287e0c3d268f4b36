// Package gateway is the HTTP face of Portico: the public listener's chain. Below it
// lie packages of one job each: exchange (what one request carries), chain (the links that a
// request meets before anything answers it), throttle (how many requests a caller may send),
// authorize (what its caller may do), observe (logs and metrics of requests), admission (who
// serves a request, and what refuses one), proxy (the way of a request for a resource
// provider), polling (operations of Portico's own as clients follow them), frontdoor (the
// resources that Portico answers itself), batch (many requests in one), preflight (what is
// planned), explain (which way a request would take) and admin (the admin listener). They
// import nothing of gateway, which assembles them (build.go): over the world for the service,
// over ports that record for what is only explained or judged.
//
// A request meets, in this order: the logs and metrics, recovery from panics, the
// time in which its content must come, its identity (ids minted), the guard on
// hosts, authentication (from which on no reserved header is left),
// classification, the caller's roles; then either one of Portico's own routes or the proxy. The order
// is composed once, in [Gateway.Public].
//
// Handlers return errors. [exchange.Fail] turns them into answers; nothing else on
// the public listener writes an error body.
//
// What takes its time at the front door, the deletion of a group and a move, is handed
// to a job (kinds.go). The tags of a resource are its provider's: the front door reads
// and changes them through the proxy.
package gateway
