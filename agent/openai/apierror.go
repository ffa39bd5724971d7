package openai

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// apiError is what a provider says went wrong, whatever the shape it came in.
type apiError struct {
	Message string
	Code    string // code and type, such as "context_length_exceeded invalid_request_error"
	Status  int    // an HTTP status that the error itself names; 0: none
	Wait    time.Duration
	Daily   bool // a limit of the day, whatever wait is told with it
	Window  int  // the context window that a field of the error tells (llama.cpp); 0: none
}

// text is everything that may classify the error, in lower case.
func (e *apiError) text() string { return strings.ToLower(e.Message + " " + e.Code) }

// words is what is shown: the message, else the code.
func (e *apiError) words() string {
	if e.Message != "" {
		return e.Message
	}
	return e.Code
}

// retryDelay is where Gemini says how long to wait.
//
//nolint:gochecknoglobals // compiled once, at its first use
var retryDelay = pattern(`"retryDelay"\s*:\s*"([0-9.]{1,12})s"`)

// perDay is how Gemini names a limit of the day, which it tells to wait for
// some seconds for.
//
//nolint:gochecknoglobals // compiled once, at its first use
var perDay = pattern(`"quotaId"\s*:\s*"[A-Za-z]*PerDay`)

// parseAPIError reads an error of OpenAI ({"error":{message,type,code}}),
// {"error":"text"}, vLLM (flat), FastAPI ({"detail":…}), Gemini (in a list),
// Cloudflare ({"errors":[…]}), Anthropic ({"type":"error","error":{…}}), or
// plain text.
func parseAPIError(data []byte) *apiError {
	e := &apiError{}
	var v any
	if json.Unmarshal(data, &v) == nil {
		e.read(v, 0)
	} else {
		e.Message = visibleText(string(data))
	}
	e.Message, e.Code = strings.TrimSpace(e.Message), strings.TrimSpace(e.Code)
	if m := retryDelay().FindSubmatch(data); m != nil {
		if s, err := strconv.ParseFloat(string(m[1]), 64); err == nil {
			e.Wait = seconds(s)
		}
	}
	if e.Wait == 0 {
		e.Wait = waitIn(e.text())
	}
	e.Daily = perDay().Match(data)
	return e
}

// maxErrorDepth bounds how deep an error is looked for.
const maxErrorDepth = 5

func (e *apiError) read(v any, depth int) {
	if depth > maxErrorDepth {
		return
	}
	switch v := v.(type) {
	case string:
		e.add(v)
	case []any:
		for _, x := range v[:min(len(v), 3)] {
			e.read(x, depth+1)
		}
	case map[string]any:
		e.readObject(v, depth)
	}
}

func (e *apiError) readObject(m map[string]any, depth int) {
	for _, key := range []string{"error", "errors", "detail", "message", "msg", "error_description"} {
		if x, ok := m[key]; ok && x != nil {
			e.read(x, depth+1)
		}
	}
	if loc, ok := m["loc"].([]any); ok { // FastAPI: the field that is wrong
		e.add(strings.Trim(fmt.Sprint(loc...), "[]"))
	}
	for _, key := range []string{"code", "type", "status"} {
		switch x := m[key].(type) {
		case string:
			if x != "error" {
				e.Code += " " + x
			}
		case float64:
			if x >= 400 && x < 600 {
				e.Status = int(x)
			}
		}
	}
	if n, ok := m["n_ctx"].(float64); ok && n > 0 && n < 1<<31 {
		e.Window = int(n)
	}
	if w := waitField(m); w > 0 {
		e.Wait = w
	}
	if meta, ok := m["metadata"].(map[string]any); ok { // OpenRouter: what the provider behind it said
		if w := waitField(meta); w > 0 {
			e.Wait = w
		}
		if raw, ok := meta["raw"].(string); ok {
			e.add(parseAPIError([]byte(raw)).words())
		}
	}
}

func (e *apiError) add(s string) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Contains(e.Message, s) {
		return
	}
	if e.Message != "" {
		e.Message += ": "
	}
	e.Message += s
}

//nolint:gochecknoglobals // compiled once, at its first use
var (
	invisible = pattern(`(?is)<(script|style|head)\b.*?</(script|style|head)>`)
	title     = pattern(`(?is)<title[^>]*>(.*?)</title>`)
	tag       = pattern(`(?s)<[^>]*>`)
)

// visibleText is what a person would read of a page: its title, else its text.
func visibleText(s string) string {
	if !strings.HasPrefix(strings.TrimSpace(s), "<") {
		return s
	}
	if m := title().FindStringSubmatch(s); m != nil && strings.TrimSpace(m[1]) != "" {
		return strings.TrimSpace(m[1])
	}
	return strings.Join(strings.Fields(tag().ReplaceAllString(invisible().ReplaceAllString(s, " "), " ")), " ")
}

// seconds is a duration of s seconds, a day at most.
func seconds(s float64) time.Duration {
	return time.Duration(max(0, min(s, 86400)) * float64(time.Second))
}
