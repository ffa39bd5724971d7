import type { Agentls } from "./agentls.js";
import { ask } from "./ask.js";
import { showFailure } from "./commands.js";
import { send } from "./promptbuffer.js";
import type { SendArgument, UsePromptArgument } from "./protocol.js";
import { startRun } from "./run.js";

/**
 * Runs a command that the server announced: those of its code actions and lenses. The language client alone would send
 * it without a cancellation token and without a progress token. A failure is told here, once.
 */
export async function executeCommand(a: Agentls, command: string, args: unknown[]): Promise<unknown> {
  try {
    const argument = args[0];
    if (typeof argument === "object" && argument !== null) {
      switch (command) {
        case "agentls.ask":
          return await ask(a, argument);
        case "agentls.send":
          return await send(a, argument as SendArgument);
        case "agentls.mcp.usePrompt": {
          const prompt = argument as UsePromptArgument;
          if (prompt.run !== true) break;
          return await startRun(a, command, prompt, { toast: `agentls: ${prompt.server} ${prompt.name}` });
        }
      }
    }
    return await a.server.request("workspace/executeCommand", { command, arguments: args });
  } catch (error) {
    showFailure(a, error);
    return undefined;
  }
}
