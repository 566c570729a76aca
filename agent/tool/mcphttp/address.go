package mcphttp

import (
	"net/netip"
	"sync"
)

// notPublic4 are the IPv4 networks that are not on the internet, or not one machine of it.
var notPublic4 = sync.OnceValue(func() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8",        // this machine (RFC 1122)
		"10.0.0.0/8",       // private (RFC 1918)
		"100.64.0.0/10",    // behind the NAT of a carrier (RFC 6598); a cloud has its metadata at 100.100.100.200
		"127.0.0.0/8",      // loopback
		"168.63.129.16/32", // public by its looks, but in Azure it is the host of the virtual machine
		"169.254.0.0/16",   // link-local (RFC 3927); clouds have their metadata at 169.254.169.254
		"172.16.0.0/12",    // private (RFC 1918)
		"192.0.0.0/24",     // of protocols (RFC 6890); a cloud has its metadata at 192.0.0.192
		"192.0.2.0/24",     // for documentation (RFC 5737)
		"192.88.99.0/24",   // relays of 6to4 (RFC 7526)
		"192.168.0.0/16",   // private (RFC 1918)
		"198.18.0.0/15",    // for benchmarks (RFC 2544)
		"198.51.100.0/24",  // for documentation (RFC 5737)
		"203.0.113.0/24",   // for documentation (RFC 5737)
		"224.0.0.0/3",      // multicast, reserved, broadcast
	)
})

// global6 has all public IPv6 addresses (RFC 4291, section 2.4), in addition to those of NAT64. It has no loopback, link-local, unique local
// and multicast addresses.
var global6 = sync.OnceValue(func() netip.Prefix { return netip.MustParsePrefix("2000::/3") })

// notPublic6 are the networks in global6 that are not public.
var notPublic6 = sync.OnceValue(func() []netip.Prefix {
	return prefixes(
		"2001::/23",     // of protocols (RFC 2928): Teredo, which has an IPv4 address in it, benchmarks, names of hosts
		"2001:db8::/32", // for documentation (RFC 3849)
		"3fff::/20",     // for documentation (RFC 9637)
	)
})

// embedded are the prefixes that an IPv4 address follows.
var embedded = sync.OnceValue(func() []netip.Prefix {
	return prefixes(
		"64:ff9b::/96", // NAT64 (RFC 6052): the only public addresses outside global6
		"2002::/16",    // 6to4 (RFC 3056)
	)
})

func prefixes(list ...string) (all []netip.Prefix) {
	for _, text := range list {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// IsPublic reports whether an address is that of one machine on the internet. What is not known to be public is not.
func IsPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	if addr.Is4() {
		return !within(notPublic4(), addr)
	}
	bytes := addr.As16()
	for _, p := range embedded() {
		if p.Contains(addr) {
			at := p.Bits() / 8
			return IsPublic(netip.AddrFrom4([4]byte(bytes[at : at+4])))
		}
	}
	return addr.Zone() == "" && global6().Contains(addr) && !within(notPublic6(), addr)
}

// within reports whether one of the networks has the address. Networks have no zones, so addresses are compared without.
func within(networks []netip.Prefix, addr netip.Addr) bool {
	addr = addr.WithZone("")
	for _, p := range networks {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
