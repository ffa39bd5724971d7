// Package offline is the LLM that needs no key and no network: a few rules
// over the request, so that everything around a model can be tried out. It is
// deterministic and says plainly that it is not a language model.
package offline
