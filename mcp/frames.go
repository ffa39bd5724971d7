package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// maxFrame bounds one line of a server's stdout, in bytes.
const maxFrame = 16 << 20

// frameEdge is what is kept of a line over maxFrame at each end, to find the
// id of the request that it answers.
const frameEdge = 4096

// frames reads a server's stdout line by line and passes on what mcp-go can
// read: one JSON-RPC message a line. What is no message is skipped, and the
// first of it named to problem; a line over max is answered in its server's
// place.
type frames struct {
	r       *bufio.Reader
	max     int
	problem func(text string)
	junk    bool // was seen
	// updated, where it is set, takes the URI of a resources/updated. Servers
	// send them by the thousand, and by way of mcp-go one takes three times the memory.
	updated func(uri string) (taken bool)
	// asked, where it is set, takes a request of the server's: mcp-go would
	// decode its params, and lose the order of their members.
	asked func(m json.RawMessage) (taken bool)
	buf   []byte
}

func newFrames(r io.Reader, max int, problem func(string)) *frames {
	return &frames{r: bufio.NewReaderSize(r, 64<<10), max: max, problem: problem}
}

// copyTo passes messages to w until the stream ends or w fails.
func (f *frames) copyTo(w io.Writer) error {
	for {
		line, tail, err := f.line()
		if tail == nil && f.updated != nil {
			if uri := updatedURI(line); uri != "" && f.updated(uri) {
				line = nil
			}
		}
		var out []json.RawMessage
		var problem string
		if tail != nil {
			out, problem = oversized(line, tail, f.max)
		} else if out, problem = mendFrame(line); problem != "" {
			if f.junk {
				problem = ""
			}
			f.junk = true
		}
		if problem != "" {
			f.problem(problem)
		}
		for _, m := range out {
			if f.asked != nil && isRequest(m) && f.asked(m) {
				continue
			}
			if _, werr := w.Write(append(m, '\n')); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// isRequest reports whether m is a request. Most of a long answer is looked
// through once only.
func isRequest(m json.RawMessage) bool {
	if !bytes.Contains(m, []byte(`"method"`)) {
		return false
	}
	var f frame
	return json.Unmarshal(m, &f) == nil && f.Method != nil && !missing(f.ID)
}

// updatedURI returns the URI of a resources/updated; empty: the line is
// something else, or odd.
func updatedURI(line []byte) string {
	const method = "notifications/resources/updated"
	if len(line) > frameEdge || !bytes.Contains(line, []byte(method)) {
		return ""
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			URI string `json:"uri"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.ID != nil || m.Method != method {
		return ""
	}
	return m.Params.URI
}

// line reads one line without its end. It is valid until the next call. Of a
// line over f.max both edges come back, and the rest was thrown away; tail is
// nil for all others.
func (f *frames) line() (line, tail []byte, err error) {
	if cap(f.buf) > 1<<20 {
		f.buf = nil
	}
	f.buf = f.buf[:0]
	for {
		chunk, err := f.r.ReadSlice('\n')
		f.buf = append(f.buf, chunk...)
		if len(f.buf) > f.max {
			head := bytes.Clone(f.buf[:min(len(f.buf), frameEdge)])
			tail, err := f.discard(err)
			return head, tail, err
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(f.buf, "\r\n"), nil, err
		}
	}
}

// discard reads the rest of a line whose last read gave err, and returns its
// last bytes.
func (f *frames) discard(err error) ([]byte, error) {
	tail := bytes.Clone(f.buf[len(f.buf)-min(len(f.buf), frameEdge):])
	f.buf = nil
	for errors.Is(err, bufio.ErrBufferFull) {
		var chunk []byte
		chunk, err = f.r.ReadSlice('\n')
		tail = append(tail, chunk...)
		tail = append(tail[:0], tail[max(0, len(tail)-frameEdge):]...)
	}
	return bytes.TrimRight(tail, "\r\n"), err
}

// frame is the part of a JSON-RPC message that decides what it is.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// mendFrame returns the messages of one line, and what was wrong with it. It
// takes off a byte order mark, parts a batch, and finds a message that a
// banner without a line end stands before.
func mendFrame(line []byte) (out []json.RawMessage, problem string) {
	line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\ufeff")))
	if len(line) == 0 {
		return nil, ""
	}
	if line[0] == '[' {
		var batch []json.RawMessage
		if json.Unmarshal(line, &batch) == nil {
			for _, m := range batch {
				if m = mendMessage(m); m != nil {
					out = append(out, m)
				}
			}
			if out != nil {
				return out, ""
			}
		}
	}
	if m := mendMessage(line); m != nil {
		return []json.RawMessage{m}, ""
	}
	problem = "not an MCP message on stdout: " + quoteJunk(line)
	rest := line
	for range 16 {
		i := bytes.Index(rest[1:], []byte(`{"`))
		if i < 0 {
			break
		}
		rest = rest[1+i:]
		if m := mendMessage(rest); m != nil {
			return []json.RawMessage{m}, "not an MCP message on stdout: " + quoteJunk(line[:len(line)-len(rest)])
		}
	}
	return nil, problem
}

func quoteJunk(b []byte) string {
	const most = 200
	if len(b) > most {
		return strconv.Quote(string(b[:most])) + "…"
	}
	return strconv.Quote(string(b))
}

// mendMessage returns m as mcp-go can read it, or nil if it is no message.
func mendMessage(m json.RawMessage) json.RawMessage {
	if len(m) == 0 || m[0] != '{' {
		return nil
	}
	var f frame
	if json.Unmarshal(m, &f) != nil {
		return nil
	}
	var method string
	if f.Method != nil && json.Unmarshal(f.Method, &method) == nil && method != "" {
		return m
	}
	if missing(f.ID) || !strings.ContainsRune(`"-0123456789`, rune(f.ID[0])) {
		return nil // an answer to nothing
	}
	return mendResponse(m, f)
}

func mendResponse(m json.RawMessage, f frame) json.RawMessage {
	id := f.ID
	var s string
	if json.Unmarshal(id, &s) == nil {
		// Our ids are numbers; some servers give them back as strings.
		if _, err := strconv.ParseInt(s, 10, 64); err == nil {
			id = json.RawMessage(s)
		}
	}
	if missing(f.Error) {
		if !missing(f.Result) && len(id) == len(f.ID) {
			return m
		}
		if missing(f.Result) {
			f.Result = json.RawMessage("{}")
		}
		return respond(id, "result", f.Result)
	}
	var e struct {
		Code    int
		Message string
	}
	if json.Unmarshal(f.Error, &e) == nil && len(id) == len(f.ID) {
		return m
	}
	return respond(id, "error", lenientError(f.Error))
}

func missing(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// lenientError makes an error object of whatever a server put in its place.
func lenientError(raw json.RawMessage) json.RawMessage {
	var e struct {
		Code    maybe[float64]  `json:"code"`
		Message maybe[string]   `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	_ = json.Unmarshal(raw, &e)
	code := codeInternal
	if e.Code.ok {
		code = int(e.Code.v)
	}
	message := e.Message.v
	if message == "" {
		message = clip(string(raw), 500)
	}
	out, _ := json.Marshal(map[string]any{"code": code, "message": message, "data": e.Data})
	return out
}

func respond(id json.RawMessage, field string, value json.RawMessage) json.RawMessage {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%q:%s}`, id, field, value)
}

// tailID matches the id of a response whose last member it is, perhaps
// followed by the version.
var tailID = regexp.MustCompile(`[,{]\s*"id"\s*:\s*"?(\d+)"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// oversized answers in the server's place the request whose response was
// over max, if head or tail tell which one it was.
func oversized(head, tail []byte, max int) (out []json.RawMessage, problem string) {
	problem = fmt.Sprintf("a message of more than %d MiB was dropped", max>>20)
	id, request := headID(head)
	if id == "" && !request {
		if m := tailID.FindSubmatch(tail); m != nil {
			id = string(m[1])
		}
	}
	if id == "" {
		return nil, problem
	}
	e, _ := json.Marshal(map[string]any{"code": codeInternal, "message": tooLong(max)})
	return []json.RawMessage{respond(json.RawMessage(id), "error", e)}, problem
}

// tooLong words an answer over max bytes.
func tooLong(max int) string {
	return fmt.Sprintf("the server's answer was over %d MiB and was dropped: ask it for less at once, such as a part", max>>20)
}

// headID finds the number that is the id among the first members of a cut
// JSON object; request: it is no response, so the id is not ours.
func headID(head []byte) (id string, request bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return id, false
		}
		if key == "method" {
			return "", true
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return id, false
		}
		if key == "id" {
			s := string(bytes.Trim(v, `"`))
			if _, err := strconv.ParseInt(s, 10, 64); err == nil {
				id = s
			}
		}
	}
	return id, false
}
