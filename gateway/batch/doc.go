// Package batch answers many requests that come in one. Each goes the way of a
// request of its own, from its ids on, through a handler that the package is given;
// only its connection and its caller are those of the batch.
//
// A short batch is answered at once. A longer one is a durable job, since what was
// accepted must not be lost with a process. Its requests are no jobs of their own:
// they are read from the content of the batch, and the store keeps only what must
// be known by a process that takes the batch over. A request that may change
// something is marked in the store before it is sent, and never sent again: if its
// answer dies with the process that sent it, the caller learns that the outcome
// is unknown. A read without an answer is sent again. The store seals contents and
// answers, and drops the contents when the batch has ended.
package batch
