// Package agent works on tasks: it knows no editor and no provider.
//
// [Agent.Run] is the one way in. A run expands the mentions of its prompt,
// then asks the model (an [LLM]) and calls the tools that it asks for, until
// an answer comes without any or a limit is hit. What it needs from above, its
// front end included, travels in the [Task].
//
// Two things are worth knowing before a change. Every tool call goes through
// one func, (*Agent).call, which checks for a cancel, decides, asks, calls,
// audits and cuts. And a session's history is valid for a provider at all
// times: an answer with calls is added together with all their results. It
// changes by records alone, which are also the lines of the session's file
// (transcript.go): what is loaded is what was in memory.
package agent
