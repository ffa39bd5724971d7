import * as vscode from "vscode";
import type { Agentls } from "./agentls.js";
import { offer, registerCommands } from "./commands.js";
import { heading, pick, typeLine, type Row } from "./pick.js";
import type { Found, Preset, SetupArgument, SetupResult } from "./protocol.js";
import * as secrets from "./secrets.js";
import { addressProblem, keyProblem, keyVariable, setupGroups, variableOf, type SetupChoice } from "./setuptext.js";
import { back, done, walk, type Step } from "./steps.js";
import { label, messageOf, plain } from "./text.js";

const title = "agentls: set up a model";

type Written = Exclude<SetupResult, { found: Found[] }>;

/** One walk through the questions. What it changed on its way is undone unless it comes to its end. */
class SetupWalk {
  /** What the server is to be told. */
  #wish: SetupArgument = {};
  /** Of the provider, for places where VS Code looks for links. */
  #title = "";
  #presets: Preset[] = [];

  constructor(
    readonly agentls: Agentls,
    readonly keys: secrets.Keys,
  ) {}

  async run(): Promise<void> {
    let ended = false;
    try {
      ended = await walk(this.#provider);
    } finally {
      if (!ended) await this.#dropTried();
    }
  }

  /** Takes a key that was only tried out from the server. No run ends for that: then its next start is without it. */
  async #dropTried(): Promise<void> {
    if (this.keys.dropTried() && this.agentls.runs.active().length === 0) await this.agentls.server.restart();
  }

