package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"agentls/agent"
)

// modelsTimeout bounds the asking for a list.
const modelsTimeout = 15 * time.Second

// Models lists what the provider offers (GET /models): the newest first where
// it tells, else by name, and last what writes no text. Lists in the shapes of
// OpenAI, Ollama and Together are read; entries without a name are passed over.
// Azure is asked for its deployments first, by whose names it answers.
// It is not tried again. Errors are as of Complete, but a deadline
// of ctx is a [*agent.ProviderError] like any other silence.
func (l *LLM) Models(ctx context.Context) (names []string, err error) {
	for _, at := range l.lists() {
		if names, err = l.listed(ctx, at); err == nil || ctx.Err() != nil {
			break
		}
	}
	return names, err
}

// lists are the URLs where models are listed, the best first.
func (l *LLM) lists() []string {
	if isAzure(l.url) {
		return azureLists(l.url)
	}
	return []string{l.endpoint("/models")}
}

func (l *LLM) listed(ctx context.Context, at string) ([]string, error) {
	tctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(tctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, l.failures.config("the provider's baseURL %s cannot be used (%v): give something like http://127.0.0.1:11434/v1", l.failures.base, err)
	}
	req.Header.Set("Accept", "application/json")
	l.header(req.Header)
	id := newIdle(min(l.o.IdleTimeout, modelsTimeout), cancel)
	resp, err := l.do(req, id)
	if err != nil {
		return nil, l.unlisted(ctx, tctx, err)
	}
	if resp.StatusCode >= 300 {
		return nil, l.failures.status(resp.StatusCode, l.readError(resp, id))
	}
	data, err := io.ReadAll(&idleReader{r: resp.Body, idle: id, left: int64(l.limits.event)})
	_ = resp.Body.Close()
	switch names, ok := modelNames(data); {
	case err != nil:
		return nil, l.unlisted(ctx, tctx, err)
	case !ok:
		return nil, l.failures.garbage(resp, "no list of models", data)
	default:
		return names, nil
	}
}

// unlisted is why no list came.
func (l *LLM) unlisted(ctx, tctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return l.failures.unreachable(tctx, err)
}

// nearestTime bounds the asking for a list that is only to help.
const nearestTime = 3 * time.Second

// nearestModel adds to an error about a model that is not there those that
// were perhaps meant. One that is listed is refused for another reason.
func (l *LLM) nearestModel(ctx context.Context, said string, err error) error {
	ctx, cancel := context.WithTimeout(ctx, nearestTime)
	defer cancel()
	names, e := l.Models(ctx)
	if e != nil || len(names) == 0 {
		return err
	}
	if slices.Contains(names, l.o.Model) {
		return l.failures.refusedRequest(said)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return len(name) > maxModelName })
	return l.failures.unknownModel(said, strings.TrimSuffix(agent.Suggest(l.o.Model, names), "?"))
}

// maxModelName is how long a name is that is looked at, in bytes.
const maxModelName = 200

// modelNames reads a list of models; ok is false when data is none.
func modelNames(data []byte) (names []string, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil {
		var o struct {
			Data   []json.RawMessage `json:"data"`
			Models []json.RawMessage `json:"models"`
		}
		if json.Unmarshal(data, &o) != nil || o.Data == nil && o.Models == nil {
			return nil, false
		}
		list = o.Data
		if len(list) == 0 {
			list = o.Models
		}
	}
	created := map[string]float64{}
	for _, raw := range list {
		var m struct{ ID, Name, Model, Created json.RawMessage }
		name := text(raw)
		if name == "" && json.Unmarshal(raw, &m) == nil {
			for _, f := range []json.RawMessage{m.ID, m.Model, m.Name} {
				if name == "" {
					name = text(f)
				}
			}
		}
		if _, again := created[name]; name != "" && !again {
			var at float64
			_ = json.Unmarshal(m.Created, &at) // absent, a date: no order by it
			created[name] = at
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(compare(writesNoText(a), writesNoText(b)), cmp.Compare(created[b], created[a]), cmp.Compare(a, b))
	})
	return names, true
}

// silent matches the names of models that write no text: providers list all
// that they have under one address.
//
//nolint:gochecknoglobals // compiled once, at its first use
var silent = pattern(`embed|whisper|\btts\b|-tts|dall-e|moderation|rerank|transcribe|realtime|\bsora\b|-image\b|image-|speech|\bbge-|babbage|davinci`)

func writesNoText(name string) bool { return silent().MatchString(strings.ToLower(name)) }

// compare puts what is not before what is.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
