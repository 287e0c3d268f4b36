// Package chain has the links of the chain that a request comes through before anything
// answers it, and composes them.
package chain

import "slices"

import "net/http"

// Middleware wraps a handler in one concern.
type Middleware func(http.Handler) http.Handler

// Of composes middlewares in the order in which a request meets them. A nil one is none.
func Of(last http.Handler, links ...Middleware) http.Handler {
	for _, link := range slices.Backward(links) {
		if link != nil {
			last = link(last)
		}
	}
	return last
}

// Check answers a request that goes no further, and reports whether one does.
type Check func(http.ResponseWriter, *http.Request) (goesOn bool)

// InTurn runs checks on a request before the next handler. They hold nothing of the
// stack while that waits for a provider, as middlewares do.
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
