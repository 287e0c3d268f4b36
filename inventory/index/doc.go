// Package index defines how the index changes: [Settle] returns the new state of a resource
// after an event. It is pure; the gateway and jobs share it. Other functions decide which
// writes a group admits, and when a group may be removed or admit writes again. The package
// knows neither tables nor requests: package inventory loads a [State] and stores the new
// one. Numbers such as R8 are rules in the documentation of package inventory.
//
// The walk in the package's tests explores with these functions everything that can happen
// to one resource in two regions with two replicas.
package index
