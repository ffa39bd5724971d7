/** What the state of an MCP server means to a person, and what can be done about it. Without vscode. */
import type { ServerInfo } from "../protocol.js";
import { count, oneLine } from "../text.js";

export type ServerAction = "login" | "logout" | "logs" | "restart" | "start" | "stop" | "trust" | "distrust";

/** The embedded server, which is part of agentls: it cannot be stopped. */
export function isBuiltIn(info: ServerInfo): boolean {
  return info.command === undefined && info.url === undefined;
}

/** What can be done, the most likely first. */
export function actionsOf(info: ServerInfo): ServerAction[] {
  const list: ServerAction[] = [];
  const add = (when: boolean, action: ServerAction) => {
    if (when) list.push(action);
  };
  const own = !isBuiltIn(info);
  const isProject = info.definition !== undefined;
  const is = (...states: ServerInfo["status"][]) => states.includes(info.status);
  add(isProject && is("untrusted"), "trust");
  add(info.url !== undefined && is("needsLogin"), "login");
  add(own && is("disabled", "failed", "stopped"), "start");
  add(own && is("ready", "starting", "restarting", "needsLogin"), "restart");
  add(own && !is("disabled"), "stop");
  add(true, "logs");
  add(info.url !== undefined && is("ready"), "login");
  add(info.url !== undefined && is("ready", "needsLogin", "disabled"), "logout");
  add(isProject && info.trusted, "distrust");
  return list;
}

export const actionWords: Record<ServerAction, { title: string; icon: string }> = {
  distrust: { title: "Withdraw Trust", icon: "workspace-untrusted" },
  login: { title: "Log In", icon: "sign-in" },
  logout: { title: "Log Out", icon: "sign-out" },
  logs: { title: "Show Logs", icon: "output" },
  restart: { title: "Restart", icon: "debug-restart" },
  start: { title: "Start", icon: "play" },
  stop: { title: "Stop", icon: "debug-stop" },
  trust: { title: "Trust…", icon: "shield" },
};

/** The words that the menus of the tree look for. */
export function contextOf(info: ServerInfo): string {
  const can = actionsOf(info).map((action) => "can" + action.charAt(0).toUpperCase() + action.slice(1));
  return ["server", ...can].join(" ");
}

/** Whether a person has to do something before it can be used. */
export function needsPerson(info: ServerInfo): boolean {
  return info.status === "untrusted" || info.status === "needsLogin" || info.status === "failed" || isUnset(info);
}

function isUnset(info: ServerInfo): boolean {
  return info.needs !== undefined && info.needs !== "" && info.status !== "ready" && info.status !== "disabled";
}

interface Standing {
  icon: string;
  color?: string;
}

/** A codicon, and a color of the theme. */
export function iconOf(info: ServerInfo): Standing {
  switch (info.status) {
    case "ready":
      return { icon: "pass-filled", color: "testing.iconPassed" };
    case "starting":
    case "restarting":
      return { icon: "loading~spin" };
    case "untrusted":
      return { icon: "shield", color: "list.warningForeground" };
    case "needsLogin":
      return { icon: "key", color: "list.warningForeground" };
    case "failed":
      return { icon: "error", color: "list.errorForeground" };
    case "disabled":
      return { icon: "circle-slash", color: "disabledForeground" };
    case "stopped":
      return { icon: "circle-outline" };
  }
}

const words: Record<ServerInfo["status"], string> = {
  disabled: "disabled",
  failed: "failed",
  needsLogin: "needs a login",
  ready: "ready",
  restarting: "restarting",
  starting: "starting",
  stopped: "stopped",
  untrusted: "not trusted",
};

/** A few words beside the name. */
export function describe(info: ServerInfo): string {
  if (isUnset(info)) return `needs ${oneLine(info.needs!, 60)}`;
  const why = info.error === undefined || info.error === "" ? "" : `: ${oneLine(info.error, 80)}`;
  return info.status === "ready" ? countsOf(info) : words[info.status] + why;
}

/** How many tools, resources and prompts it has, as far as that is known. */
export function countsOf(info: ServerInfo): string {
  const parts: string[] = [];
  if (info.tools !== null && info.tools > 0) parts.push(count(info.tools, "tool"));
  if (info.resources !== null && info.resources > 0) parts.push(count(info.resources, "resource"));
  if (info.prompts !== null && info.prompts > 0) parts.push(count(info.prompts, "prompt"));
  return parts.length === 0 ? words[info.status] : parts.join(" · ");
}

/** All that is known of it, a line each. */
export function tooltipOf(info: ServerInfo): string {
  const lines = [`${oneLine(info.name)}: ${words[info.status]}`];
  const add = (name: string, value: string | undefined, max = 1000) => {
    if (value !== undefined && value !== "") lines.push(`${name}: ${oneLine(value, max)}`);
  };
  add("Error", info.error);
  add("Needs", info.needs);
  add("Command", [info.command, ...(info.args ?? [])].filter((part) => part !== undefined).join(" "));
  add("URL", info.url);
  add("Environment", info.env?.join(", "));
  add("Headers", info.headers?.join(", "));
  if (!isBuiltIn(info)) add("From", sourceOf(info));
  if (info.mention !== info.name) add("Mentioned as", "@" + info.mention);
  add("MCP", info.protocol);
  if (info.status === "ready") lines.push(countsOf(info));
  return lines.join("\n");
}

export function sourceOf(info: ServerInfo): string {
  return info.source === "editor" ? "the settings of the editor" : info.source;
}
