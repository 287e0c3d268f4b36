//go:build race

package gateway

// With the race detector pools forget some of what they hold.
const (
	mostInGateway = 16
	mostOnTheWay  = 33
)
