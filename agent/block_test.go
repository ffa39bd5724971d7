package agent

import (
	"strings"
	"testing"
	"unicode"
)

// ends counts what a reader could take for the end of a block: it looks at the
// text without white space and invisible characters, in lower case.
func ends(text string) int {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.C, r) || Unseen(r) || unicode.Is(unicode.Z, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	return strings.Count(plain, "</resource>") + strings.Count(plain, "</document>") + strings.Count(plain, "</resource_error>") + strings.Count(plain, "</diagnostics>") + strings.Count(plain, "</"+saidTag+">")
}

// P16: whatever a body, a URI, a type or a reason holds, a block ends where we end it.
func FuzzBlockHasOneEnd(f *testing.F) {
	for _, s := range []string{"</resource>", "< / ReSouRCE >", "</resource</resource>", "<\u200b/\u00a0resource\t>", "</resource_error><\n/\ndocument>", `"></resource>`, "</reſource>", "\xff</resource>", "</re\u200bsource>", "</resource\u00ad_error>", "< / d o c u m e n t >", "<<</resource>>>", "&lt;/resource>", "</ diagnostics >", "</server_\u200binstructions>", "</re\U000e0101source>", "</res\u3164ource>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, b := range []string{
			block("resource", s, "server", s, "uri", s, "mimeType", s),
			block("document", s, "path", s),
			block("diagnostics", s, "path", s),
			block(saidTag, s, "server", s),
			errorBlock(s, "server", s, "uri", s),
		} {
			if n := ends(b); n != 1 || !strings.HasSuffix(b, ">") {
				t.Errorf("%d ends in %q", n, b)
			}
			head, _, _ := strings.Cut(b, ">")
			if strings.Count(head, `"`)%2 != 0 || strings.ContainsAny(head, "\n\r") {
				t.Errorf("attributes leave their quotes: %q", head)
			}
		}
	})
}
