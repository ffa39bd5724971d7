// Package publicnet tells addresses of the public internet from all others:
// what a page or a server names must not make us ask this machine, its networks
// or a cloud's metadata.
package publicnet

import "net/netip"

// notPublic are networks beside those that [netip.Addr] knows by name.
//
//nolint:gochecknoglobals // a constant table
var notPublic = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"168.63.129.16/32", // Azure's metadata
	"2001::/23",        // Teredo and other protocols
	"2001:db8::/32", "3fff::/20", "5f00::/16",
)

// These hold an IPv4 address, which is what is reached.
//
//nolint:gochecknoglobals // constant tables
var (
	nat64    = netip.MustParsePrefix("64:ff9b::/96")
	sixToFor = netip.MustParsePrefix("2002::/16")
	unicast6 = netip.MustParsePrefix("2000::/3")
)

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		out[i] = netip.MustParsePrefix(text)
	}
	return out
}

// Has reports whether addr is one of the public internet.
func Has(addr netip.Addr) bool {
	addr = addr.Unmap()
	if addr.Is6() {
		b := addr.As16()
		switch {
		case addr.Zone() != "":
			return false
		case nat64.Contains(addr):
			return Has(netip.AddrFrom4([4]byte(b[12:])))
		case sixToFor.Contains(addr):
			return Has(netip.AddrFrom4([4]byte(b[2:6])))
		case !unicast6.Contains(addr):
			return false
		}
	}
	if !addr.IsGlobalUnicast() || addr.IsPrivate() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}
