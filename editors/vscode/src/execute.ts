import type { Agentls } from "./agentls.js";
import { showFailure } from "./commands.js";
import type { Commands, RunCommand } from "./protocol.js";
import { startRun } from "./run.js";

const runCommands: readonly string[] = ["agentls.ask", "agentls.send", "agentls.mcp.usePrompt"] satisfies RunCommand[];

/**
 * Runs a command that the server announced: those of code actions and lenses. The language client alone would send
 * it without a cancellation token and without a progress token. A failure is told here, once.
 */
export async function executeCommand(a: Agentls, command: string, args: unknown[]): Promise<unknown> {
  try {
    if (runCommands.includes(command)) {
      return await startRun(a, command as RunCommand, args[0] as Commands[RunCommand]["argument"], {
        toast: "agentls",
      });
    }
    return await a.server.request("workspace/executeCommand", { command, arguments: args });
  } catch (error) {
    showFailure(a, error);
    return undefined;
  }
}
