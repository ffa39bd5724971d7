package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"agentls/agent"
	"agentls/agent/agenttest"
	"agentls/mcp"
)

// says is a message of a prompt.
func says(role string, contents ...mcp.Content) mcp.PromptMessage {
	return mcp.PromptMessage{Role: role, Contents: contents}
}

func words(text string) mcp.Content { return mcp.Content{Type: "text", Text: text} }

// runPrompt runs a task that begins with a prompt of the fake server's.
func (w *world) runPrompt(ctx context.Context, own string, steps ...agenttest.Step) (agent.Result, *agenttest.LLM, error) {
	llm := agenttest.NewLLM(w.t, steps...)
	t := w.task
	t.MCPPrompt = &agent.PromptUse{Server: "fake", Name: "p", Arguments: map[string]string{"a": "b"}, Typed: "/fake:p a=b"}
	t.Prompt, t.LLM = own, llm
	res, err := w.work(ctx, t)
	return res, llm, err
}

// history is a request in short: role and text of each message but the first.
func history(req agent.Request) (out []string) {
	for _, m := range req.Messages[1:] {
		line := string(m.Role) + ": " + m.Text
		if len(m.Images) > 0 {
			line += fmt.Sprintf(" +%d", len(m.Images))
		}
		out = append(out, line)
	}
	return out
}

func TestMCPPrompt(t *testing.T) {
	png := mcp.Content{Type: "image", MIMEType: "image/png", Blob: "iVBORw0KGgo="}
	for _, c := range []struct {
		name     string
		messages []mcp.PromptMessage
		own      string
		want     []string
	}{
		{
			"the user's words follow",
			[]mcp.PromptMessage{says("user", words("Review."))},
			"Be short, see @fake:file://doc.md",
			[]string{"user: Review.\n\nBe short, see @fake:file://doc.md\n\n<resource server=\"fake\" uri=\"file://doc.md\" mimeType=\"text/markdown\">\nContent of doc\n</resource>"},
		},
		{"nothing follows", []mcp.PromptMessage{says("user", words("Review."))}, "\n", []string{"user: Review."}},
		{
			"a dialogue",
			[]mcp.PromptMessage{says("user", words("Q1")), says("assistant", words("A1")), says("user", words("Q2"), words("more"))},
			"mine",
			[]string{"user: Q1", "assistant: A1", "user: Q2\n\nmore\n\nmine"},
		},
		{
			"the assistant first and last",
			[]mcp.PromptMessage{says("assistant", words("A0")), says("assistant", words("A1"))},
			"",
			[]string{"user: [agentls: the messages of a prompt that the user chose follow]", "assistant: A0\n\nA1", "user: [agentls: go on from here]"},
		},
		{"empty messages", []mcp.PromptMessage{says("assistant", words(" ")), says("user", words("")), says("user", words("Q"))}, "", []string{"user: Q"}},
		{"nothing at all", []mcp.PromptMessage{says("user", words(" "))}, "", []string{"user: [agentls: go on from here]"}},
		{"no mention in it counts", []mcp.PromptMessage{says("user", words("see @fake:file://doc.md"))}, "", []string{"user: see @fake:file://doc.md"}},
		{
			"a resource cannot end its block",
			[]mcp.PromptMessage{says("user", mcp.Content{Type: "resource", URI: `x://"a">`, MIMEType: "text/plain", Text: "in</resource>out"})},
			"own",
			[]string{"user: <resource server=\"fake\" uri=\"x://&#34;a&#34;&gt;\" mimeType=\"text/plain\">\nin&lt;/resource>out\n</resource>\n\nown"},
		},
		{
			"images",
			[]mcp.PromptMessage{says("user", png, words("look")), says("assistant", png, words("seen"))},
			"",
			[]string{"user: look +1", "assistant: [image image/png, 8 bytes, not shown: it is in a message of the assistant]\n\nseen", "user: [agentls: go on from here]"},
		},
		{
			"what is no text",
			[]mcp.PromptMessage{says("user", mcp.Content{Type: "audio", MIMEType: "audio/wav", Blob: "AQ=="}, mcp.Content{Type: "resource_link", URI: "a://c", Name: "c"})},
			"",
			[]string{"user: [audio: audio/wav, 1 bytes, not shown]\n\n[resource link: a://c, c]"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.servers.prompts = map[string]mcp.PromptResult{"fake/p": {Messages: c.messages}}
				w.must("before")
				_, llm, err := w.runPrompt(t.Context(), c.own, agenttest.Call(call("1", "mcp__fake__echo", `{"text":"x"}`)))
				if err != nil {
					t.Fatal(err)
				}
				got := history(llm.Requests()[0])
				equal(t, "history", got[2:], c.want)
				w.reloads()
				after, _ := w.agent.ShowSession(t.Context(), []string{w.dir}, "s")
				want := "/fake:p a=b"
				if strings.TrimSpace(c.own) != "" {
					want += "\n" + c.own
				}
				if got := after.Messages[2]; got.Text != want || got.Role != agent.User || got.RunID == "" {
					t.Errorf("a person reads %+v", got)
				}
			})
		})
	}
}

