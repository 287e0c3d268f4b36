// Package gateway is the HTTP face of Portico: the public listener's chain, the
// routes that Portico answers itself, and the way of a proxied request. Below it
// lie packages of one job each: exchange (what one request carries), observe (logs
// and metrics of requests), resolve (who serves a request), admission (what refuses
// one), polling (operations of Portico's own as clients follow them), batch (many
// requests in one) and admin (the admin listener). They import nothing of gateway,
// which makes them and links them into the chain.
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
// Portico's own routes stand in own.go, a line for each; a handler gets its
// request checked and its subscription and group resolved. What is over at once
// is done in a transaction of the inventory. What takes its time, the deletion of a
// group and a move, is checked here, handed to a job (kinds.go), and
// polled (own_operation.go). The tags of a resource are its provider's:
// they are read and changed by calls that go the proxy's way (resource_tags.go).
package gateway
