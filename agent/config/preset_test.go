package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// shown is a provider as far as a preset fills it in.
func (p Provider) shown() string {
	var headers []string
	for _, k := range slices.Sorted(maps.Keys(p.Headers)) {
		headers = append(headers, k+"="+p.Headers[k])
	}
	return strings.Join(strings.Fields(fmt.Sprint(p.Name, " (", p.Preset, ") ", p.BaseURL, " ", p.APIKey, " ", p.KeyHeader, " ", p.Model, " ", strings.Join(headers, ","))), " ")
}

func keys() map[string]string {
	return map[string]string{
		"OPENAI_API_KEY": "sk-key-openai", "AZURE_OPENAI_API_KEY": "sk-key-azure", "DEEPSEEK_API_KEY": "sk-key-deepseek", "MOONSHOT_API_KEY": "sk-key-moonshot", "GLM_API_KEY": "sk-key-glm",
		"OPENROUTER_API_KEY": "sk-key-router", "DASHSCOPE_API_KEY": "sk-key-qwen", "AZURE_OPENAI_ENDPOINT": "https://res.openai.azure.com", "GROQ_MODEL": "llama-g", "GROQ_API_KEY": "sk-key-groq",
	}
}

// What an entry leaves out comes from its preset; what it says wins. A key of
// the environment goes to its own provider alone, unless a person sends it.
func TestPresets(t *testing.T) {
	for entry, want := range map[string]string{
		`"openai": {"model": "m"}`:     "openai (openai) https://api.openai.com/v1 sk-key-openai m",
		`"deepseek": {"model": "m"}`:   "deepseek (deepseek) https://api.deepseek.com/v1 sk-key-deepseek m",
		`"glm": {"model": "m"}`:        "glm (glm) https://open.bigmodel.cn/api/paas/v4 sk-key-glm m",
		`"qwen": {"model": "m"}`:       "qwen (qwen) https://dashscope.aliyuncs.com/compatible-mode/v1 sk-key-qwen m",
		`"kimi": {"model": "m"}`:       "kimi (kimi) https://api.moonshot.ai/v1 sk-key-moonshot m",
		`"moonshot": {"model": "m"}`:   "moonshot (kimi) https://api.moonshot.ai/v1 sk-key-moonshot m",
		`"openrouter": {"model": "m"}`: "openrouter (openrouter) https://openrouter.ai/api/v1 sk-key-router m X-Title=agentls",
		`"azure": {"model": "m"}`:      "azure (azure) https://res.openai.azure.com sk-key-azure api-key m",
		`"ollama": {"model": "m"}`:     "ollama (ollama) http://127.0.0.1:11434/v1 m",
		`"lmstudio": {"model": "m"}`:   "lmstudio (lmstudio) http://127.0.0.1:1234/v1 m",
		`"llamacpp": {"model": "m"}`:   "llamacpp (llamacpp) http://127.0.0.1:8080/v1 m",
		`"vllm": {"model": "m"}`:       "vllm (vllm) http://127.0.0.1:8000/v1 m",
		`"groq": {}`:                   "groq (groq) https://api.groq.com/openai/v1 sk-key-groq llama-g",
		`"w": {"preset": "deepseek"}`:  "w (deepseek) https://api.deepseek.com/v1 sk-key-deepseek",
		`"w": {"preset": "ollama", "baseURL": "http://gpu.example:11434/v1"}`:                  "w (ollama) http://gpu.example:11434/v1",
		`"ollama": {"baseURL": "http://gpu.example:11434/v1"}`:                                 "ollama (ollama) http://gpu.example:11434/v1",
		`"deepseek": {"apiKey": "own", "baseURL": "https://api.deepseek.com/beta"}`:            "deepseek (deepseek) https://api.deepseek.com/beta own",
		`"deepseek": {"baseURL": "https://api.deepseek.com/beta"}`:                             "deepseek (deepseek) https://api.deepseek.com/beta sk-key-deepseek",
		`"deepseek": {"baseURL": "https://API.deepseek.com:443/v1"}`:                           "deepseek (deepseek) https://API.deepseek.com:443/v1 sk-key-deepseek",
		`"kimi": {"baseURL": "https://api.moonshot.cn/v1"}`:                                    "kimi (kimi) https://api.moonshot.cn/v1 sk-key-moonshot",
		`"azure": {"baseURL": "https://other.openai.azure.com/openai/v1"}`:                     "azure (azure) https://other.openai.azure.com/openai/v1 sk-key-azure api-key",
		`"azure": {"headers": {"authorization": "Bearer t"}}`:                                  "azure (azure) https://res.openai.azure.com api-key authorization=Bearer t",
		`"openrouter": {"headers": {"x-title": "mine", "HTTP-Referer": "https://me.example"}}`: "openrouter (openrouter) https://openrouter.ai/api/v1 sk-key-router HTTP-Referer=https://me.example,x-title=mine",
		// Elsewhere: a name is only a name, and the key stays at home.
		`"openai": {"baseURL": "http://127.0.0.1:4000/v1"}`:                      "openai () http://127.0.0.1:4000/v1",
		`"openai": {"baseURL": "http://api.openai.com/v1"}`:                      "openai () http://api.openai.com/v1",
		`"azure": {"baseURL": "https://res.openai.azure.com.evil.example/v1"}`:   "azure () https://res.openai.azure.com.evil.example/v1",
		`"kimi": {"baseURL": "http://api.moonshot.cn/v1"}`:                       "kimi () http://api.moonshot.cn/v1",
		`"deepseek": {"baseURL": "https://api.deepseek.com@evil.example/v1"}`:    "deepseek () https://api.deepseek.com@evil.example/v1",
		`"w": {"baseURL": "https://api.deepseek.com/v1"}`:                        "w () https://api.deepseek.com/v1",
		`"w": {"preset": "openai", "baseURL": "https://gateway.example/openai"}`: "w (openai) https://gateway.example/openai sk-key-openai",
	} {
		w := newWorld(t)
		w.env = keys()
		w.user(`{"providers": {` + entry + `}}`)
		c := w.load()
		name := c.Provider.Name
		if got := c.Providers[name].shown(); got != want {
			t.Errorf("%s\n got %s\nwant %s", entry, got, want)
		}
		problems(t, c)
		if key := c.Providers[name].APIKey; strings.HasPrefix(key, "sk-key") && w.source.Secrets.Redact(key) == key {
			t.Errorf("%s: the key is no secret", entry)
		}
	}
}

