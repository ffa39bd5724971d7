package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
)

// initialize keeps the raw result and gives the client only what it decides
// on, so that odd capabilities do not end the connection. A server that
// refuses the version and lists others is asked once more, for the newest of
// them (2025-11-25, lifecycle, "Error Handling").
func (l *link) initialize(ctx context.Context, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	resp, err := l.send(ctx, req)
	if err != nil {
		return nil, err
	}
	if listed := refusedVersions(resp.Error); listed != nil {
		version := newest(listed, func(v string) bool { return !mcpgo.IsModernProtocol(v) })
		if version == "" {
			return nil, &versionError{listed}
		}
		if resp, err = l.send(ctx, again(req, version)); err != nil {
			return nil, err
		}
	}
	if resp.Error != nil {
		return resp, nil
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
	if err == nil {
		if listed := refusedVersions(resp.Error); listed != nil {
			if newest(listed, mcpgo.IsModernProtocol) == "" {
				err = &versionError{listed}
			} else {
				resp, err = l.send(ctx, again(req, ""))
			}
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

// refusedVersions returns what the server supports, if e refuses the version
// that was asked for and says so; else nil. Up to 2025-11-25 there was no code
// of its own for it.
func refusedVersions(e *mcpgo.JSONRPCErrorDetails) []string {
	if e == nil || e.Code != mcpgo.UNSUPPORTED_PROTOCOL_VERSION && e.Code != mcpgo.INVALID_PARAMS {
		return nil
	}
	raw, err := json.Marshal(e.Data)
	if err != nil {
		return nil
	}
	var data struct {
		Supported maybe[[]string] `json:"supported"`
	}
	_ = json.Unmarshal(raw, &data)
	if len(data.Supported.v) == 0 {
		return nil
	}
	return data.Supported.v
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
