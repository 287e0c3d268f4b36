// Package reload holds only tests: what a change of the region map costs the calls that are
// under way. Clients call all the while, and each call that failed is counted.
package reload
