package config

import (
	"cmp"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// KnownProvider is a provider that many people have: a preset of the
// configuration, and what discovery looks for.
type KnownProvider struct {
	Name         string   // its key in providers, and its name as a preset
	Title        string   // as people know it
	BaseURL      string   // of its OpenAI-compatible API; empty: each account has its own
	KeyVariables []string // where its key is looked for, in order; none: it runs here and wants none

	Aliases      []string          // other names that it goes by
	Hosts        []string          // where its key is at home besides; one that begins with a dot is what a host ends in
	BaseVariable string            // the environment variable that says where it is; may be empty
	KeyHeader    string            // the header that takes the key; empty: Authorization
	Headers      map[string]string // that it wants besides
	// Deployments: it is asked for models by names that people gave them there,
	// which its list may not have.
	Deployments bool
	// Reasons: it wants the reasoning before a tool call back with the call.
	Reasons bool
}

// Presets are all that are known: first the services, which are found by a key
// in the environment, then the programs that are found by the port on which
// they listen, on this machine alone.
func Presets() []KnownProvider {
	return []KnownProvider{
		{Name: openAI, Title: "OpenAI", BaseURL: "https://api.openai.com/v1", KeyVariables: []string{openAIKey}, Hosts: []string{"eu.api.openai.com", "us.api.openai.com"}, BaseVariable: openAIBase},
		{
			Name: "azure", Title: "Azure OpenAI", KeyVariables: []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY"}, Aliases: []string{"azure-openai", "azureopenai"},
			Hosts: []string{".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"}, BaseVariable: "AZURE_OPENAI_ENDPOINT", KeyHeader: "api-key", Deployments: true,
		},
		{Name: "openrouter", Title: "OpenRouter", BaseURL: "https://openrouter.ai/api/v1", KeyVariables: []string{"OPENROUTER_API_KEY"}, Headers: map[string]string{"X-Title": "agentls"}},
		{Name: "gemini", Title: "Gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", KeyVariables: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, Aliases: []string{"google"}},
		{Name: "deepseek", Title: "DeepSeek", BaseURL: "https://api.deepseek.com/v1", KeyVariables: []string{"DEEPSEEK_API_KEY"}, Reasons: true},
		{Name: "mistral", Title: "Mistral", BaseURL: "https://api.mistral.ai/v1", KeyVariables: []string{"MISTRAL_API_KEY"}},
		{Name: "groq", Title: "Groq", BaseURL: "https://api.groq.com/openai/v1", KeyVariables: []string{"GROQ_API_KEY"}},
		{Name: "xai", Title: "xAI", BaseURL: "https://api.x.ai/v1", KeyVariables: []string{"XAI_API_KEY"}, Aliases: []string{"grok"}},
		{
			Name: "kimi", Title: "Kimi", BaseURL: "https://api.moonshot.ai/v1", KeyVariables: []string{"MOONSHOT_API_KEY", "KIMI_API_KEY"}, Aliases: []string{"moonshot"},
			Hosts: []string{"api.moonshot.cn"}, Reasons: true,
		},
		{
			Name: "glm", Title: "GLM", BaseURL: "https://open.bigmodel.cn/api/paas/v4", KeyVariables: []string{"GLM_API_KEY", "ZHIPUAI_API_KEY", "ZHIPU_API_KEY"},
			Aliases: []string{"zhipu", "zhipuai", "bigmodel"}, Reasons: true,
		},
		{Name: "zai", Title: "Z.ai", BaseURL: "https://api.z.ai/api/paas/v4", KeyVariables: []string{"ZAI_API_KEY"}, Reasons: true},
		{
			Name: "qwen", Title: "Qwen", BaseURL: "https://dashscope.aliyuncs.com/compatible-mode/v1", KeyVariables: []string{"DASHSCOPE_API_KEY", "QWEN_API_KEY"},
			Aliases: []string{"dashscope", "tongyi"}, Hosts: []string{"dashscope-intl.aliyuncs.com", "dashscope-us.aliyuncs.com"},
		},
		{Name: "together", Title: "Together", BaseURL: "https://api.together.xyz/v1", KeyVariables: []string{"TOGETHER_API_KEY"}},
		{Name: "cerebras", Title: "Cerebras", BaseURL: "https://api.cerebras.ai/v1", KeyVariables: []string{"CEREBRAS_API_KEY"}},

		{Name: Ollama, Title: "Ollama", BaseURL: "http://127.0.0.1:11434/v1", BaseVariable: ollamaHost},
		{Name: "lmstudio", Title: "LM Studio", BaseURL: "http://127.0.0.1:1234/v1", Aliases: []string{"lm-studio"}},
		{Name: "llamacpp", Title: "llama.cpp", BaseURL: "http://127.0.0.1:8080/v1", Aliases: []string{"llama-cpp", "llama-server"}},
		{Name: "vllm", Title: "vLLM", BaseURL: "http://127.0.0.1:8000/v1"},
		{Name: "sglang", Title: "SGLang", BaseURL: "http://127.0.0.1:30000/v1"},
		{Name: "jan", Title: "Jan", BaseURL: "http://127.0.0.1:1337/v1"},
	}
}

// KnownProviders are the presets that are services.
func KnownProviders() []KnownProvider {
	return slices.DeleteFunc(Presets(), KnownProvider.here)
}

// LocalProviders are the presets that are programs on this machine.
func LocalProviders() []KnownProvider {
	return slices.DeleteFunc(Presets(), func(k KnownProvider) bool { return !k.here() })
}

func (k KnownProvider) here() bool { return len(k.KeyVariables) == 0 }

// goesBy reports whether people call it so.
func (k KnownProvider) goesBy(name string) bool {
	is := func(other string) bool { return strings.EqualFold(other, name) }
	return is(k.Name) || is(k.Title) || slices.ContainsFunc(k.Aliases, is)
}

// isAt reports whether its key may be sent to an address: that of its table, of
// its own variable, or of its other hosts.
func (k KnownProvider) isAt(base, own string) bool {
	if sameOrigin(base, k.BaseURL) || sameOrigin(base, own) {
		return true
	}
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return u.Scheme == "https" && slices.ContainsFunc(k.Hosts, func(h string) bool {
		return host == h || h[0] == '.' && strings.HasSuffix(host, h)
	})
}

// modelVariable is the environment variable that names its model.
func (k KnownProvider) modelVariable() string { return strings.ToUpper(k.Name) + "_MODEL" }

// openAI is the provider that its variables make of their own accord
// (CONTRACT §2).
const (
	openAI     = "openai"
	openAIKey  = "OPENAI_API_KEY"
	openAIBase = "OPENAI_BASE_URL"
)

// Ollama is the preset that says by a variable of its own where it listens, and
// that tells how it serves a model.
const (
	Ollama     = "ollama"
	ollamaHost = "OLLAMA_HOST"
)

// variable is an environment variable, "" where it is not set.
func (s Source) variable(name string) string {
	if s.Getenv == nil || name == "" {
		return ""
	}
	v, _ := s.Getenv(name)
	return v
}

// Key finds the key of a known provider in the environment.
func (s Source) Key(k KnownProvider) (variable, key string) {
	for _, name := range k.KeyVariables {
		if v := s.variable(name); v != "" {
			if s.Secrets != nil {
				s.Secrets.Add(v)
			}
			return name, v
		}
	}
	return "", ""
}

// Provider is a known provider as it would be configured, with a key or
// without.
func (s Source) Provider(k KnownProvider, key string) Provider {
	p := Provider{
		Name: k.Name, Preset: k.Name, BaseURL: k.BaseURL, APIKey: key, IdleTimeout: idleTimeout,
		KeyHeader: k.KeyHeader, Headers: maps.Clone(k.Headers), Deployments: k.Deployments, Reasons: k.Reasons,
	}
	own := s.variable(k.BaseVariable)
	if k.Name == Ollama {
		own = ollamaURL(own)
	}
	p.BaseURL = cmp.Or(own, p.BaseURL)
	return p
}

// ollamaURL is where Ollama serves by its own variable, [scheme://][host][:port],
// as far as that is on this machine; else "".
func ollamaURL(host string) string {
	if host == "" {
		return ""
	}
	if _, rest, ok := strings.Cut(host, "://"); ok {
		host = rest
	}
	name, port, err := net.SplitHostPort(strings.TrimRight(host, "/"))
	if err != nil {
		name, port = strings.TrimRight(host, "/"), "11434"
	}
	switch name {
	case "", "0.0.0.0", "::", "[::]", "localhost", "127.0.0.1":
		return "http://127.0.0.1:" + port + "/v1"
	}
	return ""
}
