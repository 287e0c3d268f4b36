//go:build !race

package gateway_test

const (
	mostInGateway = 19
	mostOnTheWay  = 27
)
