// Package openai is the LLM behind an OpenAI-compatible chat completions
// endpoint. It is the only importer of go-openai.
//
// go-openai makes the request and decodes the stream; between it and the
// network stands [call], an HTTPDoer that mends both: it retries, tells
// failures in words of ours, and turns whatever a provider sends into the one
// form that go-openai reads right (see body and normaliser).
package openai
