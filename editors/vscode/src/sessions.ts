import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { offer, registerCommands, showFailure } from "./commands.js";
import { heading, pick, type Row } from "./pick.js";
import type { SessionInfo } from "./protocol.js";
import { fileName, groups, markdown, titleOf } from "./sessiontext.js";
import { back } from "./steps.js";
import { plain } from "./text.js";

const scheme = "agentls-session";

type Verb = "resume" | "fork" | "open" | "clear" | "delete";

interface Choice {
  session: SessionInfo;
  verb: Verb;
}

const buttons: Record<Exclude<Verb, "resume">, vscode.QuickInputButton> = {
  fork: { iconPath: new vscode.ThemeIcon("repo-forked"), tooltip: "Fork, and go on with the copy" },
  open: { iconPath: new vscode.ThemeIcon("markdown"), tooltip: "Read it as Markdown" },
  clear: { iconPath: new vscode.ThemeIcon("clear-all"), tooltip: "Clear: forget its messages" },
  delete: { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Delete" },
};

const placeholders: Record<Verb, string> = {
  resume: "Pick a session to go on with it",
  fork: "Pick a session to go on with a copy of it",
  open: "Pick a session to read it",
  clear: "Pick a session to forget its messages",
  delete: "Pick a session to delete it",
};

class Sessions implements vscode.TextDocumentContentProvider {
  constructor(readonly agentls: Agentls) {}

  /** Lists the sessions; picking one does verb, its buttons the rest. Stays while sessions are cleared and deleted. */
  async list(verb: Verb): Promise<void> {
    for (;;) {
      const list = await this.agentls.server.command("agentls.session.list", {});
      if (list.length === 0) {
        await offer("information", "There is no session of this folder yet. The first prompt begins one.", {
          "Ask…": () => vscode.commands.executeCommand("agentls.ui.ask"),
        });
        return;
      }
      const choice = await pick<Choice>({
        title: "agentls: sessions",
        placeholder: placeholders[verb],
        rows: rows(list, verb),
        onButton: (button, { session }) => {
          const pressed = (Object.keys(buttons) as (keyof typeof buttons)[]).find((name) => buttons[name] === button);
          return pressed && { session, verb: pressed };
        },
      });
      if (choice === undefined || choice === back) return;
      const stays = choice.verb === "clear" || choice.verb === "delete";
      try {
        await this.act(choice.session, choice.verb);
      } catch (error) {
        if (!stays) throw error;
        showFailure(this.agentls, error);
      }
      if (!stays) return;
    }
  }

  /** Does something about one session, which is known by its id alone. */
  async of(session: string, verb: Verb): Promise<void> {
    const [info] = await this.agentls.server.command("agentls.session.list", { session });
    if (info === undefined) throw new Error("This session is gone: it was deleted, or its folder is not open.");
    await this.act(info, verb);
  }

  async act(info: SessionInfo, verb: Verb): Promise<void> {
    const { session } = info;
    switch (verb) {
      case "resume": {
        await this.agentls.panel.show({ session, focus: true });
        return;
      }
      case "fork": {
        const fork = await this.agentls.server.command("agentls.session.fork", { session });
        await this.agentls.panel.show({ session: fork.session, focus: true });
        return;
      }
      case "open": {
        await this.#open(info);
        return;
      }
      case "clear":
        if (
          !(await isSure(
            `Forget all messages of “${plain(titleOf(info))}”?`,
            "The next prompt in it begins anew.",
            "Clear",
          ))
        )
          return;
        await this.agentls.server.command("agentls.session.clear", { session });
        return;
      case "delete":
        if (
          !(await isSure(
            `Delete “${plain(titleOf(info))}”?`,
            "Its messages are gone then. Prompt buffers and answers in documents stay.",
            "Delete",
          ))
        )
          return;
        await this.agentls.server.command("agentls.session.delete", { session });
    }
  }

  async #open(info: SessionInfo): Promise<void> {
    const query = new URLSearchParams({ session: info.session, updated: info.updatedAt }).toString(); // a later text is another document
    const uri = vscode.Uri.from({ scheme, path: `/${fileName(info)}`, query });
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.languages.setTextDocumentLanguage(document, "markdown");
    await vscode.window.showTextDocument(document);
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const session = new URLSearchParams(uri.query).get("session") ?? "";
    return markdown(await this.agentls.server.command("agentls.session.show", { session }));
  }
}

function rows(list: readonly SessionInfo[], verb: Verb): Row<Choice>[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  const folderName = (path: string) => folders.find((f) => f.uri.fsPath === path)?.name ?? path;
  return groups(list, Date.now(), folders.length > 1 ? folderName : undefined).flatMap((group) => [
    heading(group.heading),
    ...group.rows.map(({ session, ...row }) => ({ ...row, buttons: Object.values(buttons), value: { session, verb } })),
  ]);
}

/** Asks before something is lost. The first button is the default one, and it is no. */
async function isSure(question: string, detail: string, yes: string): Promise<boolean> {
  const answer = await vscode.window.showWarningMessage(question, { modal: true, detail }, "Keep It", yes);
  return answer === yes;
}

export function register(a: Agentls): void {
  const sessions = new Sessions(a);
  a.own(vscode.workspace.registerTextDocumentContentProvider(scheme, sessions));
  const run = (verb: Verb) => (_: Agentls, session: unknown) =>
    typeof session === "string" ? sessions.of(session, verb) : sessions.list(verb);
  registerCommands(a, [
    { id: "agentls.ui.sessions", needs: ["server"], run: () => sessions.list("resume") },
    { id: "agentls.ui.sessions.clear", needs: ["server"], run: run("clear") },
    { id: "agentls.ui.sessions.delete", needs: ["server"], run: run("delete") },
    { id: "agentls.ui.sessions.fork", needs: ["server"], run: run("fork") },
    { id: "agentls.ui.sessions.open", needs: ["server"], run: run("open") },
    { id: "agentls.ui.sessions.resume", needs: ["server"], run: run("resume") },
  ]);
}
