/** What ticks the steps of the walkthrough off. Without vscode. */
import type { Run } from "./runs.js";

/** Context keys of steps that are done. */
export type StepKey =
  "agentls.answered" | "agentls.decided" | "agentls.hasModel" | "agentls.mentioned" | "agentls.started";

/** The steps that a run shows to be done. */
export function stepsOf(run: Run): StepKey[] {
  const keys: StepKey[] = [];
  if (run.status === "completed") keys.push("agentls.answered");
  for (const item of run.items) {
    if (item.kind === "mention" && !keys.includes("agentls.mentioned")) keys.push("agentls.mentioned");
    const decided = item.kind === "approval" && item.approval.state === "resolved";
    if (decided && !keys.includes("agentls.decided")) keys.push("agentls.decided");
  }
  return keys;
}
