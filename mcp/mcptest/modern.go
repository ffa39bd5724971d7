package mcptest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// Codes of 2026-07-28.
const (
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// modernMethods are those that a server of 2026-07-28 answers.
var modernMethods = []string{
	"server/discover", "subscriptions/listen", "tools/list", "tools/call", "resources/list",
	"resources/templates/list", "resources/read", "prompts/list", "prompts/get", "completion/complete",
}

// checkModern returns why a request is refused, and with which status: the
// version must stand in the header and in _meta and be the same, the client's
// capabilities in _meta, and Mcp-Method and Mcp-Name must say what the body
// says (basic/transports and SEP-2243, 2026-07-28).
func (s *HTTPServer) checkModern(h http.Header, m message) (*rpcError, int) {
	var p struct {
		Name string
		URI  string
		Meta struct {
			Version      string          `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	version := h.Get("Mcp-Protocol-Version")
	bad := func(code int, text string) (*rpcError, int) {
		return &rpcError{Code: code, Message: text}, http.StatusBadRequest
	}
	notification := m.Method != "" && len(m.ID) == 0
	switch {
	case version != modernVersion && (version != "" || m.Method == "initialize"):
		return &rpcError{
			Code: codeUnsupportedVersion, Message: "Unsupported protocol version: " + version,
			Data: object{"supported": []string{modernVersion}, "requested": version},
		}, http.StatusBadRequest
	case version == "":
		return bad(codeHeaderMismatch, "MCP-Protocol-Version header is required")
	case h.Get("Mcp-Session-Id") != "" || h.Get("Last-Event-ID") != "":
		return bad(codeHeaderMismatch, "there are no sessions and no streams to resume in "+modernVersion)
	case m.Method == "":
		return bad(-32600, "the server asked nothing")
	case !notification && p.Meta.Version != version:
		return bad(codeHeaderMismatch, "the version of _meta is not that of the header")
	case !notification && len(p.Meta.Capabilities) == 0:
		return bad(-32602, "_meta has no clientCapabilities")
	case h.Get("Mcp-Method") != m.Method:
		return bad(codeHeaderMismatch, "Mcp-Method is not the method of the body")
	case m.Method == "resources/read" && decodeHeader(h.Get("Mcp-Name")) != p.URI,
		(m.Method == "tools/call" || m.Method == "prompts/get") && decodeHeader(h.Get("Mcp-Name")) != p.Name:
		return bad(codeHeaderMismatch, "Mcp-Name is not what the body names")
	case !notification && (!slices.Contains(modernMethods, m.Method) || slices.Contains(s.o.Missing, m.Method)):
		return &rpcError{Code: -32601, Message: "Method not found: " + m.Method}, http.StatusNotFound
	}
	return nil, 0
}

// decodeHeader undoes the base64 sentinel of values that are not plain ASCII.
func decodeHeader(value string) string {
	coded, ok := strings.CutPrefix(value, "=?base64?")
	if !ok || !strings.HasSuffix(coded, "?=") {
		return value
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(coded, "?="))
	if err != nil {
		return value
	}
	return string(text)
}

// modernStatus is the HTTP status that goes with an error's code.
func modernStatus(code int) int {
	switch code {
	case -32601:
		return http.StatusNotFound
	case -32600, -32602, -32700, codeHeaderMismatch, codeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}
