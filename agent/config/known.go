package config

// KnownProvider is a provider that many people have.
type KnownProvider struct {
	Name         string   // its key in providers
	Title        string   // as people know it
	BaseURL      string   // of its OpenAI-compatible API
	KeyVariables []string // where its key is looked for, in order; none: it runs here and wants none
}

// KnownProviders are the services that are found by a key in the environment.
func KnownProviders() []KnownProvider {
	return []KnownProvider{
		{openAI, "OpenAI", "https://api.openai.com/v1", []string{openAIKey}},
		{"openrouter", "OpenRouter", "https://openrouter.ai/api/v1", []string{"OPENROUTER_API_KEY"}},
		{"gemini", "Gemini", "https://generativelanguage.googleapis.com/v1beta/openai", []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}},
		{"deepseek", "DeepSeek", "https://api.deepseek.com/v1", []string{"DEEPSEEK_API_KEY"}},
		{"mistral", "Mistral", "https://api.mistral.ai/v1", []string{"MISTRAL_API_KEY"}},
		{"groq", "Groq", "https://api.groq.com/openai/v1", []string{"GROQ_API_KEY"}},
		{"xai", "xAI", "https://api.x.ai/v1", []string{"XAI_API_KEY"}},
		{"moonshot", "Moonshot", "https://api.moonshot.ai/v1", []string{"MOONSHOT_API_KEY"}},
		{"glm", "GLM", "https://open.bigmodel.cn/api/paas/v4", []string{"GLM_API_KEY", "ZHIPUAI_API_KEY", "ZHIPU_API_KEY"}},
		{"zai", "Z.ai", "https://api.z.ai/api/paas/v4", []string{"ZAI_API_KEY"}},
		{"qwen", "Qwen", "https://dashscope.aliyuncs.com/compatible-mode/v1", []string{"DASHSCOPE_API_KEY"}},
		{"together", "Together", "https://api.together.xyz/v1", []string{"TOGETHER_API_KEY"}},
		{"cerebras", "Cerebras", "https://api.cerebras.ai/v1", []string{"CEREBRAS_API_KEY"}},
	}
}

// LocalProviders are the programs that are found by the port that they listen
// on, on this machine alone.
func LocalProviders() []KnownProvider {
	return []KnownProvider{
		{ollama, "Ollama", "http://127.0.0.1:11434/v1", nil},
		{"lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", nil},
		{"llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", nil},
		{"vllm", "vLLM", "http://127.0.0.1:8000/v1", nil},
		{"sglang", "SGLang", "http://127.0.0.1:30000/v1", nil},
		{"jan", "Jan", "http://127.0.0.1:1337/v1", nil},
	}
}

// openAI is the provider that its variables make of their own accord
// (CONTRACT §2).
const (
	openAI     = "openai"
	openAIKey  = "OPENAI_API_KEY"
	openAIBase = "OPENAI_BASE_URL"
)

// ollama says by a variable of its own where it listens.
const (
	ollama     = "ollama"
	ollamaHost = "OLLAMA_HOST"
)
