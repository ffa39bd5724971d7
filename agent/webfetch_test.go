package agent

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/time/rate"
)

// loopbackToo lets a test's servers through.
func loopbackToo(addr netip.Addr) error {
	if addr.Unmap().IsLoopback() {
		return nil
	}
	return publicAddress(addr)
}

func testFetcher(check func(netip.Addr) error) *fetcher {
	f := newFetcher(nil, "1.2.3", check)
	f.turns = rate.NewLimiter(rate.Inf, 1)
	return f
}

// fetchWith calls web_fetch and returns its text.
func fetchWith(ctx context.Context, t *testing.T, f *fetcher, at string, more ...any) (string, error) {
	t.Helper()
	args := map[string]any{"url": at}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	results := newStore(t.TempDir(), slog.New(slog.DiscardHandler))
	e := env{limit: 51200, web: f, shelf: results.of(sessionKey{"f", "s"})}
	out, err := webFetch(ctx, e, marshal(args))
	if len(out.text) > e.limit {
		t.Errorf("%d bytes", len(out.text))
	}
	if out.stored != "" {
		file, err := e.shelf.open(out.stored)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		whole, err := io.ReadAll(file)
		if err != nil {
			t.Fatal(err)
		}
		out.text += fmt.Sprintf("\nkept: %d bytes", len(whole))
	}
	return out.text, err
}

func TestPublicAddress(t *testing.T) {
	for _, text := range []string{"1.1.1.1", "93.184.216.34", "172.15.0.1", "172.32.0.1", "192.167.1.1", "100.63.255.255", "100.128.0.1", "::ffff:1.1.1.1", "2606:4700::1111", "64:ff9b::101:101", "2002:101:101::1", "2a00::1"} {
		if err := publicAddress(netip.MustParseAddr(text)); err != nil {
			t.Errorf("%s is refused", text)
		}
	}
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.0.1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254", "100.64.0.1", "100.100.100.200",
		"192.0.0.192", "168.63.129.16", "198.18.0.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "203.0.113.5",
		"::", "::1", "fe80::1", "fe80::1%eth0", "2606:4700::1111%eth0", "fc00::1", "fd00:ec2::254", "ff02::1", "fec0::1", "100::1", "2001:db8::1", "2001::1", "4000::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1", "::ffff:0:127.0.0.1",
	} {
		if err := publicAddress(netip.MustParseAddr(text)); !errors.Is(err, errNotPublic) {
			t.Errorf("%s is let through", text)
		}
	}
}

func TestFetchURL(t *testing.T) {
	for _, c := range [][2]string{
		{"http://example.com", "http://example.com"},
		{"HTTPS://EXAMPLE.com.:8443/a?b#c", "https://example.com:8443/a?b#c"},
		{"http://[2606:4700::1111]:80/", "http://[2606:4700::1111]:80/"},
		{"http://bücher.example/", "http://xn--bcher-kva.example/"},
		{"http://1.1.1.1/", "http://1.1.1.1/"},
		{"http://a_b.example/", "http://a_b.example/"},
	} {
		if u, err := fetchURL(c[0]); err != nil || u.String() != c[1] {
			t.Errorf("%s: %v, %v", c[0], u, err)
		}
	}
	for _, text := range []string{
		"", "example.com", "/etc/passwd", "file:///etc/passwd", "ftp://example.com", "gopher://x", "javascript:alert(1)", "data:text/plain,x", "http:", "http://", "http:///x", "http:example.com",
		"http://user@example.com", "http://user:pw@example.com", "http://:@example.com", "http://example.com:0", "http://example.com:65536", "http://example.com:x",
		"http://2130706433/", "http://0x7f.1/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.0.1.:80/x%zz", "http://1.2.3.4.5/", "http://017700000001", "http://a.0x7F",
		"http://localhost/", "http://LOCALHOST./", "http://a.localhost", "http://[fe80::1%25eth0]/", "http://[::1", "http://a b/", "http://a%20b/", "http://１２７.1/", "http://．/", "http://a\nb/",
		"http://example.com/" + strings.Repeat("x", maxURL),
	} {
		if u, err := fetchURL(text); err == nil {
			t.Errorf("%.60q: %s", text, u)
		}
	}
	// A full-width spelling is an address as any other, and meets its check.
	if u, err := fetchURL("http://１２７.０.０.１/"); err != nil || u.Host != "127.0.0.1" {
		t.Errorf("%v, %v", u, err)
	}
}