  /** Which provider? */
  readonly #provider: Step = async (canGoBack) => {
    await this.#dropTried(); // it was for another one
    const answered = this.#look({});
    const choice = await pick<SetupChoice>({
      title,
      placeholder: "Which provider is to answer?",
      canGoBack,
      rows: answered.then(({ found, presets }) => {
        this.#presets = presets;
        return this.#providerRows(found, presets);
      }),
      onButton: (_, value) => (value.kind === "found" ? { kind: "newKey", found: value.found } : undefined),
    });
    if (choice === undefined || choice === back) return choice;
    this.#wish = {};
    switch (choice.kind) {
      case "keys":
        return this.#keptKeys;
      case "other":
        this.#title = "this endpoint";
        return this.#address;
      case "preset":
        return this.#ofPreset(choice.preset);
      case "newKey":
      case "found":
        return this.#ofFound(choice.found, choice.kind === "newKey");
    }
  };

  #providerRows(found: Found[], presets: Preset[]): Row<SetupChoice>[] {
    const replace = { iconPath: new vscode.ThemeIcon("key"), tooltip: "Give another key" };
    return setupGroups(found, presets, this.keys.names()).flatMap((group) => [
      heading(group.heading),
      ...group.rows.map((row) => ({
        label: row.label,
        ...(row.description === undefined ? {} : { description: row.description }),
        ...(row.detail === undefined ? {} : { detail: row.detail }),
        ...(row.keyVariable === undefined ? {} : { buttons: [replace] }),
        value: row.choice,
      })),
    ]);
  }

  #ofFound(found: Found, newKey: boolean): Step {
    this.#wish = { provider: found.provider };
    this.#title = plain(found.title, 80);
    const variable = keyVariable(found, this.#presets);
    if (variable !== undefined && (newKey || found.error !== undefined)) return this.#key(variable, found.error);
    return found.error === undefined ? this.#model([found]) : this.#trouble(found.error);
  }

  #ofPreset(preset: Preset): Step {
    this.#wish = { provider: preset.provider };
    this.#title = plain(preset.title, 80);
    const variable = preset.keyVariables?.[0];
    if (variable !== undefined) this.#wish.keyVariable = variable;
    if (preset.baseURL === undefined) return this.#address;
    return variable === undefined ? this.#ask : this.#key(variable);
  }

  /** At which address? */
  readonly #address: Step = async (canGoBack) => {
    const address = await typeLine({
      title,
      prompt: `The address of ${this.#title}: what comes before /chat/completions.`,
      placeholder: "https://…/v1",
      value: this.#wish.baseURL ?? "",
      canGoBack,
      check: addressProblem,
    });
    if (address === undefined || address === back) return address;
    this.#wish.baseURL = address;
    const known = this.#wish.keyVariable;
    return known === undefined ? this.#key(variableOf(address), undefined, true) : this.#key(known);
  };

  /** With which key? It is in the server's environment while the questions go on, and kept at their end. */
  #key(variable: string, problem?: string, isOptional = false): Step {
    return async (canGoBack) => {
      const key = await typeLine({
        title,
        prompt: `The key of ${this.#title}${isOptional ? " (leave it empty where there is none)" : ""}. VS Code keeps it in its secret storage and gives it to the server as ${variable}; no file and no setting holds it.`,
        password: true,
        canGoBack,
        problem: problem === undefined ? undefined : plain(problem, 300),
        check: (text) => (isOptional && text.trim() === "" ? undefined : keyProblem(text)),
      });
      if (key === undefined || key === back) return key;
      if (key === "") {
        delete this.#wish.keyVariable;
        await this.#dropTried();
        return this.#ask;
      }
      this.#wish.keyVariable = variable;
      this.keys.try(variable, key);
      const restarted = await secrets.restartWithKeys(this.agentls, title);
      if (restarted !== true) return restarted;
      return this.#askWithKey(variable);
    };
  }

  /** Asks the provider with the key that was just given. */
  #askWithKey(variable: string): Step {
    return async (canGoBack) => {
      try {
        return await this.#ask(canGoBack);
      } catch (error) {
        return this.#key(variable, messageOf(error));
      }
    };
  }

  /** Asks the provider for its models; one that has a single one is set up at once. */
  readonly #ask: Step = async () => {
    const answer = await vscode.window.withProgress(
      {
        location: vscode.ProgressLocation.Notification,
        title: `agentls: asking ${this.#title} for its models`,
      },
      () => this.agentls.server.command("agentls.setup", this.#wish),
    );
    return "found" in answer ? this.#model(answer.found) : await this.#finish(answer);
  };

  /** Which model? */
  #model(found: Found[]): Step {
    return async (canGoBack) => {
      const [first] = found;
      const model = await pick<string>({
        title,
        placeholder: `Which model of ${this.#title}? One that is not listed can be typed.`,
        canGoBack,
        rows: (first?.models ?? []).map((name) => ({
          label: label(name),
          ...(first?.inForce === true && first.model === name ? { description: "in force" } : {}),
          value: name,
        })),
        typed: (text) => ({ label: `$(edit) ${label(text)}`, description: "as it is typed", value: text }),
        isActive: (name) => first?.model === name,
      });
      if (model === undefined || model === back) return model;
      try {
        const answer = await this.agentls.server.command("agentls.setup", { ...this.#wish, model });
        return "found" in answer ? this.#model(answer.found) : await this.#finish(answer);
      } catch (error) {
        return this.#trouble(messageOf(error));
      }
    };
  }

  /** Says what is wrong, with the way back. */
  #trouble(problem: string): Step {
    return async (canGoBack) => {
      const next = await pick<"back" | "log">({
        title,
        placeholder: plain(problem, 400),
        canGoBack,
        rows: [
          { label: "$(arrow-left) Choose again", detail: plain(problem, 400), value: "back" },
          { label: "$(output) Show the log", value: "log" },
        ],
      });
      if (next === "log") this.agentls.log.show(true);
      return next === undefined || next === "log" ? undefined : back;
    };
  }

  readonly #keptKeys: Step = async (canGoBack) => {
    return await secrets.forgetKeys(this.agentls, this.keys, canGoBack);
  };

  async #finish(written: Written): Promise<typeof done> {
    await this.keys.keep();
    void tellWritten(written);
    return done;
  }

  async #look(wish: SetupArgument): Promise<{ found: Found[]; presets: Preset[] }> {
    const answer = await this.agentls.server.command("agentls.setup", wish);
    return "found" in answer ? answer : { found: [], presets: [] };
  }
}

/** Says what was written, and what a person should know. */
export async function tellWritten(written: Written): Promise<void> {
  const { inForce } = written;
  let text = `${written.model} of ${written.provider} is set up, in ${written.config}`;
  if (inForce.provider === written.provider && inForce.model === written.model && inForce.error === undefined) {
    text += "; it answers from now on";
  }
  if (written.warning !== undefined) text += ". " + written.warning;
  await offer(written.warning === undefined ? "information" : "error", plain(text + "."), {
    "Open Configuration": () => vscode.window.showTextDocument(vscode.Uri.file(written.config)),
  });
}

export function register(a: Agentls): void {
  const keys = new secrets.Keys(a);
  secrets.register(a, keys);
  registerCommands(a, [{ id: "agentls.ui.setup", needs: ["server"], run: () => new SetupWalk(a, keys).run() }]);
}
