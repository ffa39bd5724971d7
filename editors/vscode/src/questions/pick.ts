import * as vscode from "vscode";
import type { Agentls } from "../agentls.js";
import { label } from "../text.js";
import type { Question } from "./question.js";
import { buttons, descriptionOf, left, title, whose } from "./words.js";

interface Item extends vscode.QuickPickItem {
  id: string;
}

const review: vscode.QuickInputButton = { iconPath: new vscode.ThemeIcon("eye"), tooltip: "Review" };

/** Lists all that waits; what is taken is shown in the panel, and nothing is allowed from here. */
export async function pickQuestion(a: Agentls): Promise<void> {
  if (a.questions.open.length === 0) {
    void vscode.window.showInformationMessage("Nothing waits for you: no run of agentls asks anything.");
    return;
  }
  const pick = vscode.window.createQuickPick<Item>();
  pick.title = "Questions of agentls";
  pick.placeholder = "Take one to review it";
  pick.matchOnDescription = pick.matchOnDetail = true;
  const fill = (): void => {
    pick.items = a.questions.open.map(itemOf);
    if (pick.items.length === 0) pick.hide();
  };
  fill();
  const following = a.questions.onDidChange(fill);
  const taken = await new Promise<string | undefined>((resolve) => {
    pick.onDidAccept(() => resolve(pick.activeItems[0]?.id));
    pick.onDidHide(() => resolve(undefined));
    pick.onDidTriggerItemButton(({ button, item }) => {
      if (button === review) resolve(item.id);
      else a.questions.answer(item.id, { decision: "deny" });
    });
    pick.show();
  });
  following.dispose();
  pick.dispose();
  if (taken !== undefined) await a.questions.review(taken);
}

function itemOf(q: Question): Item {
  const time = left(q, Date.now());
  return {
    id: q.id,
    label: label(title(q), 120),
    description: label(time === undefined ? whose(q) : `${whose(q)} · denied in ${time}`),
    detail: label(q.link?.message ?? q.form?.message ?? (q.reason || descriptionOf(q))),
    buttons: [review, { iconPath: new vscode.ThemeIcon("close"), tooltip: buttons(q)[0]!.label }],
  };
}
