import type { Agentls } from "./agentls.js";
import { offer, showFailure } from "./commands.js";
import { pick } from "./pick.js";
import { back } from "./steps.js";
import { plural } from "./when.js";

const prefix = "agentls.key.";
const namesKey = "agentls.keys";
/** A keyring that waits for its password must not keep the server from starting. */
const patience = 10_000;

/**
 * Keys of providers, kept by VS Code under the name of the variable that the server looks for, and given to it in its
 * environment. Nothing else ever holds them: no setting, no argument, no log.
 */
export class Keys {
  /** A key that is being tried out and not kept yet. */
  #tried: { variable: string; key: string } | undefined;
  /** What the running server was given, and whether a key that was tried out is among that. */
  #given = new Map<string, string>();
  #hasTried = false;

  constructor(readonly agentls: Agentls) {}

  /** The variables whose keys are kept. */
  names(): string[] {
    return this.agentls.context.globalState.get<string[]>(namesKey, []);
  }

  /** What the server gets when it starts. A key that cannot be read is left out, and the log says so. */
  async environment(): Promise<Record<string, string>> {
    const tried = this.#tried;
    const given = new Map<string, string>();
    const read = async (variable: string) => {
      const key = await this.#read(variable);
      if (key !== undefined) given.set(variable, key);
    };
    await Promise.all(this.names().map(read)); // at once: the start has to end in time
    if (tried !== undefined) given.set(tried.variable, tried.key);
    this.#given = given;
    this.#hasTried = tried !== undefined;
    return Object.fromEntries(given);
  }

  async #read(variable: string): Promise<string | undefined> {
    const late = new Promise<undefined>((resolve) => setTimeout(resolve, patience, undefined).unref());
    try {
      const key = await Promise.race([this.agentls.context.secrets.get(prefix + variable), late]);
      if (key === undefined)
        this.agentls.log.warn(`VS Code's secret storage does not give the key ${variable}: set it up again.`);
      return key;
    } catch {
      this.agentls.log.warn(
        `VS Code's secret storage cannot be read, so the server has no ${variable}: unlock it and restart the server.`,
      );
      return undefined;
    }
  }

  /** Gives the next server a key without keeping it. */
  try(variable: string, key: string): void {
    this.#tried = { variable, key };
  }

  /** Keeps the key that was tried out, if there is one. */
  async keep(): Promise<void> {
    if (this.#tried === undefined) return;
    const { variable, key } = this.#tried;
    await this.agentls.context.secrets.store(prefix + variable, key);
    await this.agentls.context.globalState.update(namesKey, [...new Set([...this.names(), variable])].sort());
    this.#tried = undefined;
    this.#hasTried = false;
  }

  /** Drops the key that was tried out; whether the running server has it. */
  dropTried(): boolean {
    const has = this.#hasTried;
    this.#tried = undefined;
    this.#hasTried = false;
    return has;
  }

  async forget(variable: string): Promise<void> {
    this.#given.delete(variable); // what follows is no change of another window
    await this.agentls.context.secrets.delete(prefix + variable);
    await this.agentls.context.globalState.update(
      namesKey,
      this.names().filter((name) => name !== variable),
    );
  }

  /** A key that was changed in another window is given to the server of this one, as soon as nothing runs. */
  async changedElsewhere(secret: string): Promise<void> {
    if (!secret.startsWith(prefix)) return;
    const variable = secret.slice(prefix.length);
    const key = await this.agentls.context.secrets.get(secret);
    if (key === this.#given.get(variable) || this.#tried?.variable === variable) return;
    const names = this.names().filter((name) => name !== variable);
    if (key !== undefined) names.push(variable);
    await this.agentls.context.globalState.update(namesKey, names.sort());
    if (this.agentls.server.state !== "ready") return; // the next start takes it
    if (this.agentls.runs.active().length === 0) {
      await this.agentls.server.restart();
      return;
    }
    await offer("information", "A key was changed in another window. It counts here once the server was restarted.", {
      "Restart Server": () => this.agentls.server.restart(),
    });
  }
}

/** Restarts the server so that it gets other keys; asks before runs end by it. back and undefined: it did not. */
export async function restartWithKeys(a: Agentls, title: string): Promise<true | typeof back | undefined> {
  const live = a.runs.active().length;
  if (live > 0) {
    const goOn = await pick<boolean>({
      title,
      placeholder: "The server has to be restarted to get the key.",
      canGoBack: true,
      rows: [
        { label: "Not now", value: false },
        { label: `Restart, and end ${plural(live, "run")}`, value: true },
      ],
    });
    if (goOn !== true) return goOn === undefined ? undefined : back;
  }
  await a.server.restart();
  return true;
}

/** Lets a person forget kept keys. */
export async function forgetKeys(a: Agentls, keys: Keys, canGoBack: boolean): Promise<typeof back | undefined> {
  const title = "agentls: keys kept by VS Code";
  const variable = await pick<string>({
    title,
    placeholder: "Pick a key to forget it",
    canGoBack,
    rows: keys
      .names()
      .map((name) => ({ label: `$(key) ${name}`, description: "given to the server as this variable", value: name })),
  });
  if (variable === undefined || variable === back) return variable;
  const sure = await pick<boolean>({
    title,
    placeholder: `Forget ${variable}? A provider that needs it does not answer any more.`,
    canGoBack: true,
    rows: [
      { label: "Keep it", value: false },
      { label: "Forget it", value: true },
    ],
  });
  if (sure !== true) return sure === undefined ? undefined : back;
  await keys.forget(variable);
  const restarted = await restartWithKeys(a, title);
  const rest = restarted === true ? "" : " The server that runs has it until it is restarted.";
  void offer("information", `The key ${variable} is forgotten.${rest}`, {});
  return undefined;
}

/** Has the server get the keys from its first start on. */
export function register(a: Agentls, keys: Keys): void {
  a.server.environment = () => keys.environment();
  a.own(
    a.context.secrets.onDidChange((event) => {
      keys.changedElsewhere(event.key).catch((error: unknown) => showFailure(a, error));
    }),
  );
}
