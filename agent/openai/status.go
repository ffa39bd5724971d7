package openai

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agentls/agent"
)

// overflow matches how providers say that a conversation is too long: OpenAI,
// Azure, llama.cpp, llama-cpp-python, vLLM, SGLang, TGI, Ollama, LM Studio,
// Anthropic, Gemini, Mistral, xAI, Groq, Cohere, in lower case.
//
//nolint:gochecknoglobals // compiled once, at its first use
var overflow = pattern(strings.Join([]string{
	`context_length_exceeded|exceed_context_size_error|model_context_window_exceeded|request_too_large`,
	`maximum (context|prompt|model|input) length|max(imum)?_(context|model|prompt)_len`,
	`(exceed|overflow|greater than|longer than|larger than|too (long|large|big) for|outside)[^.]{0,60}context[ _]?(length|window|size|limit)`,
	`context[ _](length|window|size|limit)[^.]{0,40}(exceed|overflow|full|too small)`,
	`(prompt|input|conversation|request) (is |was )?too (long|large)`,
	`reduce the length of|shorten (the|your) (input|prompt|messages)`,
	`(input|prompt|request(ed)?) token[^.]{0,60}exceed|exceed(s|ed)? (the )?(model )?(maximum number of |max(imum)? |model )?(input )?token`,
	`too many (input |prompt )?tokens|context the overflows`,
	`too large for model with`,
	`inputs?.? tokens? \+ .{0,40}must be <=`,
}, "|"))

//nolint:gochecknoglobals // compiled once, at its first use
var (
	limited = pattern(`rate[_ -]?limit|too many requests|resource_exhausted|throttl|per[_ ]minute|\b[rt]pm\b`)
	daily   = pattern(`per[_ -]?day|\b[rt]pd\b|daily (request |token )?(limit|quota)`)
	// The account is empty, whatever wait is told with it: OpenAI, Kimi, DeepSeek,
	// GLM, Qwen, xAI, Anthropic.
	empty    = pattern(`insufficient_quota|exceeded_current_quota|insufficient (account )?balance|insufficient (credit|funds)|余额不足|欠费|arrearage|freetieronly|any credits yet|all available credits|credit balance is too low`)
	spent    = pattern(`billing|exceeded your current quota|payment required`)
	keyWrong = pattern(`authentication_error|invalid_api_key|incorrect api key|invalid api key|api key not valid|unauthorized|permission_error|permission_denied`)
	region   = pattern(`unsupported_country|country, region|location is not supported|not (available|supported) in your (country|region|location)`)
	// OpenAI, Azure, Qwen, DeepSeek, GLM, Kimi, OpenRouter, Gemini.
	moderated = pattern(`content_filter|content_policy|contentfilter|content management policy|responsibleaipolicy|data_inspection_failed|inappropriate content|content exists risk|敏感内容|considered high risk|requires moderation|input was flagged|prohibited_content|safety system`)
	noModel   = pattern(`model_not_found|models?[ /].{0,200}(not found|does not exist|not exist|not supported|is not available)|model: \S+ not_found_error|not found the model|unable to access model|模型不存在|deploymentnotfound|(unknown|invalid|no such|unsupported) model|no model`)
	noTools   = pattern(`(not support|unsupported|without support for)[^.]{0,40}\btool|\btool(s| use| calling)?\b[^.]{0,40}(not supported|unsupported|requires --jinja)|enable-auto-tool-choice`)
	busy      = pattern(`overloaded|at capacity|over capacity|engine_overloaded|no available (server|worker|capacity)|model is (currently )?busy|访问量过大`)
	overrun   = pattern(`server_error|internal_error|internal server error|unavailable|timeout|timed out|temporarily|try again|bad gateway`)
	tooBig    = pattern(`request too large`)
)

// told is the error that a provider reports inside an answer.
func (f failures) told(e *apiError) *agent.ProviderError { return f.status(e.Status, e) }

// status turns an HTTP status (0: none) and what the provider said into an
// error of ours.
func (f failures) status(code int, e *apiError) *agent.ProviderError {
	said, why := f.quote(code, e.words()), e.text()
	switch {
	case code == http.StatusProxyAuthRequired:
		return f.login(said)
	case code != 401 && code != 403 && code != 404 && f.overflows(code, why):
		pe := f.context(said)
		pe.Window = cmp.Or(e.Window, windowIn(why))
		return pe
	case code == 402, empty().MatchString(why), spent().MatchString(why) && e.Wait == 0 && !e.Daily:
		return f.make(agent.KindRateLimit, false, nil, "the account at %s has no quota left%s%s: check its plan and billing, or choose another provider", f.host, f.asked, said)
	case e.Daily, code == 429 && daily().MatchString(why) && (e.Wait == 0 || e.Wait > maxElapsed):
		return f.daily(e, said)
	case code == 429, code != 401 && code != 403 && limited().MatchString(why):
		return f.rate(e.Wait, said)
	}
	return f.refused(code, e, said, why)
}

