package openai

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter reads how long a response asks to wait; 0: it does not.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
	}
	if t, err := http.ParseTime(v); err == nil {
		return seconds(t.Sub(now).Seconds())
	}
	return 0
}

// asksToWait are the ways in which providers say in words how long to wait:
// OpenAI and Groq ("try again in 1m2.5s"), Azure ("retry after 6 seconds"),
// Gemini ("retry in 34.07s").
//
//nolint:gochecknoglobals // compiled once, at its first use
var asksToWait = pattern(`(?:try again|retry|wait)\D{0,20}(?:((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)|(\d+(?:\.\d+)?) ?(second|sec|minute|min|hour|millisecond)s?)(?:[^a-z]|$)`)

// waitIn is how long a message in lower case asks to wait; 0: it does not.
func waitIn(text string) time.Duration {
	m := asksToWait().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	if d, err := time.ParseDuration(m[1]); err == nil {
		return seconds(d.Seconds())
	}
	n, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return 0
	}
	return seconds(n * map[string]float64{"millisecond": 0.001, "second": 1, "sec": 1, "minute": 60, "min": 60, "hour": 3600}[m[3]])
}

// waitField is how long a member of an error asks to wait.
func waitField(m map[string]any) time.Duration {
	for key, unit := range map[string]float64{"retry_after": 1, "retryAfter": 1, "retry_after_seconds": 1, "retry_after_ms": 0.001} {
		if n, ok := m[key].(float64); ok && n > 0 {
			return seconds(n * unit)
		}
	}
	// OpenRouter hands on the headers of the provider behind it.
	headers, _ := m["headers"].(map[string]any)
	for name, v := range headers {
		if ms, err := strconv.ParseInt(strings.TrimSpace(toText(v)), 10, 64); err == nil && strings.EqualFold(name, "X-RateLimit-Reset") {
			return seconds(time.Until(time.UnixMilli(ms)).Seconds())
		}
	}
	return 0
}

func toText(v any) string {
	s, _ := v.(string)
	return s
}
