package function

import (
	"net/netip"

	"portico/template/expr"
)

func networkFunctions() []row {
	network := param("network", expr.String)
	return []row{
		function("cidrHost", "The address of a host in a network, by its index from 0.",
			2, 2, cidrHost, network, param("index", expr.Int)).withSteps(stepsOfNetwork),
		function("cidrSubnet", "The subnet of a network with that prefix length, by its index from 0.",
			3, 3, cidrSubnet, network, param("bits", expr.Int), param("index", expr.Int)).withSteps(stepsOfNetwork),
		function("parseCidr", "An object with a network's addresses: network, netmask, broadcast (of IPv4), firstUsable, lastUsable, and its "+
			"prefix length as cidr.",
			1, 1, parseCIDR, network).withSteps(stepsOfNetwork),
	}
}

// stepsOfNetwork is the cost of computing a network's addresses.
const stepsOfNetwork = 8

func readNetwork(v expr.Value) (netip.Prefix, error) {
	p, ok := parseNetwork(v.Text())
	if !ok {
		return netip.Prefix{}, expr.Errorf("the text is no network in CIDR notation, such as 10.0.0.0/16")
	}
	return p, nil
}

func cidrHost(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	p, err := readNetwork(args[0])
	if err != nil {
		return expr.Value{}, err
	}
	address, ok := hostAt(p, args[1].Int())
	if !ok {
		return expr.Value{}, expr.Errorf("the network has no host %d", args[1].Int())
	}
	return expr.StringOf(address.String()), nil
}

func cidrSubnet(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	p, err := readNetwork(args[0])
	if err != nil {
		return expr.Value{}, err
	}
	bits, index := args[1].Int(), args[2].Int()
	if bits < 0 || bits > 128 {
		bits = -1 // not a valid prefix length
	}
	part, ok := subnetAt(p, int(bits), index)
	if !ok {
		return expr.Value{}, expr.Errorf("a network of %d bits has no subnet %d of %d bits", p.Bits(), index, args[1].Int())
	}
	return expr.StringOf(part.String()), nil
}

func parseCIDR(_ *expr.Call, args []expr.Value) (expr.Value, error) {
	p, err := readNetwork(args[0])
	if err != nil {
		return expr.Value{}, err
	}
	first, last := usableRange(p)
	parts := []any{"network", expr.StringOf(p.Addr().String()), "netmask", expr.StringOf(netmask(p))}
	if p.Addr().Is4() {
		parts = append(parts, "broadcast", expr.StringOf(lastAddress(p).String()))
	}
	return object(append(parts, "firstUsable", expr.StringOf(first.String()), "lastUsable", expr.StringOf(last.String()),
		"cidr", expr.IntOf(int64(p.Bits())))...), nil
}
