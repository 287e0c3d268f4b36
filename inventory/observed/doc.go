// Package observed stores observations of requests, such as errors and callers' names, so
// that operators can read them at any replica. They are bounded, expire, and decide nothing.
package observed
