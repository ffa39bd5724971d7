package mcp

import "encoding/json"

// EventKind says what happened at a server.
type EventKind string

// The kinds of [Event].
const (
	EventReady     EventKind = "ready"     // its tools are fetched for the first time since it was configured
	EventFailed    EventKind = "failed"    // it could not be started, or will not be restarted; Err says why
	EventLost      EventKind = "lost"      // a ready server's connection ended; Err says why; it is being restarted
	EventRecovered EventKind = "recovered" // ready again after EventLost
	EventUntrusted EventKind = "untrusted" // a project server waits for trust
	EventDisabled  EventKind = "disabled"  // a person disabled it: what it offered is gone
	EventTools     EventKind = "tools"     // the tools fetched anew differ from those before
	EventResources EventKind = "resources" // likewise the resources
	EventPrompts   EventKind = "prompts"   // likewise the prompts
	EventUpdated   EventKind = "updated"   // notifications/resources/updated of URI
	EventCompleted EventKind = "completed" // what a link of its elicitation was opened for is done
	EventLog       EventKind = "log"       // notifications/message: LogLevel, Text
	EventProblem   EventKind = "problem"   // something odd that we mended or dropped: Text (junk on stdout, a repeated cursor …)
)

// Event is one thing that happened at a server, for the front end to tell.
// Text, Err and URI are foreign: the front end cleans them before showing.
type Event struct {
	Server string
	Kind   EventKind
	Err    string
	URI    string
	Added  []string // names or URIs, at most 3, of EventTools, EventResources, EventPrompts
	// AddedN and RemovedN count the difference of a list.
	AddedN, RemovedN int
	LogLevel         string // RFC 5424 word as MCP has it: debug … emergency
	Text             string
	Merged           int // how many like events this one stands for beyond itself
}

// Request is a question of a server (or about one) that only a person can
// answer. The front end takes it from [Manager.Requests] and calls Reply once;
// one that nobody takes in 5 s is dismissed. All that the server says in it is
// foreign: the front end cleans it before showing.
type Request struct {
	Server  string
	Servers []string // all that wait for an input request, by name; Server is the first
	Kind    RequestKind
	// Info describes the server of a trust request.
	Info ServerInfo
	// Input is what an input request asks for.
	Input Input
	// Elicit is what an elicit request asks for.
	Elicit Elicitation
	// Sample is what a sample request would ask the model.
	Sample SampleRequest
	// Login is what a login request needs.
	Login LoginRequest
	// Origin is the run whose call the server serves, if that is certain.
	Origin Origin
	Reply  func(RequestAnswer)
	// Done is closed when the question has no more use: the server is gone or
	// took it back, the calls that it came of have ended, or it was settled by
	// other means.
	Done <-chan struct{}
}

// RequestKind says what a [Request] asks.
type RequestKind string

// The kinds of [Request].
const (
	RequestTrust  RequestKind = "trust"  // may this project server start?
	RequestInput  RequestKind = "input"  // the value of Input; more than one server may wait for it
	RequestElicit RequestKind = "elicit" // elicitation/create: Elicit
	RequestSample RequestKind = "sample" // sampling/createMessage: Sample
	RequestLogin  RequestKind = "login"  // the server wants a login: Login
)

// LoginRequest is a login that a person does in a browser.
type LoginRequest struct {
	Link              // the page, to be opened and shown whole
	Issuer   string   // who is behind it, as its metadata says
	Scopes   []string // that are asked for
	Redirect string   // where the browser comes back to, on this machine
}

// RequestAnswer answers a [Request]. One that neither accepts nor declines
// says that the person dismissed it, or that it could not be asked.
type RequestAnswer struct {
	Accept, Decline bool
	Value           string          // of an input request
	Content         json.RawMessage // of an elicit request as [Form.Check] takes it; of a sample request as [SampleResult.Answer] has it
	Problem         string          // of a sample request that was not answered though nobody refused it: why, for the server
}