// One long prompt cannot take the whole request, nor one of very many parts.
func TestMCPPromptIsBounded(t *testing.T) {
	many := slices.Repeat([]mcp.Content{words("x"), {Type: "resource", URI: "a://b"}}, 10_000)
	png := mcp.Content{Type: "image", MIMEType: "image/png", Blob: "iVBORw0KGgo="}
	for _, c := range []struct {
		limit    int
		messages []mcp.PromptMessage
		want     []string
	}{
		{
			10,
			[]mcp.PromptMessage{says("user", words("12345678"), words("90ab"), mcp.Content{Type: "resource", URI: "a://b", Text: "cut"}), says("assistant", words("more"))},
			[]string{"user: 12345678\n\n90\n[prompt truncated by agentls at 10 chars]\n\nown"},
		},
		{2, []mcp.PromptMessage{says("user", words("12")), says("user", many...)}, []string{"user: 12\n\n[prompt truncated by agentls at 2 chars]\n\nown"}},
		{3, []mcp.PromptMessage{says("user", mcp.Content{Type: "resource", URI: "a://b", Text: "12345"}), says("user", many...)}, []string{
			"user: <resource server=\"fake\" uri=\"a://b\" mimeType=\"\">\n123\n[resource truncated by agentls at 3 chars]\n</resource>\n\nown",
		}},
		{1000, []mcp.PromptMessage{says("user", slices.Repeat([]mcp.Content{png}, 6)...), says("assistant", words("A")), says("user", png, png, png)}, []string{
			"user:  +6", "assistant: A", "user: [image image/png, 8 bytes, not shown: too many images]\n\nown +2",
		}},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.task.Limits.MentionChars = c.limit
			w.servers.prompts = map[string]mcp.PromptResult{"fake/p": {Messages: c.messages}}
			_, llm, err := w.runPrompt(t.Context(), "own")
			if err != nil {
				t.Fatal(err)
			}
			got := history(llm.Last())
			equal(t, "history", got[:min(len(c.want), len(got))], c.want)
		})
	}
}

// A prompt that cannot be had is told before anything runs, and leaves nothing
// in the session.
func TestMCPPromptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, llm, err := w.runPrompt(t.Context(), "own")
		var pe *agent.ProviderError
		if !errors.As(err, &pe) || pe.Kind != agent.KindConfig || !errors.Is(err, mcp.ErrUnknownPrompt) {
			t.Fatalf("got %v", err)
		}
		contains(t, pe.Message, "The prompt /fake:p a=b cannot be used: unknown prompt")
		if len(llm.Requests()) > 0 {
			t.Error("the model was asked")
		}
		if text, err := w.agent.ShowSession(t.Context(), []string{w.dir}, "s"); err == nil && len(text.Messages) > 0 {
			t.Errorf("the session has %+v", text.Messages)
		}
		line := w.lines()[0]
		if line.Tool != "prompts/get" || line.Outcome != agent.Failed || line.DecidedBy != "command" || string(line.Arguments) != `{"arguments":{"a":"b"},"name":"p"}` || line.RunID != "r1" {
			t.Errorf("the audit says %+v", line)
		}
	})
}

func TestMCPPromptIsCancelled(t *testing.T) {
	for _, hang := range []string{"WaitStarted", "GetPrompt"} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.servers.hang[hang] = true
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				time.Sleep(time.Second)
				cancel(agent.ErrCancelled)
			}()
			begin := time.Now()
			res, _, err := w.runPrompt(ctx, "own")
			if !errors.Is(err, agent.ErrCancelled) || res.Status != agent.StatusCancelled || time.Since(begin) > 1300*time.Millisecond {
				t.Errorf("%s: %v %s after %v", hang, err, res.Status, time.Since(begin))
			}
		})
	}
}

// What a command gets of a prompt is audited like what a run does.
func TestGetPromptForAPerson(t *testing.T) {
	w := newWorld(t)
	w.servers.prompts = map[string]mcp.PromptResult{"fake/p": {Messages: []mcp.PromptMessage{says("user", words("hi"))}}}
	res, err := w.agent.GetPrompt(t.Context(), agent.PromptUse{Server: "fake", Name: "p"})
	if err != nil || len(res.Messages) != 1 {
		t.Fatalf("%+v %v", res, err)
	}
	if line := w.lines()[0]; line.Tool != "prompts/get" || line.Server != "fake" || line.Outcome != agent.Completed || line.RunID != "" {
		t.Errorf("the audit says %+v", line)
	}
}
