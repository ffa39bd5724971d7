package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"agentls/agent"
)

// recorder is a network that answers for every host and notes what was asked.
type recorder struct {
	asked   []*http.Request
	answers func(r *http.Request) (status int, body string)
}

func (n *recorder) RoundTrip(r *http.Request) (*http.Response, error) {
	n.asked = append(n.asked, r)
	status, body := 200, wholeAnswer
	if n.answers != nil {
		status, body = n.answers(r)
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (n *recorder) llm(t *testing.T, o Options) *LLM {
	t.Helper()
	l, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	l.client.Transport = n
	return l
}

// What people write for Azure: the resource, its v1 API, a deployment's target
// URI as the portal shows it, and the resource with an api-version.
func TestAzure(t *testing.T) {
	const resource = "https://res.openai.azure.com"
	for base, want := range map[string]string{
		resource:                 "/openai/v1/chat/completions",
		resource + "/":           "/openai/v1/chat/completions",
		resource + "/openai":     "/openai/v1/chat/completions",
		resource + "/openai/v1/": "/openai/v1/chat/completions",
		resource + "/openai/v1?api-version=preview":                                                "/openai/v1/chat/completions?api-version=preview",
		resource + "?api-version=2024-06-01":                                                       "/openai/deployments/my-gpt/chat/completions?api-version=2024-06-01",
		resource + "/openai/?api-version=2025-01-01-preview":                                       "/openai/deployments/my-gpt/chat/completions?api-version=2025-01-01-preview",
		resource + "/openai/deployments/other":                                                     "/openai/deployments/other/chat/completions?api-version=" + azureVersion,
		resource + "/openai/deployments/other?api-version=2024-06-01":                              "/openai/deployments/other/chat/completions?api-version=2024-06-01",
		resource + "/openai/deployments/other/chat/completions?api-version=2024-06-01":             "/openai/deployments/other/chat/completions?api-version=2024-06-01",
		"https://RES.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview": "/models/chat/completions?api-version=2024-05-01-preview",
	} {
		n := &recorder{}
		l := n.llm(t, Options{BaseURL: base, Model: "my-gpt", APIKey: "azure-key-0123"})
		if _, err := l.Complete(t.Context(), prompt, nil); err != nil {
			t.Fatal(err)
		}
		r := n.asked[0]
		if got := r.URL.RequestURI(); got != want || r.Header.Get("api-key") != "azure-key-0123" || r.Header.Get("Authorization") != "" || readSent(t, r).Model != "my-gpt" {
			t.Errorf("%s: asked %s with %v, want %s", base, got, r.Header, want)
		}
	}
}

// A token of Entra ID is a header of the user's; a gateway before Azure takes
// the key where its preset says.
func TestKeyHeader(t *testing.T) {
	for name, c := range map[string]struct {
		o    Options
		want map[string]string
	}{
		"token":   {Options{BaseURL: "https://res.openai.azure.com", Headers: map[string]string{"Authorization": "Bearer eyJ"}}, map[string]string{"Authorization": "Bearer eyJ", "api-key": ""}},
		"gateway": {Options{BaseURL: "https://gateway.example/openai/v1", APIKey: "k", KeyHeader: "api-key"}, map[string]string{"Authorization": "", "api-key": "k"}},
		"others":  {Options{BaseURL: "https://api.example/v1", APIKey: "k"}, map[string]string{"Authorization": "Bearer k", "api-key": ""}},
		"no trap": {Options{BaseURL: "https://res.openai.azure.com.example/v1", APIKey: "k"}, map[string]string{"Authorization": "Bearer k", "api-key": ""}},
	} {
		n := &recorder{}
		c.o.Model = "m"
		if _, err := n.llm(t, c.o).Complete(t.Context(), prompt, nil); err != nil {
			t.Fatal(err)
		}
		for k, want := range c.want {
			if got := n.asked[0].Header.Get(k); got != want {
				t.Errorf("%s: %s %q, want %q", name, k, got, want)
			}
		}
	}
}

// Azure answers by the names of deployments, which the list of models has not.
func TestModelsOfAzure(t *testing.T) {
	const models = `{"data":[{"id":"gpt-4o-2024-08-06"}]}`
	for name, c := range map[string]struct {
		base        string
		deployments string // "": they are not told
		want, asked string
	}{
		"deployments": {"https://res.openai.azure.com/openai/v1", `{"data":[{"id":"my-gpt","model":"gpt-4o","status":"succeeded"}]}`, "my-gpt", "/openai/deployments?api-version=2022-12-01"},
		"v1 alone":    {"https://res.openai.azure.com/openai/v1", "", "gpt-4o-2024-08-06", "/openai/deployments?api-version=2022-12-01 /openai/v1/models"},
		"older alone": {"https://res.openai.azure.com/openai/deployments/d?api-version=2024-06-01", "", "gpt-4o-2024-08-06", "/openai/deployments?api-version=2022-12-01 /openai/models?api-version=2024-06-01"},
	} {
		n := &recorder{answers: func(r *http.Request) (int, string) {
			switch {
			case r.URL.Path != "/openai/deployments":
				return 200, models
			case c.deployments == "":
				return 404, `{"error":{"code":"404","message":"Resource not found"}}`
			}
			return 200, c.deployments
		}}
		names, err := n.llm(t, Options{BaseURL: c.base, APIKey: "k"}).Models(t.Context())
		var asked []string
		for _, r := range n.asked {
			asked = append(asked, r.URL.RequestURI())
		}
		if err != nil || strings.Join(names, " ") != c.want || strings.Join(asked, " ") != c.asked {
			t.Errorf("%s: %v of %v, %v", name, names, asked, err)
		}
	}
}

// An error of the last list counts: the first one is not everywhere.
func TestModelsOfAzureThatRefusesTheKey(t *testing.T) {
	n := &recorder{answers: func(*http.Request) (int, string) {
		return 401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}}`
	}}
	_, err := n.llm(t, Options{BaseURL: "https://res.openai.azure.com", APIKey: "k"}).Models(t.Context())
	if pe := providerError(t, err); pe.Kind != agent.KindAuth || !strings.Contains(pe.Message, "invalid subscription key") {
		t.Errorf("%s: %s", pe.Kind, pe.Message)
	}
}