// refused is an error that asking again does not help, or f.other.
func (f failures) refused(code int, e *apiError, said, why string) *agent.ProviderError {
	switch {
	case region().MatchString(why):
		return f.make(agent.KindAuth, false, nil, "%s does not serve the country or region that you ask from%s%s: choose another provider", f.host, f.asked, said)
	case moderated().MatchString(why):
		return f.provider("%s refuses the content of the request%s%s: say it in another way, or start a new session where an earlier message is what it objects to", f.host, f.asked, said)
	case code == 401, code == 403, keyWrong().MatchString(why):
		return f.auth(code, said)
	case code >= 300 && code < 400:
		return f.config("%s redirects the request%s to another place%s: set the provider's baseURL to that", f.host, f.asked, said)
	case noTools().MatchString(why):
		return f.config("model %q at %s takes no tools%s: choose a model that can call tools, or start its server with tool calling on", f.model, f.host, said)
	case noModel().MatchString(why):
		return f.unknownModel(said, "")
	case code == 404, code == 405, code == 410:
		return f.config("%s does not answer there%s%s: check the provider's baseURL (%s; most end in /v1) and its model", f.host, f.asked, said, f.base)
	}
	return f.other(code, e, why, said)
}

// noModelError is the cause of an error about a model that is not there.
type noModelError struct{ said string }

func (e *noModelError) Error() string { return "no such model" + e.said }

// unknownModel is about such a model; known: what there is instead.
func (f failures) unknownModel(said, known string) *agent.ProviderError {
	return f.make(agent.KindConfig, false, &noModelError{said}, "%s has no model %q%s%s: set the provider's model to one of its list", f.host, f.model, said, known)
}

// daily: a limit that no wait within a run ends.
func (f failures) daily(e *apiError, said string) *agent.ProviderError {
	until := ""
	if e.Wait > maxElapsed {
		until = " in " + e.Wait.Round(time.Second).String()
	}
	return f.make(agent.KindRateLimit, false, nil, "%s allows no more requests today%s%s: try again when its daily limit is reset%s, or choose another model", f.host, f.asked, said, until)
}

func (f failures) overflows(code int, why string) bool {
	if tooBig().MatchString(why) {
		return true // also where it counts tokens a minute: less is what helps
	}
	return code != 429 && !limited().MatchString(why) && (code == 413 || overflow().MatchString(why))
}

func (f failures) context(said string) *agent.ProviderError {
	window := ""
	if f.window > 0 {
		window = " (contextWindow is set to " + strconv.Itoa(f.window) + ")"
	}
	return f.make(agent.KindContext, false, nil, "the conversation does not fit into the context window of model %q at %s%s%s: mention less, start a new session, or use a model with a larger window", f.model, f.host, said, window)
}

func (f failures) rate(wait time.Duration, said string) *agent.ProviderError {
	if wait > 0 {
		return f.make(agent.KindRateLimit, true, nil, "%s limits the rate of requests%s%s and asks to wait %s: try again then", f.host, f.asked, said, wait.Round(time.Second))
	}
	return f.make(agent.KindRateLimit, true, nil, "%s limits the rate of requests%s%s: try again in a while", f.host, f.asked, said)
}

func (f failures) auth(code int, said string) *agent.ProviderError {
	switch {
	case !f.hasKey:
		return f.make(agent.KindAuth, false, nil, "%s wants a key%s%s: set the provider's apiKey", f.host, f.asked, said)
	case code == 403:
		return f.make(agent.KindAuth, false, nil, "%s does not let this key in%s%s: check what the provider's apiKey may use", f.host, f.asked, said)
	}
	return f.make(agent.KindAuth, false, nil, "%s refuses the key%s%s: check the provider's apiKey", f.host, f.asked, said)
}

// other is an error of no kind that a user could mend by a setting.
func (f failures) other(code int, e *apiError, why, said string) *agent.ProviderError {
	overloaded := code == 529 || busy().MatchString(why)
	again := code == 408 || code == 409 || code >= 500 && code != 501 && code != 505 || code == 0 && (overloaded || overrun().MatchString(why))
	switch {
	case again && overloaded:
		return f.make(agent.KindProvider, true, nil, "%s is overloaded%s%s: try again in a while, or choose another model", f.host, f.asked, said)
	case again && e.Wait > 0:
		return f.make(agent.KindProvider, true, nil, "%s failed to answer%s%s and asks to wait %s: try again then", f.host, f.asked, said, e.Wait.Round(time.Second))
	case again:
		return f.make(agent.KindProvider, true, nil, "%s failed to answer%s%s: try again in a while", f.host, f.asked, said)
	}
	return f.refusedRequest(said)
}

func (f failures) refusedRequest(said string) *agent.ProviderError {
	return f.provider("%s refuses the request%s%s: see what it says, and the provider's extraBody and model", f.host, f.asked, said)
}
