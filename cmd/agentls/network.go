package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"golang.org/x/net/http/httpproxy"

	"agentls/mcp"
)

// maxCertificates bounds the file of NODE_EXTRA_CA_CERTS, in bytes.
const maxCertificates = 8 << 20

// newTransport returns what all HTTP of this process is made of: with the
// proxies of the environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY, in both
// cases; never for loopback), and its certificates: the system's, where
// SSL_CERT_FILE is Go's matter, and those of NODE_EXTRA_CA_CERTS. What is
// wrong with a variable is a problem; the rest counts.
func newTransport(getenv func(string) (string, bool), secrets *mcp.Secrets) (t *http.Transport, problems []string) {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	t = &http.Transport{
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		// A connection that died while the machine slept is found out by a ping.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}
	variable := func(names ...string) string {
		for _, name := range names {
			if v, _ := getenv(name); v != "" {
				return v
			}
		}
		return ""
	}
	proxy := func(names ...string) string {
		v := variable(names...)
		if why := checkProxy(v, secrets); why != "" {
			problems = append(problems, names[0]+" is not used: "+why+"; set it to something like http://host:3128")
			return ""
		}
		return v
	}
	config := httpproxy.Config{
		HTTPProxy: proxy("HTTP_PROXY", "http_proxy"), HTTPSProxy: proxy("HTTPS_PROXY", "https_proxy"), NoProxy: variable("NO_PROXY", "no_proxy"),
	}
	find := config.ProxyFunc()
	t.Proxy = func(r *http.Request) (*url.URL, error) { return find(r.URL) }
	if file := variable("NODE_EXTRA_CA_CERTS"); file != "" {
		pool, err := certificates(file)
		if err != nil {
			problems = append(problems, "NODE_EXTRA_CA_CERTS is not used: "+err.Error()+"; set it to a file of certificates in PEM, or unset it")
		} else {
			t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		}
	}
	return t, problems
}

// checkProxy says why v is no address of a proxy; empty: it is one, or none.
func checkProxy(v string, secrets *mcp.Secrets) string {
	if v == "" {
		return ""
	}
	u, err := url.Parse(v)
	if err != nil || u.Hostname() == "" { // the host alone will do
		u, err = url.Parse("http://" + v)
	}
	if err != nil || u.Hostname() == "" {
		return "it is no URL"
	}
	if password, ok := u.User.Password(); ok {
		secrets.Add(password)
	}
	switch u.Scheme {
	case "http", "https", "socks5", "socks5h":
		return ""
	}
	return fmt.Sprintf("there are no proxies of the kind %q here, only http, https, socks5 and socks5h", u.Scheme)
}

// certificates returns the system's certificates and those of a file.
func certificates(file string) (*x509.CertPool, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxCertificates+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxCertificates:
		return nil, fmt.Errorf("%s is over %d MiB", file, maxCertificates>>20)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, errors.New("the system's certificates cannot be read: " + err.Error())
	}
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return pool, nil
}
