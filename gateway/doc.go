// Package gateway is the HTTP face of Portico: the public listener's chain, the
// routes that Portico answers itself, the way of a proxied request, and the
// admin listener.
//
// A request meets, in this order: the logs and metrics, recovery from panics, the
// time in which its content must come, its identity (ids minted), the guard on
// hosts, authentication (from which on no reserved header is left),
// classification; then either one of Portico's own routes or the proxy. The order
// is composed once, in [Gateway.Public].
//
// Handlers return errors. One renderer, render.go, turns them into answers,
// whatever they are; nothing else on the public listener writes an error body.
// However an answer is made, its client has a bounded time to take it (pace.go).
//
// The way of a proxied request stands in proxy.go, that of writes to tracked
// resources, which are told to the inventory before and after, in write.go,
// and what may reach a client of a provider's answer in deliver.go and guard.go.
//
// Portico's own routes stand in own.go, a line for each; a handler gets its
// request checked and its subscription and group resolved. What is over at once
// is done in a transaction of the inventory. What takes its time, the deletion of a
// group and a move, is checked here, handed to a job (kinds.go), and
// polled as own_operation.go has it. The tags of a resource are its provider's:
// they are read and changed by calls that go the proxy's way (resource_tags.go).
//
// Many requests may come in one, a batch (batch.go). Each of them goes the way
// of a request of its own, from its ids on; only its connection and its caller
// are those of the batch. A short batch is answered at once. A longer one is
// durable work, a job in the inventory, for what a client was told is accepted
// must not be lost with a process. Its requests are not kept as jobs of their
// own: they are read from the content that came, and recorded is only what must
// be known by whoever takes the batch over. A request that may change something
// is marked, durably, before it is sent, and never sent again; if its answer
// then dies with its sender, the caller is told that its outcome is unknown. A
// read that brought no answer is sent again. Contents and answers are sealed in
// the store, and contents go when the batch has ended.
package gateway