// The variables that presets read are kept from MCP servers as those that
// entries name are.
func TestKeysOfPresetsAreWithheld(t *testing.T) {
	w := newWorld(t)
	w.env = keys()
	w.user(`{"provider": "deepseek", "providers": {"kimi": {"model": "m"}}, "mcpServers": {"s": {"command": "x", "inheritEnv": true}}}`)
	if got := server(t, w.load(), "s").Withheld; !slices.Equal(got, []string{"DEEPSEEK_API_KEY", "MOONSHOT_API_KEY"}) {
		t.Errorf("withheld %q", got)
	}
}

func TestUnknownPreset(t *testing.T) {
	for name, says := range map[string]string{
		"deepsek": `no preset is called "deepsek"; did you mean deepseek?`, "moonshot": `did you mean "kimi"?`, "Ollama": `did you mean "ollama"?`,
		"something else": `; there are openai, azure, `, "": `no preset is called ""; there are`,
	} {
		w := newWorld(t)
		w.user(fmt.Sprintf("{\"providers\": {\"w\": {\n\"preset\": %q, \"model\": \"m\"}}}", name))
		c := w.load()
		problems(t, c, says)
		if p := c.Problems[0]; p.Line != 2 || p.Path != "providers.w.preset" {
			t.Errorf("%+v", p)
		}
		if !strings.Contains(c.Provider.Err, "has no baseURL") {
			t.Errorf("%+v", c.Provider)
		}
	}
}

