// Package llamatest gives tests a real provider without a network and without
// anybody's weights: the server of llama.cpp, which `make setup-provider`
// unpacks, on a model that is written here.
//
// The server brings what no recording has: a tokenizer, a chat template, a
// grammar made of the request's tools, slots that a cancel frees, and its own
// words for what goes wrong. The models are in model.go, the format of their
// file in gguf.go.
package llamatest
