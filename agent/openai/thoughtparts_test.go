package openai

import (
	"fmt"
	"strings"
	"testing"
)

// Parts without end cost neither memory nor time without end, and are not kept
// by halves.
func TestThoughtPartsAreBounded(t *testing.T) {
	for name, c := range map[string]struct{ parts, bytes int }{"long": {1200, 1000}, "many": {20_000, 0}} {
		var parts thoughtParts
		var list []string
		part := strings.Repeat("x", c.bytes)
		for i := range c.parts {
			list = append(list, fmt.Sprintf(`{"type":"reasoning.text","index":%d,"text":%q}`, i, part))
		}
		told := parts.take("reasoning_details", []byte("["+strings.Join(list, ",")+"]"))
		if len(told) != len(part)*len(list) {
			t.Errorf("%s: %d bytes are told", name, len(told))
		}
		if n := len(parts.parts); parts.size > maxThoughtParts+partCost+2*len(part)+100 || n > maxThoughtParts/partCost+1 || parts.whole() != nil {
			t.Errorf("%s: %d parts of %d bytes are kept", name, n, parts.size)
		}
	}
}
