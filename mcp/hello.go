package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// initialize keeps the raw result and gives the client only what it decides
// on, so that odd capabilities do not end the connection. A server that
// refuses the version and lists others is asked once more, for the newest of
// them (2025-11-25, lifecycle, "Error Handling").
func (l *link) initialize(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	resp, err := l.send(ctx, req)
	if listed := refusedVersions(resp, err, mcpgo.LATEST_LEGACY_PROTOCOL_VERSION); listed != nil {
		version := newest(listed, func(v string) bool { return !mcpgo.IsModernProtocol(v) })
		if version == "" {
			return nil, &versionError{listed}
		}
		resp, err = l.send(ctx, again(req, version))
	}
	if err != nil || resp.Error != nil {
		return resp, err
	}
	var r struct {
		Version maybe[string] `json:"protocolVersion"`
	}
	_ = json.Unmarshal(resp.Result, &r)
	switch {
	case r.Version.v == "":
		return transport.NewJSONRPCErrorResponse(resp.ID, codeInternal, "the answer to initialize names no protocolVersion", nil), nil
	case mcpgo.IsModernProtocol(r.Version.v) || !mcpgo.IsValidProtocolVersion(r.Version.v):
		return nil, &versionError{[]string{r.Version.v}}
	}
	l.keepHello(resp.Result)
	stub, err := json.Marshal(map[string]any{"protocolVersion": r.Version.v, "capabilities": struct{}{}, "serverInfo": map[string]string{"name": "", "version": ""}})
	if err != nil {
		return nil, err
	}
	return transport.NewJSONRPCResultResponse(resp.ID, stub), nil
}

// discover asks once more when the server refuses a version that it lists,
// and takes no result without versions for one (some answer {} to anything).
func (l *link) discover(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	resp, err := l.send(ctx, req)
	if listed := refusedVersions(resp, err, mcpgo.LATEST_PROTOCOL_VERSION); listed != nil {
		if newest(listed, mcpgo.IsModernProtocol) == "" {
			err = &versionError{listed}
		} else {
			resp, err = l.send(ctx, again(req, ""))
		}
	}
	switch {
	case err != nil:
		l.keepProbe(err)
		return nil, err
	case resp.Error != nil:
		l.keepProbe(&rpcError{Code: resp.Error.Code, Message: resp.Error.Message})
		return resp, nil
	}
	err = checkDiscovered(resp.Result)
	if err != nil {
		l.keepProbe(err)
		return transport.NewJSONRPCErrorResponse(resp.ID, codeInternal, err.Error(), nil), nil
	}
	l.keepHello(resp.Result)
	stub, err := json.Marshal(map[string]any{"supportedVersions": []string{mcpgo.LATEST_PROTOCOL_VERSION}, "capabilities": struct{}{}})
	if err != nil {
		return nil, err
	}
	return transport.NewJSONRPCResultResponse(resp.ID, stub), nil
}

// checkDiscovered says why raw is no DiscoverResult of a server that can be
// spoken to.
func checkDiscovered(raw json.RawMessage) error {
	var r struct {
		Versions maybe[[]string] `json:"supportedVersions"`
	}
	_ = json.Unmarshal(raw, &r)
	switch {
	case len(r.Versions.v) == 0:
		return fmt.Errorf("its answer to server/discover names no versions, so it does not speak %s", mcpgo.LATEST_PROTOCOL_VERSION)
	case newest(r.Versions.v, mcpgo.IsModernProtocol) == "":
		return &versionError{r.Versions.v}
	}
	if _, err := parseResultType(string(mcpgo.MethodServerDiscover), raw, true); err != nil {
		return err
	}
	return nil
}

// refusedVersions returns what the server supports, if an answer refuses the
// version that was asked for and says so; else nil. Up to 2025-11-25 there was
// no code of its own for it, and some say it in words, with HTTP 400.
func refusedVersions(resp *transport.JSONRPCResponse, err error, asked string) []string {
	if e, ok := errors.AsType[*statusError](err); ok && e.status == http.StatusBadRequest {
		return namedVersions(e.text, asked)
	}
	if err != nil || resp.Error == nil {
		return nil
	}
	var data struct {
		Supported maybe[[]string] `json:"supported"`
	}
	if raw, err := json.Marshal(resp.Error.Data); err == nil {
		_ = json.Unmarshal(raw, &data)
	}
	code := resp.Error.Code
	if listed := data.Supported.v; len(listed) > 0 && (code == mcpgo.UNSUPPORTED_PROTOCOL_VERSION || code == mcpgo.INVALID_PARAMS) {
		return listed
	}
	return namedVersions(resp.Error.Message, asked)
}

// versionDate is how a version of the protocol looks.
var versionDate = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b20\d\d-\d\d-\d\d\b`) }) //nolint:gochecknoglobals // compiled at its first use

// namedVersions returns the versions that a refusal in words names, other than
// the one that was asked for.
func namedVersions(text, asked string) []string {
	if !strings.Contains(strings.ToLower(text), "protocol version") {
		return nil
	}
	found := slices.DeleteFunc(versionDate().FindAllString(text, 20), func(v string) bool { return v == asked })
	if len(found) == 0 {
		return nil
	}
	return found
}

// newest returns the newest version of an era that is listed and that we
// speak; empty: there is none.
func newest(listed []string, era func(string) bool) string {
	for _, version := range mcpgo.ValidProtocolVersions { // the newest first
		if era(version) && slices.Contains(listed, version) {
			return version
		}
	}
	return ""
}

// anew is where the ids begin of requests that are sent a second time: an id
// is used once, and the client counts its own from 1.
const anew = 1 << 40

// again is req as it is sent a second time, with another version of the
// protocol if one is given.
func again(req transport.JSONRPCRequest, version string) transport.JSONRPCRequest {
	if id, ok := req.ID.Value().(int64); ok {
		req.ID = mcpgo.NewRequestId(anew + id)
	}
	if version == "" {
		return req
	}
	req.Params = withFields(req.Params, map[string]json.RawMessage{"protocolVersion": json.RawMessage(`"` + version + `"`)})
	return req
}

// versionError says that there is no version of the protocol that the server
// and we both speak in the era that was tried.
type versionError struct {
	listed []string // by the server; never empty
}

func (e *versionError) Error() string {
	const most = 10
	listed := e.listed[:min(len(e.listed), most)]
	theirs := clip(strings.Join(listed, ", "), 200)
	if newest(e.listed, func(string) bool { return true }) != "" {
		return fmt.Sprintf(`the server speaks MCP %s, which "protocol" of its configuration excludes: set it to "auto"`, theirs)
	}
	return fmt.Sprintf("the server speaks MCP %s, and agentls %s: update the older of the two", theirs, ProtocolVersions)
}
