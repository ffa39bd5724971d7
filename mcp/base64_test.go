package mcp

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestBlobsAreReadInAnySpelling(t *testing.T) {
	t.Parallel()
	raw := []byte{0xfb, 0xff, 0xbf, 1, 2}
	want := base64.StdEncoding.EncodeToString(raw)
	for name, text := range map[string]string{
		"standard": want, "for URLs": base64.URLEncoding.EncodeToString(raw), "without padding": base64.RawStdEncoding.EncodeToString(raw),
		"for URLs without padding": base64.RawURLEncoding.EncodeToString(raw), "in lines": want[:4] + "\r\n" + want[4:] + " \n",
		"a data: URL": "data:image/png;charset=x;base64," + want, "too much padding": want + "==",
	} {
		if got := standardBase64(text); got != want {
			t.Errorf("%s: %q is %q", name, text, got)
		}
	}
	for _, junk := range []string{"", "A", "AAAAA", "%%%%", "é", "data:text/plain,abc", "AA=A", strings.Repeat("=", 7), "=AAA", "no base64"} {
		if got := standardBase64(junk); got != junk {
			t.Errorf("%q is %q", junk, got)
		}
	}
	if got := parseContents("u", []byte(`{"contents":[{"blob":"-_-_"}]}`)); got[0].Blob != "+/+/" {
		t.Errorf("%+v", got)
	}
	if got := parseContent([]byte(`{"type":"image","data":"QQ"}`)); got.Blob != "QQ==" {
		t.Errorf("%+v", got)
	}
}

// FuzzBase64 holds that what comes out decodes, or came in, and says the same
// as any spelling of it.
func FuzzBase64(f *testing.F) {
	for _, seed := range []string{"", "QQ", "QQ==", "-_-_", "a b\nc=", "data:;base64,QQ", "QR=="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := standardBase64(text)
		raw, err := base64.StdEncoding.DecodeString(got)
		if err != nil && got != text {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		if err == nil && standardBase64(base64.RawURLEncoding.EncodeToString(raw)) != base64.StdEncoding.EncodeToString(raw) {
			t.Fatalf("%q is not read in another spelling", text)
		}
	})
}