// What a preset lacks is said by the names that mend it.
func TestPresetThatLacksSomething(t *testing.T) {
	for text, says := range map[string]string{
		`{"provider": "deepseek"}`:                               "set DEEPSEEK_API_KEY where agentls starts, or providers.deepseek.apiKey",
		`{"providers": {"w": {"preset": "kimi", "model": "m"}}}`: `the provider "w" has no key; set MOONSHOT_API_KEY`,
		`{"provider": "azure"}`:                                  "set providers.azure.baseURL to the address of your resource, or AZURE_OPENAI_ENDPOINT in the environment",
		`{"provider": "ollama"}`:                                 `the provider "ollama" has no model; choose one with agentls.setup`,
		`{"provider": "olama"}`:                                  `the provider "olama" is not configured; known are "offline", and the presets "openai",`,
		`{"providers": {"openai": {"apiKey": "${NOT_SET:-}"}}}`:  "set OPENAI_API_KEY",
		`{"providers": {"openai": {"apiKey": "${NOT_SET}"}}}`:    "the variable NOT_SET is not set",
		`{"providers": {"a": {}, "b": {}}}`:                      "several providers are configured",
		`{"provider": "openai", "providers": {"openai": {"headers": {"Authorization": "Bearer x"}}}}`: `the provider "openai" has no model`,
	} {
		w := newWorld(t)
		w.user(text)
		if c := w.load(); !strings.Contains(c.Provider.Err, says) {
			t.Errorf("%s: %q does not say %q", text, c.Provider.Err, says)
		}
	}
}

// A preset can be chosen by its name where nothing is configured of it, by the
// configuration and at run time.
func TestPresetIsChosenByItsName(t *testing.T) {
	w := newWorld(t)
	w.env = keys()
	w.env["DEEPSEEK_MODEL"] = "deepseek-chat"
	w.user(`{"provider": "deepseek"}`)
	c := w.load()
	problems(t, c)
	if got, want := c.Provider.shown(), "deepseek (deepseek) https://api.deepseek.com/v1 sk-key-deepseek deepseek-chat"; got != want || c.Provider.Err != "" || c.Unset {
		t.Errorf("%s (%s), want %s", got, c.Provider.Err, want)
	}
	if got, want := strings.Join(c.ProviderNames(), " "), "azure deepseek glm groq kimi openai openrouter qwen offline"; got != want {
		t.Errorf("can be chosen: %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"kimi": "kimi (kimi) https://api.moonshot.ai/v1 sk-key-moonshot m", "Moonshot": "kimi (kimi) https://api.moonshot.ai/v1 sk-key-moonshot m",
		"ollama": "ollama (ollama) http://127.0.0.1:11434/v1 m",
	} {
		if p, ok := c.Use(name, "m"); !ok || p.Err != "" || p.shown() != want {
			t.Errorf("%s: %s (%s), %v", name, p.shown(), p.Err, ok)
		}
	}
	if p, ok := c.Use("mistral", "m"); !ok || !strings.Contains(p.Err, "set MISTRAL_API_KEY") {
		t.Errorf("%+v, %v", p, ok)
	}
	if _, ok := c.Use("nobody", "m"); ok {
		t.Error("nobody was found")
	}
	// Nothing is chosen: the environment alone makes OpenAI answer, and no other.
	w.user(`{}`)
	if c := w.load(); c.Provider.Name != "openai" || len(c.Providers) != 1 {
		t.Errorf("%+v", c.Provider)
	}
	delete(w.env, "OPENAI_API_KEY")
	if c := w.load(); c.Provider.Name != Offline || !c.Unset || len(c.Providers) != 0 {
		t.Errorf("%+v", c.Provider)
	}
}
