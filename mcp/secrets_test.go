package mcp

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

func TestSecretsInEverySpelling(t *testing.T) {
	const secret = "a\"b\\c+d&e/ü\nend"
	s := NewSecrets()
	s.Add(secret)
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "error", "it is "+secret)
	inJSON, _ := json.Marshal(map[string]string{"a": "it is " + secret})
	for _, text := range []string{
		"it is " + secret, log.String(), string(inJSON), "http://h/?x=" + url.QueryEscape(secret), "http://h/" + url.PathEscape(secret) + "/x",
	} {
		if got := s.Redact(text); !strings.Contains(got, Redacted) || strings.Contains(got, "end") {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

func TestSecretsInURLs(t *testing.T) {
	s := NewSecrets()
	for text, want := range map[string]string{
		`Get "https://h/v1?key=hunter2&x=1": refused`:      `Get "https://h/v1?key=[redacted]&x=1": refused`,
		"https://h/?x=1&access_token=hunter2#top":          "https://h/?x=1&access_token=[redacted]#top",
		"https://me:hunter2@h/p":                           "https://me:[redacted]@h/p",
		"mail a@b.c: see https://h/@scope/pkg?monkey":      "mail a@b.c: see https://h/@scope/pkg?monkey",
		"file:///w/token.go?line=3 and file://h:1/a@b.txt": "file:///w/token.go?line=3 and file://h:1/a@b.txt",
	} {
		if got := s.Redact(text); got != want {
			t.Errorf("%q gives %q", text, got)
		}
	}
}
