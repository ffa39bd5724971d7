package mcptest

import (
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

func TestRealServersOverHTTP(t *testing.T) {
	for _, c := range []struct {
		name    string
		mode    HTTPMode
		version string
	}{
		{"everything", Streamable, "2025-11-25"},
		{"sse", SSE, "2025-11-25"},
		{"go-sdk", Streamable, "2025-11-25"},
		{"go-sdk-stateless", Streamable, "2025-11-25"},
		{"go-sdk-stateless", Modern, "2026-07-28"},
		{"mcp-go", Streamable, "2025-11-25"},
		{"mcp-go", Modern, "2026-07-28"},
		{"mcp-go-stateful", Streamable, "2025-11-25"},
	} {
		t.Run(c.name+" "+c.version, func(t *testing.T) {
			t.Parallel()
			s := RealHTTP(t, c.name)
			first := s.PID()
			for range 2 {
				d, err := dialURL(t, c.mode, s.URL)
				if err != nil {
					t.Fatalf("%v; its output:\n%s", err, s.Output())
				}
				if v := d.ProtocolVersion(); v != c.version {
					t.Errorf("version %q", v)
				}
				if tools, err := d.ListTools(t.Context(), mcp.ListToolsRequest{}); err != nil || len(tools.Tools) < 6 {
					t.Errorf("%+v %v", tools, err)
				}
				s.Restart(t)
			}
			if s.PID() == first {
				t.Error("it was not restarted")
			}
			s.Stop()
			if _, err := dialURL(t, c.mode, s.URL); err == nil {
				t.Error("a stopped server answered")
			}
		})
	}
}
