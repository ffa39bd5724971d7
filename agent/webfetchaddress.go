package agent

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"agentls/mcp/publicnet"
)

// fetchURL parses a URL that web_fetch may ask for. Its host comes back in
// ASCII.
func fetchURL(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("the URL has %d bytes, at most %d are taken", len(text), maxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("the URL cannot be read; give an absolute http or https URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("only http and https are fetched, not %q", oneLine(u.Scheme, 50))
	case u.User != nil:
		return nil, errors.New("a URL with a user name or password is not fetched")
	case u.Hostname() == "" || u.Opaque != "":
		return nil, errors.New("the URL names no host")
	}
	host, err := fetchHost(u.Hostname())
	if err != nil {
		return nil, err
	}
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return nil, fmt.Errorf("there is no port %q", oneLine(port, 50))
	}
	if u.Host = host; strings.Contains(host, ":") {
		u.Host = "[" + host + "]"
	}
	if port != "" {
		u.Host += ":" + port
	}
	return u, nil
}

// fetchHost returns a host in ASCII and lower case. It refuses what a resolver
// or a proxy may take for an address although it is not written as one
// (0x7f.1, 2130706433), and names that mean this machine.
func fetchHost(host string) (string, error) {
	if strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 }) {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", fmt.Errorf("the host %q is no name", oneLine(host, 200))
		}
		host = ascii
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", fmt.Errorf("the address %q is of this machine's networks; only public ones are fetched", oneLine(host, 100))
		}
		return host, nil
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case last == "" || strings.ContainsAny(host, "%[]: \t"):
		return "", fmt.Errorf("the host %q is no name", oneLine(host, 200))
	case strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"): // as in the URL standard, "ends in a number"
		return "", fmt.Errorf("the host %q is an address in an odd spelling; write it as 192.0.2.1", oneLine(host, 200))
	case last == "localhost":
		return "", errNotPublic
	}
	return host, nil
}

var errNotPublic = errors.New("its address is not public: web_fetch reaches no addresses of this machine or of private networks")

// publicAddress refuses every address that is not one of the public internet.
func publicAddress(addr netip.Addr) error {
	if !publicnet.Has(addr) {
		return errNotPublic
	}
	return nil
}
