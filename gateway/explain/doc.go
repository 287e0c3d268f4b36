// Package explain says which way a request would take, without sending it.
//
// The request goes through the handlers of the gateway themselves. What they would do is
// left out below them: the store rolls each write back ([inventory.Rehearse]), and
// [Calls] stands in for the client that calls providers. What the steps of the way found
// is in the request's [exchange.Trail]; this package puts it into words.
package explain
