package agent

import (
	"fmt"
	"testing"

	"agentls/mcp"
	"agentls/mcp/mcptest"
)

// BenchmarkToolset makes what one request offers of many tools: it is made anew
// before each model call.
func BenchmarkToolset(b *testing.B) {
	for _, servers := range []int{1, 25} {
		b.Run(fmt.Sprintf("%d tools", servers*200), func(b *testing.B) {
			a := &Agent{}
			var all []mcp.Tool
			for i := range servers {
				for _, t := range mcptest.ManyTools(200) {
					all = append(all, mcp.Tool{Server: fmt.Sprintf("server%d", i), Name: t.Name, Description: t.Description, Schema: t.Schema})
				}
			}
			of := &offering{}
			for b.Loop() {
				served := make([]*tool, 0, len(all))
				for _, t := range all {
					served = append(served, a.serverTool(t))
				}
				if set := choose(nil, served, wish{room: fewToolTokens, prompt: "archive the webhook secret of the customer", of: of}); len(set.specs) == 0 {
					b.Fatal("nothing is offered")
				}
			}
		})
	}
}
