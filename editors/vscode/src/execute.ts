import type { Agentls } from "./agentls.js";
import { ask } from "./ask.js";
import { showFailure } from "./commands.js";
import { send } from "./promptbuffer.js";
import type { AskArgument, SendArgument, UsePromptArgument } from "./protocol.js";
import { startRun } from "./run.js";

/**
 * Runs a command that the server announced: those of code actions and lenses. The language client alone would send
 * it without a cancellation token and without a progress token. A failure is told here, once.
 */
export async function executeCommand(a: Agentls, command: string, args: unknown[]): Promise<unknown> {
  try {
    switch (command) {
      case "agentls.ask":
        return await ask(a, args[0] as AskArgument);
      case "agentls.send":
        return await send(a, args[0] as SendArgument);
      case "agentls.mcp.usePrompt":
        return await startRun(a, command, args[0] as UsePromptArgument, { toast: "agentls" });
    }
    return await a.server.request("workspace/executeCommand", { command, arguments: args });
  } catch (error) {
    showFailure(a, error);
    return undefined;
  }
}
