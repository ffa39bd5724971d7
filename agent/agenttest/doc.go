// Package agenttest has doubles for tests of what runs tasks: a language model
// that follows a script, and a front end that answers questions by a func.
package agenttest