func TestWebFetchReads(t *testing.T) {
	latin, _ := charmap.ISO8859_1.NewEncoder().String("größe")
	mux := http.NewServeMux()
	serve := func(path, kind, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{kind}
			if kind == "" {
				w.Header()["Content-Type"] = nil
			}
			fmt.Fprint(w, body)
		})
	}
	serve("/text", "text/plain; charset=utf-8", "größe")
	serve("/latin", "text/plain; charset=iso-8859-1", latin)
	serve("/meta", "text/html", "<meta charset=iso-8859-1><p>"+latin)
	serve("/late", "text/html", "<p>"+strings.Repeat("ascii ", 300)+"größe")
	serve("/bom", "text/plain", "\xef\xbb\xbfgröße")
	serve("/utf16", "text/plain; charset=utf-16le", "g\x00r\x00\xf6\x00\xdf\x00e\x00")
	serve("/json", "application/json", `{"a":"größe"}`)
	serve("/ld", "application/ld+json", `{"b":1}`)
	serve("/xml", "application/atom+xml", `<a>b</a>`)
	serve("/none", "", "plain words")
	serve("/pdf", "application/pdf", "%PDF-1.7")
	serve("/sniffed", "", "\x89PNG\r\n\x1a\n\x00\x00")
	serve("/lie", "text/plain", "MZ\x00\x01\x02")
	serve("/odd", "???", "plain words")
	serve("/empty", "text/html", "")
	serve("/html", "text/html; charset=utf-8", `<!doctype html><html><head><title>The
		title</title><style>p{}</style><script>alert("no <p>")</script></head><body><nav><a href="/rel">Rel</a> <a href="#x">here</a><a href="javascript:x()">js</a></nav>
		<h1>Head <b>line</b></h1><p>One &amp; two,<br>three</p><ul><li>a<li><a href="https://other.example/?q=1">b</a><ol><li>x</li><li>y</ol></ul>
		<pre>code  here
  kept</pre><p>some <code>inline</code> text</p><table><tr><th>k<th>v</tr><tr><td>1<td>2</table><img alt="A chart" src=x><noscript>none</noscript><svg><title>no</title><text>no</text></svg><p>end`)
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, "<h1>Not here</h1>")
	})
	mux.HandleFunc("/nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, strings.Repeat("ä", 30000))
	})
	mux.HandleFunc("/head", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s %s %s cookie=%q authorization=%q", r.Method, r.UserAgent(), r.Proto, r.Header.Get("Cookie"), r.Header.Get("Authorization"))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	f := testFetcher(loopbackToo)
	for _, c := range []struct {
		path, want string
		more       []any
	}{
		{"/text", "[200 OK · text/plain · " + server.URL + "/text]\n\ngröße", nil},
		{"/latin", "größe", nil},
		{"/meta", "größe", nil},
		{"/late", "größe", nil},
		{"/bom", "]\n\ngröße", nil},
		{"/utf16", "größe", nil},
		{"/json", `{"a":"größe"}`, nil},
		{"/ld", `{"b":1}`, nil},
		{"/xml", "<a>b</a>", nil},
		{"/none", "text/plain · ", nil},
		{"/odd", "plain words", nil},
		{"/empty", "[no text]", nil},
		{"/pdf", "error: it is no text (application/pdf, 8 bytes) and is not fetched", nil},
		{"/sniffed", "error: it is no text (image/png, 10 bytes)", nil},
		{"/lie", "error: it is no text (text/plain with NUL bytes, 5 bytes)", nil},
		{"/gone", "[404 Not Found · text/html · " + server.URL + "/gone]\n\n# Not here", nil},
		{"/nothing", "[204 No Content · no content · ", nil},
		{"/long", "[agentls cut it here, after 20000 of 30000 characters; read_result with id", nil},
		{"/long", "\nkept: 60000 bytes", nil},
		{"/long", "after 3 of 30000 characters", []any{"maxChars", 3}},
		{"/long", "of 30000 characters", []any{"maxChars", 200000}}, // the limit of a result counts too
		{"/head", "GET agentls/1.2.3 HTTP/1.1 cookie=\"\" authorization=\"\"", nil},
		{"/head", "cookie=\"\"", nil},
		{"/html", "Title: The title\n\n[Rel](" + server.URL + "/rel) here", nil},
		{"/html", "js\n\n# Head line\n\nOne & two,\nthree\n\n- a\n- [b](https://other.example/?q=1)\n  1. x\n  2. y\n\n```\ncode  here\n  kept\n```\n\nsome `inline` text\n\nk | v\n1 | 2\n\n[image: A chart]\n\nend", nil},
	} {
		text, err := fetchWith(t.Context(), t, f, server.URL+c.path, c.more...)
		if err != nil {
			text = "error: " + err.Error()
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s:\n%.2000s\nwant %s", c.path, text, c.want)
		}
	}
	for _, args := range []string{`{}`, `{"url":""}`, `{"url":7}`, `{"url":"http://a.example","maxChars":0}`, `{"url":"http://a.example","maxChars":200001}`, `{"url":"http://a.example","maxChars":"x"}`} {
		if _, err := webFetch(t.Context(), env{web: f}, json.RawMessage(args)); err == nil {
			t.Errorf("%s is taken", args)
		}
	}
}

