import type { Agentls } from "../agentls.js";
import { Actions } from "./actions.js";
import * as configure from "./configure.js";
import { Documents } from "./documents.js";
import { Logins } from "./login.js";
import * as manage from "./manage.js";
import * as resources from "./resources.js";
import * as tree from "./tree.js";
import * as useprompt from "./useprompt.js";

/** What there is about MCP servers: their view, their commands, their resources and prompts. */
export function register(a: Agentls): void {
  const documents = a.own(new Documents(a));
  configure.register(a);
  manage.register(a, new Actions(a, documents, new Logins(a)));
  resources.register(a);
  tree.register(a);
  useprompt.register(a, documents);
}
