// Package locate asks providers what the index does not know or is not sure of.
//
// A [Prober] asks whether the resource of a row still exists, and records what
// the answer proves. It asks as Portico itself: what a provider shows to one caller
// proves nothing.
package locate
