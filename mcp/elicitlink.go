package mcp

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// maxLink is how long a URL may be, in bytes: it is shown whole before it is
// opened.
const maxLink = 2000

// Link is a URL that a person may open, checked and in ASCII. It is never
// fetched by us (client/elicitation, 2026-07-28, Safe URL Handling).
type Link struct {
	URL  string // whole, as it is opened
	Host string // as it is in URL, with a port if it has one
	// Decoded is the host with its international names as they read; empty: it
	// has none. It may look like another one.
	Decoded string
}

// ParseLink checks a URL that a server wants opened: https, or http to this
// machine, with a host and without a user's name. What is not ASCII in it is
// encoded.
func ParseLink(raw string) (Link, error) {
	switch {
	case raw == "":
		return Link{}, errors.New("url is missing")
	case len(raw) > maxLink:
		return Link{}, fmt.Errorf("the url has %d bytes; what a person is to open is shown whole, and at most %d are", len(raw), maxLink)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return Link{}, errors.New("the url cannot be read")
	}
	host, port := u.Hostname(), u.Port()
	switch {
	case host == "":
		return Link{}, errors.New("the url names no host")
	case u.User != nil:
		return Link{}, errors.New("the url holds a user name, which can pass for a host")
	case u.Scheme != "https" && !(u.Scheme == "http" && isThisMachine(host)):
		return Link{}, fmt.Errorf("the url must be https (or http to this machine), not %s", clip(u.Scheme, 50))
	}
	l := Link{Host: host}
	if net.ParseIP(host) == nil {
		if l.Host, err = idna.Lookup.ToASCII(host); err != nil {
			return Link{}, errors.New("the host of the url is no name")
		}
		if strings.Contains(l.Host, "xn--") {
			l.Decoded, _ = idna.Display.ToUnicode(l.Host) // as far as it can be
		}
	}
	if strings.Contains(host, ":") {
		l.Host = "[" + host + "]"
	}
	if port != "" {
		l.Host += ":" + port
	}
	u.Host = l.Host
	l.URL = strings.ReplaceAll(u.String(), "](", "]%28") // or Markdown could take a part of it for a link
	if strings.ContainsFunc(l.URL, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) }) {
		return Link{}, errors.New("the url holds characters that have to be percent-encoded")
	}
	return l, nil
}

// isThisMachine reports whether a host is a loopback one.
func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
