package function

import (
	"math/big"
	"net"
	"net/netip"
)

// parseNetwork parses a network in CIDR notation, ignoring host bits.
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

// addOffset returns the address n after a, or false if there is none.
func addOffset(a netip.Addr, n *big.Int) (netip.Addr, bool) {
	sum := new(big.Int).SetBytes(a.AsSlice())
	sum.Add(sum, n)
	if sum.BitLen() > a.BitLen() {
		return netip.Addr{}, false
	}
	return netip.AddrFromSlice(sum.FillBytes(make([]byte, a.BitLen()/8)))
}

// lastAddress returns the network's last address, which is the broadcast address in IPv4.
func lastAddress(p netip.Prefix) netip.Addr {
	size := new(big.Int).Lsh(big.NewInt(1), uint(hostBits(p)))
	last, _ := addOffset(p.Addr(), size.Sub(size, big.NewInt(1)))
	return last
}

// usableRange returns the first and last addresses for hosts. It excludes the network's first and
// last addresses in IPv4, if there are more than two.
func usableRange(p netip.Prefix) (first, last netip.Addr) {
	if p.Addr().Is4() && hostBits(p) > 1 {
		return p.Addr().Next(), lastAddress(p).Prev()
	}
	return p.Addr(), lastAddress(p)
}

// subnetAt returns the network's subnet with that prefix length and index.
func subnetAt(p netip.Prefix, bits int, index int64) (netip.Prefix, bool) {
	if bits < p.Bits() || bits > p.Addr().BitLen() || index < 0 || big.NewInt(index).BitLen() > bits-p.Bits() {
		return netip.Prefix{}, false
	}
	offset := new(big.Int).Lsh(big.NewInt(index), uint(p.Addr().BitLen()-bits))
	address, ok := addOffset(p.Addr(), offset)
	return netip.PrefixFrom(address, bits), ok
}

// hostAt returns a network's address for hosts by its index. ARM skips the network's own address in
// IPv6 too, although it calls that one usable.
func hostAt(p netip.Prefix, index int64) (netip.Addr, bool) {
	if index < 0 {
		return netip.Addr{}, false
	}
	_, last := usableRange(p)
	address, ok := addOffset(p.Addr(), new(big.Int).Add(big.NewInt(index), big.NewInt(1)))
	return address, ok && address.Compare(last) <= 0
}
