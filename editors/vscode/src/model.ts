import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { offer, registerCommands } from "./commands.js";
import { modelRows, type ModelChoice } from "./modeltext.js";
import { heading, pick } from "./pick.js";
import { tellWritten } from "./setup.js";
import { back } from "./steps.js";
import { label, plain } from "./text.js";

/** Picks the model that answers in this window, until the server ends. */
async function pickModel(a: Agentls): Promise<void> {
  const now = await a.server.command("agentls.model", { choices: false });
  const asked = a.server.command("agentls.model", {});
  const choice = await pick<ModelChoice>({
    title:
      now.model === undefined
        ? `agentls: ${plain(now.provider)} answers`
        : `agentls: ${plain(now.model)} of ${plain(now.provider)} answers`,
    placeholder: "Which model is to answer in this window? One that is not listed can be typed.",
    rows: asked.then((info) => modelRows(info).map(toRow)),
    typed: (text) => ({
      label: `$(edit) ${label(text)}`,
      description: `of ${now.provider}, as it is typed`,
      value: { provider: now.provider, model: text },
    }),
    isActive: (value) => value.provider === now.provider && value.model === now.model,
  });
  if (choice === undefined || choice === back) return;
  if (choice.setUp === true) {
    await vscode.commands.executeCommand("agentls.ui.setup");
    return;
  }
  const chosen = await a.server.command("agentls.model", {
    provider: choice.provider,
    ...(choice.model === undefined ? {} : { model: choice.model }),
    choices: false,
  });
  const { provider, model } = chosen;
  if (model === undefined) {
    await offer("information", `${plain(provider)} answers in this window from now on.`, {});
    return;
  }
  await offer(
    "information",
    `${plain(model)} of ${plain(provider)} answers in this window from now on, until the server ends.`,
    {
      "Keep It": async () => {
        const written = await a.server.command("agentls.setup", { provider, model });
        if (!("found" in written)) await tellWritten(written);
      },
    },
  );
}

function toRow(row: ReturnType<typeof modelRows>[number]) {
  return row.choice === undefined
    ? heading(row.label)
    : {
        label: row.label,
        ...(row.description === undefined ? {} : { description: row.description }),
        ...(row.detail === undefined ? {} : { detail: row.detail }),
        value: row.choice,
      };
}

export function register(a: Agentls): void {
  registerCommands(a, [{ id: "agentls.ui.model", needs: ["server"], run: () => pickModel(a) }]);
}
