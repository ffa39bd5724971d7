package openai

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"agentls/agent"
	"agentls/mcp"
)

// What providers answer, word for word where it is known.
func TestStatusesAndShapes(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		kind   agent.ErrorKind
		says   string
	}{
		{"OpenAI key", 401, `{"error":{"message":"Incorrect API key provided: sk-abc***xyz.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`, agent.KindAuth, "Incorrect API key"},
		{"403", 403, `{"error":{"message":"Country not supported","code":"unsupported_country_region_territory"}}`, agent.KindAuth, "Country not supported"},
		{"403 of a gateway", 403, `<html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>`, agent.KindAuth, "(403: 403 Forbidden)"},
		{"Gemini key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, agent.KindAuth, "API key not valid"},

		{"OpenAI context", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, agent.KindContext, "9000 tokens"},
		{"OpenAI context, code alone", 400, `{"error":{"message":"Bad request","code":"context_length_exceeded"}}`, agent.KindContext, ""},
		{"OpenAI context, new wording", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}`, agent.KindContext, ""},
		{"llama.cpp context", 400, `{"error":{"code":400,"message":"request (25056 tokens) exceeds the available context size (2048 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":25056,"n_ctx":2048}}`, agent.KindContext, "25056 tokens"},
		{"llama-cpp-python context", 500, `{"error":{"message":"Requested tokens (5000) exceed context window of 4096","type":"internal_server_error","param":null,"code":null}}`, agent.KindContext, ""},
		{"vLLM context", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in the messages, Please reduce the length of the messages.","type":"BadRequestError","param":null,"code":400}`, agent.KindContext, ""},
		{"vLLM context, newer", 400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","code":400}}`, agent.KindContext, ""},
		{"SGLang context", 400, `{"object":"error","message":"The input (5000 tokens) is longer than the model's context length (4096 tokens).","code":400}`, agent.KindContext, ""},
		{"Ollama context", 400, `{"error":{"message":"input length exceeds the context length","type":"api_error"}}`, agent.KindContext, ""},
		{"Ollama cloud context", 400, `{"error":"prompt too long; exceeded max context length by 1000 tokens"}`, agent.KindContext, ""},
		{"LM Studio context", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens."}`, agent.KindContext, ""},
		{"LM Studio context, other", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length"}`, agent.KindContext, ""},
		{"Anthropic context", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`, agent.KindContext, "213462"},
		{"Anthropic context with the answer", 400, "{\"error\":{\"message\":\"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000\"}}", agent.KindContext, ""},
		{"Gemini context", 400, `[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]`, agent.KindContext, ""},
		{"Mistral context", 400, `{"object":"error","message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}`, agent.KindContext, ""},
		{"xAI context", 400, `{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, agent.KindContext, ""},
		{"TGI context", 422, "{\"error\":\"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens\",\"error_type\":\"validation\"}", agent.KindContext, ""},
		{"Groq size", 413, `{"error":{"message":"Request too large for model in organization on tokens per minute (TPM): Limit 6000, Requested 9000","type":"tokens","code":"rate_limit_exceeded"}}`, agent.KindContext, ""},
		{"OpenAI size", 429, `{"error":{"message":"Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000.","type":"tokens","code":"rate_limit_exceeded"}}`, agent.KindContext, ""},
		{"nginx size", 413, `<html><head><title>413 Request Entity Too Large</title></head></html>`, agent.KindContext, ""},

		{"OpenAI rate", 429, `{"error":{"message":"Rate limit reached for gpt-4 in organization org-x on tokens per min (TPM): Limit 10000, Used 9999, Requested 500.","type":"tokens","code":"rate_limit_exceeded"}}`, agent.KindRateLimit, ""},
		{"many tokens a minute", 429, `{"error":{"message":"Too many tokens per minute"}}`, agent.KindRateLimit, ""},
		{"no balance", 402, `{"error":{"message":"Insufficient Balance","type":"unknown_error"}}`, agent.KindRateLimit, "billing"},

		{"no model, OpenAI", 404, `{"error":{"message":"The model 'm' does not exist or you do not have access to it.","code":"model_not_found"}}`, agent.KindConfig, "has no model"},
		{"no model, Ollama", 404, `{"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error"}}`, agent.KindConfig, "try pulling it"},
		{"no model, vLLM", 404, `{"object":"error","message":"The model 'm' does not exist.","type":"NotFoundError","code":404}`, agent.KindConfig, "has no model"},
		{"no model, OpenRouter", 400, `{"error":{"message":"m is not a valid model ID: unknown model","code":400}}`, agent.KindConfig, "has no model"},
		{"no route", 404, `404 page not found`, agent.KindConfig, "/v1"},
		{"FastAPI route", 404, `{"detail":"Not Found"}`, agent.KindConfig, "Not Found"},
		{"no tools, Ollama", 400, `{"error":{"message":"registry.ollama.ai/library/gemma:2b does not support tools","type":"api_error"}}`, agent.KindConfig, "takes no tools"},
		{"no tools, vLLM", 400, `{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set","code":400}`, agent.KindConfig, "takes no tools"},
		{"no tools, llama.cpp", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, agent.KindConfig, "takes no tools"},

		// No credit: asking again does not help, whatever the status.
		{"no credit, OpenAI", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, agent.KindRateLimit, "no quota left"},
		{"no credit, Anthropic", 400, `{"error":{"code":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.","type":"invalid_request_error","param":null}}`, agent.KindRateLimit, "no quota left"},
		{"no credit, OpenRouter", 402, `{"error":{"message":"Insufficient credits. Add more using https://openrouter.ai/settings/credits","code":402}}`, agent.KindRateLimit, "no quota left"},
		{"no credit, GLM", 429, `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`, agent.KindRateLimit, "no quota left"},
		{"no credit, Kimi", 429, `{"error":{"message":"Your account org-x is suspended, please check your plan and billing details","type":"exceeded_current_quota_error"}}`, agent.KindRateLimit, "no quota left"},
		{"no credit, Qwen", 400, `{"error":{"message":"Access denied, please make sure your account is in good standing.","type":"Arrearage","param":null,"code":"Arrearage"},"request_id":"x"}`, agent.KindRateLimit, "no quota left"},
		{"no free tier, Qwen", 403, `{"error":{"message":"The free tier of the model has been exhausted. If you wish to continue access the model on a paid basis, please disable the \"use free tier only\" mode in the management console.","type":"AllocationQuota.FreeTierOnly","param":null,"code":"AllocationQuota.FreeTierOnly"}}`, agent.KindRateLimit, "no quota left"},
		{"no credit, xAI", 403, `{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created team doesn't have any credits yet. You can purchase credits on https://console.x.ai/team/x."}`, agent.KindRateLimit, "no quota left"},
		{"rate, with a link to billing, Groq", 429, "{\"error\":{\"message\":\"Rate limit reached for model `m` in organization `org_x` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Used 5900, Requested 900. Please try again in 2h. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", agent.KindRateLimit, "asks to wait 2h0m0s"},

		{"day, OpenAI", 429, `{"error":{"message":"Rate limit reached for gpt-4o in organization org-x on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s. Visit https://platform.openai.com/account/rate-limits to learn more.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, agent.KindRateLimit, "no more requests today|is reset in 7m12s, or choose another model"},
		{"day, Groq", 429, "{\"error\":{\"message\":\"Rate limit reached for model `m` in organization `org_x` service tier `on_demand` on tokens per day (TPD): Limit 100000, Used 99300, Requested 2500. Please try again in 25m55.2s.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}", agent.KindRateLimit, "no more requests today|in 25m55s"},
		{"day, OpenRouter", 429, `{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0"}}}}`, agent.KindRateLimit, "no more requests today"},
		{"day, Gemini", 429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 50\nPlease retry in 34.07s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier","quotaValue":"50"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}]`, agent.KindRateLimit, "no more requests today"},

		{"region, OpenAI", 403, `{"error":{"message":"Country, region, or territory not supported","type":"request_forbidden","param":null,"code":"unsupported_country_region_territory"}}`, agent.KindAuth, "does not serve the country or region"},
		{"region, Gemini", 400, `[{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}]`, agent.KindAuth, "does not serve the country or region"},

		{"content, Azure", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, agent.KindProvider, "refuses the content|say it in another way"},
		{"content, Qwen", 400, `{"error":{"message":"Input data may contain inappropriate content.","type":"data_inspection_failed","param":null,"code":"data_inspection_failed"}}`, agent.KindProvider, "refuses the content"},
		{"content, DeepSeek", 400, `{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, agent.KindProvider, "refuses the content"},
		{"content, GLM", 400, `{"error":{"code":"1301","message":"系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语，感谢您的配合。"}}`, agent.KindProvider, "refuses the content"},
		{"content, Kimi", 400, `{"error":{"message":"The request was rejected because it was considered high risk","type":"content_filter"}}`, agent.KindProvider, "refuses the content"},
		{"content, OpenRouter", 403, `{"error":{"message":"Your chosen model requires moderation and your input was flagged","code":403,"metadata":{"reasons":["violence"],"flagged_input":"x","provider_name":"OpenAI"}}}`, agent.KindProvider, "refuses the content"},

		{"key, Azure", 401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}}`, agent.KindAuth, "refuses the key|check the provider's apiKey"},
		{"key, DeepSeek", 401, `{"error":{"message":"Authentication Fails, Your api key: ****0123 is invalid","type":"authentication_error","param":null,"code":"invalid_request_error"}}`, agent.KindAuth, "refuses the key"},
		{"key, GLM", 401, `{"error":{"code":"401","message":"令牌已过期或验证不正确"}}`, agent.KindAuth, "refuses the key"},
		{"key, OpenRouter", 401, `{"error":{"message":"No auth credentials found","code":401}}`, agent.KindAuth, "refuses the key"},

		{"no deployment, Azure", 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}`, agent.KindConfig, "has no model"},
		{"no model, GLM", 400, `{"error":{"code":"1211","message":"模型不存在，请检查模型代码。"}}`, agent.KindConfig, "has no model"},
		{"no model, Kimi", 404, `{"error":{"message":"Not found the model m or Permission denied","type":"resource_not_found_error"}}`, agent.KindConfig, "has no model"},
		{"no model, DeepSeek", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, agent.KindConfig, "has no model"},
		{"no model, Gemini", 404, `[{"error":{"code":404,"message":"models/m is not found for API version v1main, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.","status":"NOT_FOUND"}}]`, agent.KindConfig, "has no model"},
		{"no model, Anthropic", 404, `{"type":"error","error":{"type":"not_found_error","message":"model: m"}}`, agent.KindConfig, "has no model"},

		{"overloaded, Anthropic", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, agent.KindProvider, "is overloaded|or choose another model"},
		{"overloaded, DeepSeek", 503, `{"error":{"message":"The server is overloaded or not ready yet.","type":"server_error"}}`, agent.KindProvider, "is overloaded"},
		{"server's fault", 500, `{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}`, agent.KindProvider, "failed to answer"},
		{"a proxy's login", 407, `<html><head><title>407 Proxy Authentication Required</title></head></html>`, agent.KindNetwork, "the proxy before |wants a login|HTTPS_PROXY|NO_PROXY"},

		{"FastAPI detail", 422, `{"detail":[{"type":"missing","loc":["body","messages",0,"role"],"msg":"Field required"}]}`, agent.KindProvider, "Field required"},
		{"Cloudflare", 500, `{"success":false,"errors":[{"code":7003,"message":"Could not route"}],"result":null}`, agent.KindProvider, "Could not route"},
		{"a timeout of a proxy is no overflow", 504, `{"error":"request timeout exceeded (context deadline exceeded)"}`, agent.KindProvider, "deadline"},
		{"OpenRouter raw", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"bad schema\"}}","provider_name":"x"}}}`, agent.KindProvider, "Provider returned error: bad schema"},
		{"list of messages", 400, `{"error":{"message":["one","two"]}}`, agent.KindProvider, "one: two"},
		{"nothing", 502, ``, agent.KindProvider, "(502 Bad Gateway)"},
		{"control characters", 500, "\x1b[31mred\u202e\r\nalert](command:x)", agent.KindProvider, "(500: [31mred alert"},
		{"deep", 500, strings.Repeat(`{"error":`, 50) + `"x"` + strings.Repeat(`}`, 50), agent.KindProvider, "500"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			})
			_, err := l.Complete(t.Context(), prompt, nil)
			pe := providerError(t, err)
			if pe.Kind != c.kind {
				t.Errorf("kind %s, want %s: %s", pe.Kind, c.kind, pe.Message)
			}
			for _, part := range append(strings.Split(c.says, "|"), l.url.Host, `"m"`) {
				if !strings.Contains(pe.Message, part) {
					t.Errorf("message %q lacks %q", pe.Message, part)
				}
			}
			if strings.ContainsAny(pe.Message, "\n\r\x1b\u202e") {
				t.Errorf("message %q", pe.Message)
			}
		})
	}
}

func TestNoKeyIsSaidAsSuch(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401) }, func(o *Options) { o.APIKey = "" })
	_, err := l.Complete(t.Context(), prompt, nil)
	if pe := providerError(t, err); pe.Kind != agent.KindAuth || !strings.Contains(pe.Message, "wants a key") {
		t.Errorf("%s: %s", pe.Kind, pe.Message)
	}
}

func TestSecretsAreInNoErrorAndNoLog(t *testing.T) {
	secrets := []string{"sk-test-secret-0123456789", "header-secret-1", "Bearer inner-secret-1", "inner-secret-1", "known-elsewhere", "url-password-1"}
	said := strings.Join(secrets, " and ")
	var log strings.Builder
	change := func(o *Options) {
		o.Headers = map[string]string{"X-Key": "header-secret-1", "X-Other": "Bearer inner-secret-1"}
		o.BaseURL = strings.Replace(o.BaseURL, "http://", "http://user:url-password-1@", 1)
		o.Secrets = mcp.NewSecrets()
		o.Secrets.Add("known-elsewhere")
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	}
	for name, h := range map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, r *http.Request) { http.Error(w, said, 500) },
		"400":    func(w http.ResponseWriter, r *http.Request) { http.Error(w, said, 400) },
		"event":  func(w http.ResponseWriter, r *http.Request) { say(w, hello, `{"error":{"message":"`+said+`"}}`) },
		"page":   func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("<p>" + said)) },
		"chunk":  func(w http.ResponseWriter, r *http.Request) { say(w, hello, said) },
	} {
		l := serve(t, h, change)
		_, err := l.Complete(t.Context(), prompt, nil)
		pe := providerError(t, err)
		all := pe.Message + log.String()
		if pe.Err != nil {
			all += pe.Err.Error()
		}
		for _, s := range secrets {
			if strings.Contains(all, s) {
				t.Errorf("%s: %q is in %q", name, s, all)
			}
		}
		if !strings.Contains(all, "[redacted]") {
			t.Errorf("%s: nothing was redacted in %q", name, all)
		}
	}
	if !strings.Contains(log.String(), "trying again") {
		t.Errorf("log %q", log.String())
	}
}

func TestUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {}))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Error("asked") }))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	secure.StartTLS()
	defer secure.Close()
	hangUp := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer hangUp.Close()
	for _, c := range []struct {
		name, base, says string
		kind             agent.ErrorKind
		again            bool
	}{
		{"refused", "http://" + closed.Addr().String(), "refused", agent.KindNetwork, true},
		{"nothing listens", "http://" + closed.Addr().String(), "nothing listens there; start the program", agent.KindNetwork, true},
		{"no such host", "http://nowhere.invalid/v1", "the name nowhere.invalid is not known", agent.KindNetwork, true},
		{"certificate", secure.URL, "an authority that this machine does not know", agent.KindNetwork, false},
		{"what to do about it", secure.URL, "NODE_EXTRA_CA_CERTS", agent.KindNetwork, false},
		{"http, not https", strings.Replace(plain.URL, "http:", "https:", 1), "speaks http, not https", agent.KindConfig, false},
		{"hang-up", hangUp.URL, "connection closed", agent.KindNetwork, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := New(Options{BaseURL: c.base, Model: "m"})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			l.limits.wait = 1
			_, err = l.Complete(t.Context(), prompt, nil)
			pe := providerError(t, err)
			if pe.Kind != c.kind || pe.Retryable != c.again || !strings.Contains(pe.Message, c.says) || !strings.Contains(pe.Message, l.url.Host) {
				t.Errorf("%s, retryable %v: %s", pe.Kind, pe.Retryable, pe.Message)
			}
		})
	}
}

