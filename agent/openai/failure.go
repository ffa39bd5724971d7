package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"agentls/agent"
	"agentls/mcp"
)

// failures makes the errors of one provider: a sentence that names the host
// and the model and says what to do, with no secret in it.
type failures struct {
	host, model string
	asked       string // ` for model "m"`, or nothing where none is set
	base        string
	hasKey      bool
	window      int
	idleLimit   time.Duration
	redact      func(string) string
}

func newFailures(o Options) failures {
	own := []string{}
	secrets := append([]string{o.APIKey}, headerSecrets(o.Headers)...)
	if u, err := url.Parse(o.BaseURL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, u.User.String(), password)
	}
	for _, s := range secrets {
		if len(s) >= 8 {
			own = append(own, s, mcp.Redacted)
		}
	}
	mine := strings.NewReplacer(own...)
	redact := func(s string) string { return o.Secrets.Redact(mine.Replace(s)) }
	idle := o.IdleTimeout
	if idle <= 0 {
		idle = defaultIdle
	}
	asked := ""
	if o.Model != "" {
		asked = fmt.Sprintf(" for model %q", o.Model)
	}
	return failures{model: o.Model, asked: asked, hasKey: o.APIKey != "" || len(o.Headers) > 0, window: o.ContextWindow, idleLimit: idle, redact: redact, base: shownURL(o.BaseURL)}
}

// headerSecrets are the values of headers; one with a scheme also without it.
func headerSecrets(h map[string]string) []string {
	var out []string
	for _, v := range h {
		out = append(out, v)
		if _, after, ok := strings.Cut(v, " "); ok {
			out = append(out, after)
		}
	}
	return out
}

// shownURL is a base URL without user, password and query.
func shownURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// maxShown bounds, in characters, what is shown of a provider's own words.
const maxShown = 300

func (f failures) make(kind agent.ErrorKind, retryable bool, err error, format string, args ...any) *agent.ProviderError {
	return &agent.ProviderError{Kind: kind, Retryable: retryable, Err: err, Message: oneLine(f.redact(fmt.Sprintf(format, args...)), 4*maxShown)}
}

func (f failures) config(format string, args ...any) *agent.ProviderError {
	return f.make(agent.KindConfig, false, nil, format, args...)
}

func (f failures) provider(format string, args ...any) *agent.ProviderError {
	return f.make(agent.KindProvider, false, nil, format, args...)
}

// wrap gives err as it is when it was made here.
func (f failures) wrap(err error) error {
	if pe, ok := errors.AsType[*agent.ProviderError](err); ok {
		return pe
	}
	return f.make(agent.KindProvider, false, err, "the answer of %s%s could not be read: %v: try again", f.host, f.asked, err)
}

// quote is what a provider said, in brackets, or nothing.
func (f failures) quote(status int, words string) string {
	words = oneLine(f.redact(words), maxShown)
	switch {
	case status == 0 && words == "":
		return ""
	case status == 0:
		return " (" + words + ")"
	case words == "":
		return fmt.Sprintf(" (%d %s)", status, http.StatusText(status))
	}
	return fmt.Sprintf(" (%d: %s)", status, words)
}

// early: the answer stopped without a finish reason.
func (f failures) early() *agent.ProviderError {
	return f.make(agent.KindNetwork, true, io.ErrUnexpectedEOF, "%s broke off the answer of model %q before its end: try again", f.host, f.model)
}

func (f failures) idle() *agent.ProviderError {
	return f.make(agent.KindNetwork, true, errIdle, "%s sent nothing for %s%s: try again, or raise idleTimeoutSeconds if the model is slow", f.host, f.idleLimit, f.asked)
}

func (f failures) lost(err error) *agent.ProviderError {
	return f.make(agent.KindNetwork, true, err, "the connection to %s broke during the answer of model %q (%s): try again", f.host, f.model, reason(err))
}

// empty: a success without anything in it.
func (f failures) empty(resp *http.Response, head []byte) *agent.ProviderError {
	if len(head) > 0 {
		return f.garbage(resp, "no answer of a model", head)
	}
	return f.make(agent.KindProvider, true, nil, "%s sent an empty answer%s (status %d, %s): try again, and check the provider's baseURL (%s) and model", f.host, f.asked, resp.StatusCode, contentType(resp), f.base)
}

func (f failures) garbage(resp *http.Response, what string, data []byte) *agent.ProviderError {
	words := oneLine(f.redact(visibleText(string(data[:min(len(data), 4096)]))), 100)
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) {
		return f.provider("a web page came instead of an answer of %s%s (status %d, %s: %s): log into the network or its proxy in a browser if it asks for that, and check that the provider's baseURL (%s) is the one of an OpenAI-compatible API", f.host, f.asked, resp.StatusCode, contentType(resp), words, f.base)
	}
	return f.provider("%s sent %s%s (status %d, %s: %s): check that the provider's baseURL (%s) is the one of an OpenAI-compatible API", f.host, what, f.asked, resp.StatusCode, contentType(resp), words, f.base)
}

func contentType(resp *http.Response) string {
	if t := mediaType(resp.Header); t != "" {
		return t
	}
	return "no content type"
}

// oneLine is text without control and invisible characters, on one line, cut
// at limit characters.
func oneLine(s string, limit int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = true
			continue
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs) || r == unicode.ReplacementChar:
			continue
		}
		if n >= limit {
			b.WriteString("…")
			break
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
			n++
		}
		space = false
		b.WriteRune(r)
		n++
	}
	return b.String()
}
