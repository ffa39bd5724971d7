package lsp

import (
	"testing"

	"agentls/agent/agenttest"
	"agentls/lsp/lsptest"
)

// What the next run uses is told when it is known, and whenever it is another
// one; not when it is chosen once more.
func TestModelInForceIsTold(t *testing.T) {
	provider := func(model string) obj { return obj{"baseURL": "http://127.0.0.1:1/v1", "model": model} }
	w := newWorld(t, setup{
		llm: agenttest.NewLLM(t), init: lsptest.Init{Features: []string{"model"}},
		options: obj{"provider": "a", "providers": obj{"a": provider("a1"), "b": provider("b1"), "none": obj{"baseURL": "http://127.0.0.1:1/v1"}}},
	})
	check := func(n int, want modelNews) {
		t.Helper()
		if got := decodeAs[modelNews](t, w.AwaitNotification("agentls/didChangeModel", n)); got != want {
			t.Errorf("%d: %+v, want %+v", n, got, want)
		}
	}
	check(1, modelNews{Provider: "a", Model: "a1"})
	for range 2 {
		commandAs[modelInfo](w, "agentls.model", obj{"provider": "b", "choices": false})
	}
	check(2, modelNews{Provider: "b", Model: "b1"})
	commandAs[modelInfo](w, "agentls.model", obj{"provider": "offline", "choices": false})
	check(3, modelNews{Provider: "offline"})
	w.Notify("workspace/didChangeConfiguration", obj{"settings": obj{"agentls": obj{"provider": "none"}}})
	got := decodeAs[modelNews](t, w.AwaitNotification("agentls/didChangeModel", 4))
	if got.Provider != "none" || got.Error == "" {
		t.Errorf("a provider that cannot be used: %+v", got)
	}
	if n := len(w.Notifications("agentls/didChangeModel")); n != 4 {
		t.Errorf("told %d times", n)
	}
}
