//go:build !race

package gateway

const (
	mostInGateway = 12
	mostOnTheWay  = 27
)
