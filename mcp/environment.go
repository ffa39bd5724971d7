package mcp

import (
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// BaseEnviron returns what a child finds of environ: the base of CONTRACT §8,
// and so never a provider's key.
func BaseEnviron(environ []string) []string { return childEnv(environ, ServerConfig{}) }

// childEnv returns the environment of a server's child: the base of CONTRACT
// §8 out of environ (everything but provider keys with InheritEnv), then what
// is configured.
func childEnv(environ []string, c ServerConfig) []string {
	env := map[string]string{}
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		// Windows has hidden variables whose names begin with '='.
		if !ok || name == "" {
			continue
		}
		if inherits(name, c) {
			env[name] = value
		}
	}
	for name, value := range c.Env {
		if runtime.GOOS == "windows" {
			maps.DeleteFunc(env, func(k, _ string) bool { return strings.EqualFold(k, name) })
		}
		env[name] = value
	}
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}

func inherits(name string, c ServerConfig) bool {
	if !c.InheritEnv {
		return baseVariable(name)
	}
	return !providerKey.MatchString(name) && !slices.Contains(c.Withheld, name)
}

// providerKey matches the variables in which the SDKs of model providers look
// for their keys. Those that the configured providers read besides come in
// [ServerConfig.Withheld].
var providerKey = regexp.MustCompile(`(?i)^((OPENAI|AZURE_OPENAI|AZURE_AI|ANTHROPIC|CLAUDE|GEMINI|MISTRAL|GROQ|OPENROUTER|DEEPSEEK|XAI|GROK|TOGETHER|TOGETHERAI|FIREWORKS|COHERE|PERPLEXITY|` +
	`CEREBRAS|SAMBANOVA|NVIDIA|HF|HUGGINGFACE|HUGGING_FACE|REPLICATE|DASHSCOPE|QWEN|MOONSHOT|KIMI|GLM|ZHIPU|ZHIPUAI|ZAI|MINIMAX|OLLAMA|LITELLM|AI21|VOYAGE|AWS_BEARER)(_[A-Z0-9]+)*_(KEY|TOKEN|BEDROCK)(_[A-Z0-9]+)*` +
	`|CO_API_KEY|AZURE_API_KEY|GOOGLE_API_KEY|GOOGLE_GENERATIVE_AI_API_KEY)$`)

// baseNames are upper case; a name ending in '_' stands for all that begin so.
//
//nolint:gochecknoglobals // a constant table
var baseNames = strings.Fields(`PATH HOME USER LOGNAME SHELL LANG LC_ TZ TMPDIR XDG_ SSH_AUTH_SOCK
	HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY SSL_CERT_ NODE_EXTRA_CA_CERTS`)

//nolint:gochecknoglobals // a constant table
var baseNamesWindows = strings.Fields(`SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP USERNAME USERDOMAIN USERPROFILE
	APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) PROGRAMW6432 COMMONPROGRAMFILES HOMEDRIVE HOMEPATH
	PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS OS`)

func baseVariable(name string) bool {
	upper := name
	if runtime.GOOS == "windows" || strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
		// Proxies are read in both cases.
		upper = strings.ToUpper(name)
	}
	among := func(names []string) bool {
		return slices.ContainsFunc(names, func(base string) bool {
			return upper == base || strings.HasSuffix(base, "_") && strings.HasPrefix(upper, base)
		})
	}
	return among(baseNames) || runtime.GOOS == "windows" && among(baseNamesWindows)
}
