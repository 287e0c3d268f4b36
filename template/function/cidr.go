package function

import (
	"math/big"
	"net"
	"net/netip"
)

// parseNetwork reads a network in CIDR notation; the bits of the host do not matter.
func parseNetwork(text string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Zone() != "" || p.Addr().Is4In6() {
		return netip.Prefix{}, false
	}
	return p.Masked(), true
}

func hostBits(p netip.Prefix) int { return p.Addr().BitLen() - p.Bits() }

func netmask(p netip.Prefix) string {
	mask, _ := netip.AddrFromSlice(net.CIDRMask(p.Bits(), p.Addr().BitLen()))
	return mask.String()
}

// plus is the address so many further on; false where there is none.
func plus(a netip.Addr, n *big.Int) (netip.Addr, bool) {
	sum := new(big.Int).SetBytes(a.AsSlice())
	sum.Add(sum, n)
	if sum.BitLen() > a.BitLen() {
		return netip.Addr{}, false
	}
	return netip.AddrFromSlice(sum.FillBytes(make([]byte, a.BitLen()/8)))
}

// lastAddress is the network's last address: of IPv4 the one for broadcasts.
func lastAddress(p netip.Prefix) netip.Addr {
	size := new(big.Int).Lsh(big.NewInt(1), uint(hostBits(p)))
	last, _ := plus(p.Addr(), size.Sub(size, big.NewInt(1)))
	return last
}

// usable are the first and last addresses that hosts can have: in an IPv4 network of
// more than two, all but the first and the last.
func usable(p netip.Prefix) (first, last netip.Addr) {
	if p.Addr().Is4() && hostBits(p) > 1 {
		return p.Addr().Next(), lastAddress(p).Prev()
	}
	return p.Addr(), lastAddress(p)
}

// subnet is a network's part by its index among those with so many bits.
func subnet(p netip.Prefix, bits int, index int64) (netip.Prefix, bool) {
	if bits < p.Bits() || bits > p.Addr().BitLen() || index < 0 || big.NewInt(index).BitLen() > bits-p.Bits() {
		return netip.Prefix{}, false
	}
	offset := new(big.Int).Lsh(big.NewInt(index), uint(p.Addr().BitLen()-bits))
	address, ok := plus(p.Addr(), offset)
	return netip.PrefixFrom(address, bits), ok
}

// host is the usable address behind a network's own by its index. ARM counts alike in
// IPv6, though it calls the network's own address usable there.
func host(p netip.Prefix, index int64) (netip.Addr, bool) {
	if index < 0 {
		return netip.Addr{}, false
	}
	_, last := usable(p)
	address, ok := plus(p.Addr(), new(big.Int).Add(big.NewInt(index), big.NewInt(1)))
	return address, ok && address.Compare(last) <= 0
}