// An approval is for a host: a redirect to another one is told, not followed,
// and each hop is checked.
func TestWebFetchRedirects(t *testing.T) {
	var hits atomic.Int32
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	secure := httptest.NewTLSServer(mux)
	defer secure.Close()
	to := func(path, target string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusFound)
		})
	}
	mux.HandleFunc("/end", func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, "the end")
	})
	to("/once", "/end")
	for i := range 6 {
		to(fmt.Sprint("/hop", i), fmt.Sprint("/hop", i+1))
	}
	to("/hop6", "/end")
	to("/loop", "/loop")
	to("/port", secure.URL+"/end")
	to("/other", "http://other.example/x?token=abc")
	to("/private", "http://10.0.0.1/")
	to("/metadata", "http://169.254.169.254/latest")
	to("/odd", "http://2130706433/end")
	to("/file", "file:///etc/passwd")
	to("/user", "http://u:p@127.0.0.1/end")
	to("/down", server.URL+"/end")
	mux.HandleFunc("/nowhere", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusFound)
		fmt.Fprint(w, "a choice")
	})
	pool := x509.NewCertPool()
	pool.AddCert(secure.Certificate())
	f := testFetcher(loopbackToo)
	f.base = func() *http.Transport {
		return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	}
	for _, c := range []struct {
		at, want string
		followed bool
	}{
		{server.URL + "/once", "the end", true},
		{server.URL + "/hop2", "the end", true},
		{server.URL + "/hop0", "error: it redirects more than 5 times", false},
		{server.URL + "/loop", "error: it redirects more than 5 times", false},
		{server.URL + "/port", "the end", true}, // the same host, and to https
		{server.URL + "/other", "This redirects to another host, which was not asked: http://other.example/x?token=abc", false},
		{server.URL + "/private", "another host, which was not asked: http://10.0.0.1/", false},
		{server.URL + "/metadata", "which was not asked", false},
		{server.URL + "/odd", "error: it redirects to what is not fetched: the host \"2130706433\"", false},
		{server.URL + "/file", "error: it redirects to what is not fetched: only http and https", false},
		{server.URL + "/user", "error: it redirects to what is not fetched: a URL with a user name", false},
		{server.URL + "/nowhere", "[302 Found", false},
		{secure.URL + "/once", "the end", true},
		{secure.URL + "/down", "error: it redirects from https to http, which is not followed", false},
	} {
		before := hits.Load()
		text, err := fetchWith(t.Context(), t, f, c.at)
		if err != nil {
			text = "error: " + err.Error()
		}
		if !strings.Contains(text, c.want) || (hits.Load() > before) != c.followed {
			t.Errorf("%s: %d hits: %s", c.at, hits.Load()-before, text)
		}
	}
}

// testDNS answers for any name, with one address after the other.
func testDNS(t *testing.T, addrs ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { // ends with conn
		asked := 0
		for buf := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				addr := netip.MustParseAddr(addrs[min(asked, len(addrs)-1)])
				asked++
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: addr.As4()}}}
			}
			packed, err := m.Pack()
			if err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		serving.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// A name may stand for any address, and for another one the next time (DNS
