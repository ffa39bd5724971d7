package agent

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// callHost is the host that a call fetches from as the rules see it.
type callHost struct {
	name  string // as [hostName] gives it
	plain bool   // it is spelled so that nobody can mistake it
}

// callHostOf reads a URL. What is odd about it (user:password@, a number that
// is meant as an address) keeps rules from allowing it.
func callHostOf(raw string) *callHost {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return &callHost{}
	}
	name, ok := hostName(u.Hostname())
	return &callHost{name, ok && u.User == nil && u.Opaque == "" && (u.Scheme == "http" || u.Scheme == "https")}
}

// hostName gives a host in the one form that is compared: an address as Go
// writes it, a name in lower case, in ASCII and without the last dot.
func hostName(host string) (name string, ok bool) {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return ip.Unmap().WithZone("").String(), true
	}
	name, err := idna.Lookup.ToASCII(host)
	if err != nil || name == "" {
		return host, false
	}
	// A last label of digits or 0x… is an address in a spelling that some
	// read and some do not.
	last := name[strings.LastIndexByte(name, '.')+1:]
	return name, last != "" && (last[0] < '0' || last[0] > '9')
}

func (h *callHost) allowedBy(argument string) bool {
	want, err := ruleHost(argument)
	return err == nil && h.plain && h.is(want)
}

func (h *callHost) restrictedBy(argument string) match {
	want, err := ruleHost(argument)
	switch {
	case err == nil && h.is(want):
		return matchYes
	case err != nil || !h.plain:
		return matchUnsure
	}
	return matchNo
}

func (h *callHost) is(want string) bool {
	if below, ok := strings.CutPrefix(want, "*"); ok {
		return strings.HasSuffix(h.name, below)
	}
	return h.name == want
}

// ruleHost reads the argument of a rule for web_fetch: a host, or *.domain.
func ruleHost(argument string) (string, error) {
	host, below := strings.CutPrefix(argument, "*.")
	if strings.ContainsAny(host, "*/?@ ") {
		return "", errors.New("a rule of web_fetch is a host, such as go.dev or *.example.com, without a scheme or a path")
	}
	name, ok := hostName(host)
	if !ok {
		return "", errors.New("a rule of web_fetch is a host without its port, such as go.dev or *.example.com")
	}
	if below {
		name = "*." + name
	}
	return name, nil
}
