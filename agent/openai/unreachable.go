package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"

	"agentls/agent"
)

// unreachable: no answer came at all.
func (f failures) unreachable(ctx context.Context, err error) *agent.ProviderError {
	if errors.Is(context.Cause(ctx), errIdle) {
		return f.idle()
	}
	why := reason(err)
	if pe := f.proxy(err, why); pe != nil {
		return pe
	}
	name, isName := errors.AsType[*net.DNSError](err)
	switch {
	case strings.Contains(why, "server gave HTTP response to HTTPS client"):
		return f.make(agent.KindConfig, false, err, "%s speaks http, not https, so model %q was not asked: change the provider's baseURL (%s)", f.host, f.model, f.base)
	case isName && name.IsNotFound:
		return f.make(agent.KindNetwork, true, err, "the name %s is not known%s (%s): check the spelling of the provider's baseURL (%s), and that this machine is online", name.Name, f.asked, why, f.base)
	case errors.Is(err, syscall.ECONNREFUSED), strings.Contains(why, "refused"):
		return f.make(agent.KindNetwork, true, err, "cannot reach %s%s (%s): nothing listens there; start the program that serves the model, or check the provider's baseURL (%s)", f.host, f.asked, why, f.base)
	}
	if pe := f.untrusted(err, why); pe != nil {
		return pe
	}
	return f.make(agent.KindNetwork, true, err, "cannot reach %s%s (%s): check that it runs and that the provider's baseURL (%s) is right", f.host, f.asked, why, f.base)
}

// untrusted: a certificate is wrong; nil: none is.
func (f failures) untrusted(err error, why string) *agent.ProviderError {
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return f.make(agent.KindNetwork, false, err, "the TLS certificate of %s is signed by an authority that this machine does not know, so model %q was not asked (%s): if it is your organisation's or its proxy's, put its certificate in PEM into a file and set NODE_EXTRA_CA_CERTS to that where agentls starts", f.host, f.model, why)
	}
	if _, wrong := errors.AsType[*tls.CertificateVerificationError](err); wrong {
		return f.make(agent.KindNetwork, false, err, "the TLS certificate of %s is not trusted, so model %q was not asked (%s): check the provider's baseURL, and this machine's clock", f.host, f.model, why)
	}
	return nil
}

// proxy: it is the proxy that is in the way; nil: it is not.
func (f failures) proxy(err error, why string) *agent.ProviderError {
	if strings.Contains(err.Error(), "Proxy Authentication Required") {
		return f.login(" (" + why + ")")
	}
	if o, ok := errors.AsType[*net.OpError](err); ok && o.Op == "proxyconnect" {
		return f.make(agent.KindNetwork, true, err, "cannot reach %s%s, because its proxy cannot be used (%s): check HTTPS_PROXY and HTTP_PROXY where agentls starts, or name the host in NO_PROXY", f.host, f.asked, why)
	}
	return nil
}

// login: a proxy wants one.
func (f failures) login(said string) *agent.ProviderError {
	return f.make(agent.KindNetwork, false, nil, "the proxy before %s wants a login%s%s: put user and password into the URL of HTTPS_PROXY and HTTP_PROXY where agentls starts, or name the host in NO_PROXY", f.host, f.asked, said)
}

// reason is the innermost part of a network error that a user understands.
func reason(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if o, ok := errors.AsType[*net.OpError](err); ok && o.Err != nil {
		if o.Op == "proxyconnect" {
			return "proxy: " + reason(o.Err)
		}
		err = o.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "connection closed"
	}
	return err.Error()
}
