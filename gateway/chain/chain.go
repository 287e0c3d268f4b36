// Package chain holds the links that a request passes before anything answers it, and
// composes them: ids, the guard on hosts, sign-in, classification, limits of rate,
// compression.
package chain

import "slices"

import "net/http"

// Middleware wraps a handler with one concern.
type Middleware func(http.Handler) http.Handler

// Of composes middlewares in the order that a request passes them. It skips nil ones.
func Of(last http.Handler, links ...Middleware) http.Handler {
	for _, link := range slices.Backward(links) {
		if link != nil {
			last = link(last)
		}
	}
	return last
}

// Check reports whether a request goes on; if not, it has answered it.
type Check func(http.ResponseWriter, *http.Request) (goesOn bool)

// InTurn runs checks on a request before the next handler. Unlike middlewares, they take
// no stack while the next handler waits for a provider.
func InTurn(checks ...Check) Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			for _, goesOn := range checks {
				if !goesOn(w, r) {
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}
