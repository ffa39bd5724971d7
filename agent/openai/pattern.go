package openai

import (
	"regexp"
	"sync"
)

// pattern compiles an expression at its first use: all of them together take
// a good part of the time until initialize is answered.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