// rebinding): what is dialled is checked.
func TestWebFetchReachesPublicAddressesOnly(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	f := testFetcher(publicAddress)
	f.resolver = testDNS(t, "127.0.0.1")
	for _, at := range []string{
		"http://rebind.example" + port, "http://127.0.0.1" + port, "http://[::1]" + port, "http://[::ffff:127.0.0.1]" + port, "http://１２７.０.０.１" + port, "http://0.0.0.0" + port,
		"http://10.1.2.3/", "http://169.254.169.254/latest/meta-data/", "https://192.168.1.1/",
	} {
		if text, err := fetchWith(t.Context(), t, f, at); !errors.Is(err, errNotPublic) {
			t.Errorf("%s: %q, %v", at, text, err)
		}
	}
	// Public when it is looked at, private when it is dialled.
	twice := testFetcher(publicAddress)
	twice.resolver = testDNS(t, "93.184.216.34", "127.0.0.1")
	if err := twice.checkName(t.Context(), "rebind.example"); err != nil {
		t.Fatal(err)
	}
	if _, err := fetchWith(t.Context(), t, twice, "http://rebind.example"+port); !errors.Is(err, errNotPublic) {
		t.Errorf("%v", err)
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests came", n)
	}
}

// Behind a proxy the address cannot be seen: the name is looked up first
// (CASES 50: the proxy itself may stand anywhere).
func TestWebFetchThroughAProxy(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.URL.String())
		mu.Unlock()
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, "by the proxy")
	}))
	defer proxy.Close()
	at, _ := url.Parse(proxy.URL)
	through := func(r *net.Resolver) *fetcher {
		f := testFetcher(publicAddress)
		f.base = func() *http.Transport { return &http.Transport{Proxy: http.ProxyURL(at)} }
		f.resolver = r
		return f
	}
	if text, err := fetchWith(t.Context(), t, through(testDNS(t, "93.184.216.34")), "http://public.example/x"); err != nil || !strings.Contains(text, "by the proxy") {
		t.Errorf("%q, %v", text, err)
	}
	f := through(testDNS(t, "10.0.0.1"))
	for _, private := range []string{"http://intranet.example/", "http://10.0.0.1/", "http://[fd00::1]/", "https://intranet.example/"} {
		if _, err := fetchWith(t.Context(), t, f, private); !errors.Is(err, errNotPublic) {
			t.Errorf("%s: %v", private, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(asked, " "); got != "http://public.example/x" {
		t.Errorf("the proxy was asked for %s", got)
	}
}

// A cancel closes the connection, whatever the server does, before its headers
// and in its body.
func TestCancelOfWebFetch(t *testing.T) {
	for _, path := range []string{"/silent", "/slow"} {
		came, closed := make(chan struct{}), make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(closed)
			if r.URL.Path == "/slow" {
				w.Header().Set("Content-Type", "text/plain")
				fmt.Fprint(w, "a")
				w.(http.Flusher).Flush()
			}
			close(came)
			<-r.Context().Done()
		}))
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-came
			cancel(ErrCancelled)
		}()
		if _, err := fetchWith(ctx, t, testFetcher(loopbackToo), server.URL+path); !errors.Is(err, ErrCancelled) {
			t.Errorf("%s: %v", path, err)
		}
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Errorf("%s: the connection stays", path)
		}
		server.Close()
		cancel(nil)
	}
}

