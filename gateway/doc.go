// Package gateway is the HTTP face of Portico: the public listener's chain and the way
// of a proxied request. Below it lie packages of one job each: exchange (what one
// request carries), observe (logs and metrics of requests), resolve (who serves a
// request), admission (what refuses one), polling (operations of Portico's own as
// clients follow them), frontdoor (the resources that Portico answers itself), batch
// (many requests in one) and admin (the admin listener). They import nothing of
// gateway, which makes them and links them into the chain.
//
// A request meets, in this order: the logs and metrics, recovery from panics, the
// time in which its content must come, its identity (ids minted), the guard on
// hosts, authentication (from which on no reserved header is left),
// classification; then either one of Portico's own routes or the proxy. The order
// is composed once, in [Gateway.Public].
//
// Handlers return errors. [exchange.Fail] turns them into answers; nothing else on
// the public listener writes an error body.
//
// The way of a proxied request stands in proxy.go, that of writes to tracked
// resources, which are told to the inventory before and after, in write.go,
// and what may reach a client of a provider's answer in deliver.go and guard.go.
//
// The resources that Portico keeps itself, and the routes to them, are in package
// frontdoor. What takes its time there, the deletion of a group and a move, is handed
// to a job (kinds.go). The tags of a resource are its provider's: they are read and
// changed by calls that take the proxy's way ([Gateway.forward]).
package gateway
