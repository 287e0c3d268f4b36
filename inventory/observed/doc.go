// Package observed keeps what replicas observe of requests, for operators who ask any of
// them. What is kept is bounded, and forgotten after a while; nothing is decided by it.
package observed