// A server that sends a byte now and then does not hold a call for ever.
func TestWebFetchOfASlowServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for r.Context().Err() == nil {
			fmt.Fprint(w, "a")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	defer server.Close()
	f := testFetcher(loopbackToo)
	f.most = 200 * time.Millisecond
	began := time.Now()
	if _, err := fetchWith(t.Context(), t, f, server.URL); err == nil || err.Error() != "it took longer than 0.2 s" {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// Neither an endless body nor a small one that grows fills the memory.
func TestWebFetchBounds(t *testing.T) {
	mux := http.NewServeMux()
	chunk := []byte(strings.Repeat("words and more ", 4096))
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 1 << 14 { // 1 GB
			if _, err := z.Write(chunk); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) {
		for i := range 4000 {
			w.Header().Set(fmt.Sprint("X-", i), strings.Repeat("x", 100))
		}
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "half")
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	for path, want := range map[string]string{
		"/endless": "[the page has more than 5 MiB, of which the first are here]", "/bomb": "\nkept: 5242880 bytes",
		"/headers": "error: it cannot be reached", "/broken": "error: it broke off after 4 bytes",
	} {
		text, err := fetchWith(t.Context(), t, testFetcher(loopbackToo), server.URL+path)
		if err != nil {
			text = "error: " + err.Error()
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %.300s", path, text)
		}
	}
}

// 30 requests a minute: who asks for more waits its turn, or is told to.
func TestWebFetchTakesTurns(t *testing.T) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	f := newFetcher(nil, "", loopbackToo)
	in := func(d time.Duration) float64 { return float64(f.turns.Limit())*d.Seconds() + float64(f.turns.Burst()) }
	if n := in(time.Minute); n < 29.9 || n > 30.1 {
		t.Errorf("%g in a minute", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	var last error
	for range 6 {
		_, last = fetchWith(ctx, t, f, server.URL)
	}
	if hits.Load() != 5 || last == nil || !strings.Contains(last.Error(), "at most 30 a minute") {
		t.Errorf("%d, %v", hits.Load(), last)
	}
	// A cancel ends the wait (avante-corp/avante.nvim#1861).
	waiting, stop := context.WithCancelCause(t.Context())
	time.AfterFunc(20*time.Millisecond, func() { stop(ErrCancelled) })
	began := time.Now()
	if _, err := fetchWith(waiting, t, f, server.URL); !errors.Is(err, ErrCancelled) || time.Since(began) > 2*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

// Errors say what is wrong and not where: a URL may hold a key (CASES 43).
func TestWebFetchErrorsHoldNoURL(t *testing.T) {
	f := testFetcher(loopbackToo)
	f.resolver = testDNS(t, "127.0.0.1")
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := "http://" + closed.Addr().String()
	closed.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, base := range []string{at, strings.Replace(plain.URL, "http", "https", 1), "http://10.0.0.1"} {
		_, err := fetchWith(t.Context(), t, f, base+"/secret-path?key=s3cr3t")
		if err == nil || strings.Contains(err.Error(), "s3cr3t") || strings.Contains(err.Error(), "secret-path") {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// Hostile HTML costs no more than its size.
func TestHTMLTextIsLinear(t *testing.T) {
	at, _ := url.Parse("http://a.example/")
	var formatting strings.Builder
	for i := range 400 {
		fmt.Fprintf(&formatting, "<b id=%d>", i)
	}
	for name, page := range map[string]string{
		"deep":       strings.Repeat("<div>", 1<<20),
		"quotes":     strings.Repeat(strings.Repeat("<blockquote>x", 400)+strings.Repeat("</blockquote>", 400), 400),
		"formatting": "<p>" + formatting.String() + "</p>" + strings.Repeat("<p>x", 1<<20),
		"links":      strings.Repeat("<a href=/>x", 400_000),
		"lists":      strings.Repeat("<ul><li>x", 500_000),
		"ordered":    strings.Repeat("<ol>", 1000) + strings.Repeat("<li>x", 500_000),
		"attributes": "<p " + strings.Repeat("a=b ", 1<<20) + ">x",
		"entities":   strings.Repeat("&lt;&#x1b;", 500_000),
		"comments":   strings.Repeat("<!-", 1<<20),
		"open":       "<a href='" + strings.Repeat("x", 5<<20),
		"script":     strings.Repeat("<script>", 600_000),
		"pre":        strings.Repeat("<pre>x", 800_000),
		"long link":  "<a href=/>" + strings.Repeat("word ", 1<<20),
	} {
		began := time.Now()
		_, text := htmlText(page[:min(len(page), fetchMost)], at)
		if took := time.Since(began); took > 20*time.Second || len(text) > 20*len(page) {
			t.Errorf("%s: %d bytes to %d in %v", name, len(page), len(text), took)
		}
	}
}

func FuzzHTMLText(f *testing.F) {
	for _, s := range []string{"<p>a<a href='/x'>b</a>", "<title>x<p>", "<pre><code>`", "<ol><li><h1>x</ol></h1>", "<script><p>x</script>y", "<svg/><a/>z", "<table><td>", "\x00<"} {
		f.Add(s)
	}
	at, _ := url.Parse("http://a.example/")
	f.Fuzz(func(t *testing.T, s string) {
		title, text := htmlText(strings.ToValidUTF8(s, "?"), at)
		if strings.Contains(title, "\n") || len(text) > 100*len(s)+100 {
			t.Errorf("%q: %q, %q", s, title, text)
		}
	})
}

func FuzzFetchURL(f *testing.F) {
	for _, s := range []string{"http://a.example/x", "https://[::1]:80/", "http://0x7f.1", "http://１.１.１.１", "http://a@b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := fetchURL(s)
		if err != nil {
			return
		}
		again, err := fetchURL(u.String())
		if err != nil || again.Hostname() != u.Hostname() {
			t.Errorf("%q: %s, then %v, %v", s, u, again, err)
		}
		if u.User != nil || strings.ToLower(u.Hostname()) != u.Hostname() {
			t.Errorf("%q: %s", s, u)
		}
	})
}