// A certificate of a known authority for another name, and a proxy that wants a
// login before it opens a tunnel.
func TestCertificateAndProxyInTheWay(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
	defer secure.Close()
	trusting := secure.Client().Transport.(*http.Transport)
	dialer := net.Dialer{}
	elsewhere := trusting.Clone()
	elsewhere.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, secure.Listener.Addr().String())
	}
	guard := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	defer guard.Close()
	through := func(proxy string) *http.Transport {
		u, err := url.Parse(proxy)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Transport{Proxy: http.ProxyURL(u)}
	}
	for name, c := range map[string]struct {
		transport *http.Transport
		base      string
		says      []string
	}{
		"another name":         {elsewhere, "https://other.invalid/v1", []string{"is not trusted", "other.invalid", "clock"}},
		"login, tunnel":        {through(guard.URL), "https://api.invalid/v1", []string{"the proxy before api.invalid", "Proxy Authentication Required", "user and password"}},
		"login, plain":         {through(guard.URL), "http://api.invalid/v1", []string{"the proxy before api.invalid", "407"}},
		"a proxy that is gone": {through("http://127.0.0.1:1"), "https://api.invalid/v1", []string{"cannot reach api.invalid", "its proxy cannot be used", "refused", "HTTPS_PROXY"}},
	} {
		l, err := New(Options{BaseURL: c.base, Model: "m", HTTP: c.transport})
		if err != nil {
			t.Fatal(err)
		}
		l.limits.wait = 1
		_, err = l.Complete(t.Context(), prompt, nil)
		pe := providerError(t, err)
		for _, part := range c.says {
			if pe.Kind != agent.KindNetwork || pe.Retryable != strings.Contains(name, "gone") || !strings.Contains(pe.Message, part) {
				t.Errorf("%s: %s, retryable %v: %s", name, pe.Kind, pe.Retryable, pe.Message)
			}
		}
		l.Close()
	}
}

