//go:build race

package gateway_test

// With the race detector pools forget some of what they hold.
const (
	mostInGateway = 24
	mostOnTheWay  = 33
)
