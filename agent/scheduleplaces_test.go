package agent_test

import "agentls/agent"

// scheduleModes are the modes that schedules are played in.
var scheduleModes = []agent.Mode{agent.ModeReAct, agent.ModePlan, agent.ModeTeam}

// The places at which runs are cancelled.
const (
	atStart          = "before the queue"
	atQueue          = "queued"
	atServers        = "waiting for servers"
	atExpansion      = "expanding the prompt"
	atSettle         = "waiting for lists"
	atRound          = "between rounds"
	atFirst          = "before the first token"
	atBackOff        = "in a back-off"
	atReasoning      = "in the reasoning"
	atText           = "in the text"
	atAnswer         = "between an answer and its calls"
	atPending        = "before a call"
	atGate           = "as the gate decides"
	atQuestion       = "in a question"
	atAnswered       = "as a person answers"
	atTool           = "in a tool"
	atDeafTool       = "in a tool that never reacts"
	atEdit           = "in an edit of the editor's"
	atResult         = "between calls"
	atDiagnostics    = "in the diagnostics"
	atAddedExpansion = "expanding what was added"
	atCompaction     = "while the model summarises"
	atDisk           = "writing the session"
	atEnd            = "after the last answer"
)

// And those of the modes that plan.
const (
	atPlanQuestion = "in the question about a plan"
	atPlanAnswered = "as a person answers a plan"
	atStep         = "in a step's model call"
	atStepPending  = "before a call of a step"
	atStepQuestion = "in a question of a step"
	atStepEnd      = "between steps"
	atPlanned      = "in the model call after a plan"
	atReview       = "in a reviewer's model call"
	atRework       = "in the model call after a review"
)

// placesOf are the places of a mode, in about the order of a run.
func placesOf(mode agent.Mode) []string {
	places := []string{
		atStart, atQueue, atServers, atExpansion, atSettle, atRound, atFirst, atBackOff, atReasoning, atText, atAnswer, atPending, atGate,
		atQuestion, atAnswered, atTool, atDeafTool, atEdit, atResult, atDiagnostics, atAddedExpansion, atCompaction, atDisk, atEnd,
	}
	if mode.Plans() {
		places = append(places, atPlanQuestion, atPlanAnswered, atStep, atStepPending, atStepQuestion, atStepEnd, atPlanned)
	}
	if mode == agent.ModeTeam {
		places = append(places, atReview, atRework)
	}
	return places
}

// rare are those that hardly any run would come to, were it not for them.
var rare = []string{atAnswered, atEdit, atDiagnostics, atAddedExpansion, atCompaction, atCompaction, atEnd, atPlanAnswered, atRework}

// momentary are the places at which a run is for no time at all.
var momentary = []string{atStart, atRound, atAnswer, atPending, atGate, atAnswered, atResult, atEnd, atPlanAnswered, atStepPending, atStepEnd}
