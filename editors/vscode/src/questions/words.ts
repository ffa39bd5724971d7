/** What a question says: its title and its buttons. Without vscode; the texts of others are shown as texts. */
import type { Decision } from "../protocol.js";
import { canCancel, isObject } from "./answer.js";
import type { Answer, Question } from "./question.js";

/** One way to answer. */
export interface Button {
  label: string;
  answer: Answer;
  /** `no`: it is safe. `yes`: something happens by it. `other`: neither. */
  sense: "no" | "yes" | "other";
  /** What it sends: the form's values, the plan's steps, or a note that has to be written. */
  sends?: "form" | "steps" | "note";
}

/** What a trust question is about. */
export function trusts(q: Question): "server" | "change" | "folder" {
  if (q.server !== "") return "server";
  return isObject(q.arguments) && "files" in q.arguments ? "change" : "folder";
}

/** Whether a sampling question is about the model's answer, before the server gets it. */
export function isReview(q: Question): boolean {
  return q.kind === "sample" && isObject(q.arguments) && typeof q.arguments["text"] === "string";
}

/** The command that a call would run; undefined: it is another call. */
export function commandOf(q: Question): { command: string; cwd?: string } | undefined {
  if (q.server !== "" || q.tool !== "run_command" || !isObject(q.arguments)) return undefined;
  const { command, cwd } = q.arguments;
  if (typeof command !== "string") return undefined;
  return typeof cwd === "string" && cwd !== "" ? { command, cwd } : { command };
}

/** What is asked, as one question of a person's words. */
export function title(q: Question): string {
  switch (q.kind) {
    case "trust":
      return {
        server: `Start the MCP server ${q.server}?`,
        change: "Apply the changed configuration?",
        folder: "Trust this folder?",
      }[trusts(q)];
    case "sample":
      return isReview(q) ? `Send this answer to ${q.server}?` : `Let ${q.server} ask the model?`;
    case "input":
      return `${q.server} needs a value`;
    case "elicit":
      if (q.link === undefined) return `${q.server} asks you`;
      return q.link.opened ? `Are you done at ${q.link.host}?` : `Open a page of ${q.link.host}?`;
    case "plan": {
      const n = q.steps?.length ?? 0;
      return `Run this plan of ${n} ${n === 1 ? "step" : "steps"}?`;
    }
    case "tool":
      if (q.preview !== undefined) return `Change ${q.preview.path}?`;
      if (commandOf(q) !== undefined) return "Run this command?";
      return q.server === "" ? `Run ${q.tool}?` : `Run ${q.tool} of ${q.server}?`;
  }
}

const no = (label: string): Button => ({ label, answer: { decision: "deny" }, sense: "no" });
const yes = (label: string, decision: Decision = "once"): Button => ({ label, answer: { decision }, sense: "yes" });

/** How a question can be answered, the safe way first. */
export function buttons(q: Question): Button[] {
  return all(q).filter((b) => b.answer.decision === "cancel" || isOffered(q, b.answer));
}

function isOffered(q: Question, a: Answer): boolean {
  return a.decision === "revise" || q.decisions.includes(a.decision as Decision);
}

function all(q: Question): Button[] {
  switch (q.kind) {
    case "trust": {
      const labels = { server: "Trust and Start", change: "Apply", folder: "Trust Folder" };
      return [no("Not Now"), yes(labels[trusts(q)])];
    }
    case "sample":
      if (isReview(q)) return [no("Deny"), yes("Send the Answer")];
      return [
        no("Deny"),
        yes("Allow Once"),
        {
          label: "Allow Once and Show Me the Answer",
          answer: { decision: "once", content: { review: true } },
          sense: "yes",
        },
        yes("Allow for This Session", "session"),
      ];
    case "input":
      return [no("Not Now"), { ...yes("Send"), sends: "form" }];
    case "elicit":
      return elicit(q);
    case "plan":
      return [
        no("Stop"),
        { label: "Ask for Another Plan", answer: { decision: "revise" }, sense: "other", sends: "note" },
        { ...yes("Run Plan"), sends: "steps" },
      ];
    case "tool":
      return [no("Deny"), yes("Allow Once"), yes("Allow for This Session", "session"), yes("Always Allow", "always")];
  }
}

function elicit(q: Question): Button[] {
  const cancel: Button[] = canCancel(q) ? [{ label: "Cancel", answer: { decision: "cancel" }, sense: "other" }] : [];
  const refuse = [no("Decline"), ...cancel];
  if (q.link === undefined) {
    return [...refuse, (q.form?.fields ?? []).length === 0 ? yes("Accept") : { ...yes("Send"), sends: "form" }];
  }
  if (!q.link.opened) return [...refuse, yes("Open in Browser")];
  return [
    ...refuse,
    yes("Continue"),
    { label: "Open Again", answer: { decision: "once", content: { open: true } }, sense: "yes" },
  ];
}

/** Whose question it is, for a list: `files · step 2`. */
export function whose(q: Question): string {
  return [q.server === "" ? "agentls" : q.server, q.part].filter((text) => text !== "").join(" · ");
}

/** What the tool says of itself. A built-in one says it to the model: a person knows it by its name. */
export function descriptionOf(q: Question): string {
  return q.kind === "tool" && q.server === "" ? "" : q.description;
}

/** How long is left until a question is denied; undefined: it is not known. */
export function left(q: Question, now: number): string | undefined {
  if (q.deadline === undefined) return undefined;
  const seconds = Math.max(0, Math.ceil((q.deadline - now) / 1000));
  const minutes = Math.floor(seconds / 60);
  return `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
}
