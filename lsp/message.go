package lsp

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"go.lsp.dev/jsonrpc2"
)

// message is one JSON-RPC message of the client, or the error that answers
// what is none.
type message struct {
	jsonrpc2.Message
	bad *jsonrpc2.Error
	id  jsonrpc2.ID // of bad, where it can be told
}

func malformed(id jsonrpc2.ID, code jsonrpc2.Code, text string) message {
	return message{bad: jsonrpc2.NewError(code, text), id: id}
}

// answered reports whether an answer is owed.
func (m message) answered() bool {
	_, call := m.Message.(*jsonrpc2.Call)
	return call || m.bad != nil
}

// decode takes a message apart. It keeps parts of body.
func decode(body []byte) message {
	if m, err := jsonrpc2.DecodeMessage(body); err == nil {
		return message{Message: m}
	}
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil {
		if json.Valid(body) {
			return malformed(jsonrpc2.ID{}, jsonrpc2.InvalidRequest, "a message must be an object")
		}
		return malformed(idOfDeep(body, err), jsonrpc2.ParseError, "invalid JSON: "+err.Error())
	}
	if e.Method == nil && (e.Result != nil || e.Error != nil) {
		return e.response()
	}
	return e.request()
}

// idOfDeep is the id of a request that is nested too deeply to be decoded: it
// is JSON, and its sender waits.
func idOfDeep(body []byte, err error) (id jsonrpc2.ID) {
	if err == nil || !strings.Contains(err.Error(), "exceeded max depth") {
		return id
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	depth, key := 0, false // whether the next token is a key, of the outermost object
	for {
		t, err := d.Token()
		switch t := t.(type) {
		case json.Delim:
			if t == '{' || t == '[' {
				depth++
			} else {
				depth--
			}
			key = depth == 1
			continue
		case string:
			if depth == 1 && key && t == "id" {
				var raw json.RawMessage
				if d.Decode(&raw) == nil {
					id, _ = decodeID(raw)
				}
				return id
			}
		}
		if err != nil {
			return id
		}
		key = depth == 1 && !key
	}
}

// envelope is a message before anything is known about it.
type envelope struct {
	Version json.RawMessage `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  json.RawMessage `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

func (e envelope) request() message {
	id, ok := decodeID(e.ID)
	var method string
	switch {
	case string(e.Version) != `"2.0"`:
		return malformed(id, jsonrpc2.InvalidRequest, `"jsonrpc" must be "2.0"`)
	case e.Method == nil || json.Unmarshal(e.Method, &method) != nil:
		return malformed(id, jsonrpc2.InvalidRequest, `"method" must be a string`)
	case !ok:
		return malformed(id, jsonrpc2.InvalidRequest, `"id" must be an integer or a string`)
	}
	params := jsonrpc2.RawMessage(e.Params)
	if string(params) == "null" {
		params = nil
	}
	if id.IsValid() {
		return message{Message: jsonrpc2.NewCall(id, method, params)}
	}
	return message{Message: jsonrpc2.NewNotification(method, params)}
}

// response ends the call that waits for it, however odd it is.
func (e envelope) response() message {
	id, _ := decodeID(e.ID)
	if e.Error == nil || string(e.Error) == "null" {
		return message{Message: jsonrpc2.NewResponse(id, jsonrpc2.RawMessage(e.Result), nil)}
	}
	var odd struct {
		Code    float64 `json:"code"`
		Message string  `json:"message"`
	}
	if json.Unmarshal(e.Error, &odd) != nil || odd.Message == "" {
		odd.Message = string(e.Error)
	}
	code := jsonrpc2.UnknownError
	if odd.Code == math.Trunc(odd.Code) && math.Abs(odd.Code) <= math.MaxInt32 && odd.Code != 0 {
		code = jsonrpc2.Code(odd.Code)
	}
	return message{Message: jsonrpc2.NewResponse(id, nil, jsonrpc2.NewError(code, odd.Message))}
}

// decodeID takes integers however they are spelled (7, 7.0, 7e0), and strings.
// Absent and null are no id; ok is false for anything else.
func decodeID(raw []byte) (id jsonrpc2.ID, ok bool) {
	if len(raw) == 0 || string(raw) == "null" {
		return jsonrpc2.ID{}, true
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return jsonrpc2.NewStringID(s), err == nil
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return jsonrpc2.NewNumberID(n), true
	}
	// Beyond 2^53 a float no longer names one integer.
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return jsonrpc2.ID{}, false
	}
	return jsonrpc2.NewNumberID(int64(f)), true
}
