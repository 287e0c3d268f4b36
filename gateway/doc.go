// Package gateway assembles the HTTP side of Portico: the handlers of both listeners and the
// kinds of durable work. Each package below it has one job:
//
//   - exchange: the state of one request
//   - chain: the links that every request passes before a handler answers it, from ids to
//     the throttle
//   - authorize: the caller's roles
//   - observe: logs and metrics of requests
//   - admission: which provider serves a request, and when one is refused
//   - proxy: requests for resource providers
//   - polling: the polling URLs of Portico's own operations
//   - frontdoor: the resources that Portico answers itself
//   - batch: many requests in one
//   - preflight: judging planned resources
//   - explain: how a request would be handled
//   - admin: the admin listener
//
// They import nothing of gateway. build.go assembles them with two sets of ports: the real
// ones for the service, and recording ones for requests that are only explained or judged.
//
// A request passes, in this order: logs and metrics, recovery from panics, the time limit for
// its content, its identity (ids), the guard on hosts, authentication (which removes the last
// reserved headers), classification, and the throttle; then one of Portico's own routes or
// the proxy answers it, after checking the caller's roles. [Gateway.Public] composes the
// order.
//
// Handlers return errors. [exchange.Fail] turns them into answers; nothing else on the public
// listener writes an error body.
//
// Long work of the front door, such as deleting a group or a move, runs as a job (kinds.go).
// Tags of a resource belong to its provider: the front door reads and changes them through
// the proxy.
package gateway
