import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import { showFailure } from "../commands.js";
import { startRun } from "../run.js";
import { messageOf } from "../text.js";
import { pickAttachment, pickMode } from "./attach.js";
import { useCode } from "./codeblock.js";
import { openLink } from "./links.js";
import type { Action, FromPanel } from "./messages.js";
import type { Panel } from "./panel.js";
import { resultsIn } from "./turns.js";

/** Does what a person asked for in the chat view. What fails is told, once. */
export async function obey(panel: Panel, m: Exclude<FromPanel, { type: "ready" }>): Promise<void> {
  try {
    await act(panel, m);
  } catch (error) {
    showFailure(panel.agentls, error);
  }
}

async function act(panel: Panel, m: Exclude<FromPanel, { type: "ready" }>): Promise<void> {
  const a = panel.agentls;
  switch (m.type) {
    case "send":
      await (m.how === "steer" ? steer(panel, m.text) : ask(panel, m.text));
      return;
    case "cancel":
      if (panel.conversation.has(m.turn)) await a.server.command("agentls.cancel", { runId: m.turn });
      return;
    case "draft":
      panel.kept.keep({ draft: m.text });
      panel.input.change(m.text, m.version);
      return;
    case "complete":
      await panel.input.complete(m);
      return;
    case "action":
      await doAction(panel, m.action);
      return;
    case "show": // a chip: one of the live ones
      if (a.runs.active().some((run) => run.session === m.session)) panel.open(m.session);
      return;
    case "open":
      await openLink(m.href, (uri) => panel.conversation.changed(uri));
      return;
    case "code":
      await useCode(m.action, m.text, m.language);
      return;
    case "retry":
      retry(panel, m.turn);
      return;
    case "undo":
      if (panel.conversation.has(m.turn)) await vscode.commands.executeCommand("agentls.ui.undo", m.turn);
      return;
    case "results":
      await results(panel, m.turn);
      return;
    case "answer":
      a.questions.answer(m.id, m.answer);
      return;
    case "diff":
      await a.questions.showDiff(m.id);
      return;
  }
}

/** Starts a run of the conversation. What never became one comes back into the input. */
async function ask(panel: Panel, prompt: string): Promise<void> {
  const a = panel.agentls;
  const { conversation, attachment, mode } = panel;
  const runId = randomUUID();
  panel.attach(undefined);
  if (attachment) conversation.extra(runId).document = attachment.label;
  const document = attachment && { ...attachment, label: undefined };
  const argument = { prompt, session: conversation.session, runId, ...(mode === "react" ? {} : { mode }) };
  try {
    await startRun(a, "agentls.ask", document ? { ...argument, document: documentOf(document) } : argument, {
      toast: false,
    });
  } catch (error) {
    const run = a.runs.get(runId);
    if (run !== undefined && run.seq > 0) return; // the turn says it
    a.runs.forget(runId);
    panel.post(conversation.whole());
    panel.post({ type: "refused", text: prompt, why: messageOf(error) });
    if (attachment) panel.attach(attachment);
  }
}

function documentOf({ uri, range, version }: { uri: string; range?: unknown; version?: number }) {
  return {
    uri,
    ...(range === undefined ? {} : { range: range as never }),
    ...(version === undefined ? {} : { version }),
  };
}

/** Adds a text to the run that works. What it did not take comes back into the input. */
async function steer(panel: Panel, text: string): Promise<void> {
  const a = panel.agentls;
  const { conversation } = panel;
  const run = a.runs.active().find((r) => r.session === conversation.session);
  const refuse = (why: string) => panel.post({ type: "refused", text, why });
  if (run === undefined) {
    refuse("The run has ended: send it as a prompt.");
    return;
  }
  try {
    const { accepted, reason } = await a.server.command("agentls.steer", { runId: run.id, text });
    if (!accepted) {
      refuse(`It was not added: ${reason ?? "the run does not take it"}.`);
      return;
    }
  } catch (error) {
    refuse(messageOf(error));
    return;
  }
  conversation.extra(run.id).steers.push({ after: run.items.length, text });
  panel.changed(run.id);
}

async function doAction(panel: Panel, action: Action): Promise<void> {
  switch (action) {
    case "attach": {
      const chosen = await pickAttachment(panel.agentls);
      if (chosen === undefined) return;
      await panel.show({ attachment: chosen, focus: true });
      return;
    }
    case "detach":
      panel.attach(undefined);
      return;
    case "mode": {
      const mode = await pickMode(panel.mode);
      await panel.show({ ...(mode === undefined ? {} : { mode }), focus: true });
      return;
    }
    case "model":
      await vscode.commands.executeCommand("agentls.ui.model");
      await panel.show({ focus: true });
      return;
    case "new":
      await vscode.commands.executeCommand("agentls.ui.panel.new");
      return;
    case "log":
    case "restart":
    case "sessions":
    case "setup":
      await vscode.commands.executeCommand(`agentls.ui.${action}`);
      return;
  }
}

function retry(panel: Panel, turn: string): void {
  const asked = panel.conversation.turn(turn);
  if (asked === undefined || asked.prompt === "") return;
  panel.post({ type: "prompt", text: asked.prompt });
  panel.post({ type: "focus" });
}

/** Loads what calls of a turn gave; events do not tell it. */
async function results(panel: Panel, turn: string): Promise<void> {
  const { conversation, agentls } = panel;
  if (!conversation.has(turn)) return;
  const shown = await agentls.server.command("agentls.session.show", { session: conversation.session });
  for (const [id, text] of resultsIn(shown)) conversation.extra(turn).results.set(id, text);
  panel.changed(turn);
}