// A model that is not there is told with those that were perhaps meant.
func TestUnknownModelIsToldWithTheNearest(t *testing.T) {
	for list, says := range map[string]string{
		`{"data":[{"id":"qwen3:8b"},{"id":"llama3.2"},{"id":"[x](command:y)"}]}`: `has no model "qwen3:8"; did you mean qwen3:8b: set the provider's model`,
		`{"data":[{"id":"llama3.2"},{"id":"phi\u202e4"}]}`:                       `"qwen3:8"; there are llama3.2, phi4: set`,
		`{"data":[{"id":"qwen3:8"}]}`:                                            `refuses the request for model "qwen3:8": see what it says`,
		`{"data":[]}`:                                                            `has no model "qwen3:8": set`,
		`no list`:                                                                `has no model "qwen3:8": set`,
	} {
		l := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				_, _ = w.Write([]byte(list))
				return
			}
			http.Error(w, `{"error":{"message":"model not found"}}`, http.StatusNotFound)
		}, func(o *Options) { o.Model = "qwen3:8" })
		_, err := l.Complete(t.Context(), prompt, nil)
		message := providerError(t, err).Message
		if message = strings.Replace(message, " (404: model not found)", "", 1); !strings.Contains(message, says) {
			t.Errorf("%s: %s", list, message)
		}
	}
}

func TestConnectionLostMidStream(t *testing.T) {
	l := serve(t, func(w http.ResponseWriter, r *http.Request) {
		say(w, hello)
		panic(http.ErrAbortHandler)
	})
	r, err := l.Complete(t.Context(), prompt, nil)
	if pe := providerError(t, err); pe.Kind != agent.KindNetwork || !pe.Retryable || !pe.Began || r.Text != "Hello " {
		t.Errorf("%s: %s, began %v, text %q", pe.Kind, pe.Message, pe.Began, r.Text)
	}
}
