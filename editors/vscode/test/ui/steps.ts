// Steps of the stories.
import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import type { Workbench } from "../driver/workbench";
import type { Message } from "../driver/world";

/** Asks by the palette. */
export async function ask(w: Workbench, prompt: string): Promise<void> {
  await w.command("agentls: Ask…");
  await w.input("What is the agent to do?", prompt);
}

/** The request that asked a prompt, once the server has it; it has a progress token. */
export async function started(w: Workbench, prompt: string): Promise<Message> {
  const asked = ({ params }: Message) => params.command === "agentls.ask" && params.arguments[0].prompt === prompt;
  const request = await w.until(`the request ${prompt}`, () =>
    w.world.sent("editor", "workspace/executeCommand").findLast(asked),
  );
  assert.ok(request.params.workDoneToken, "no progress token");
  return request;
}

/** Waits until a request was answered as cancelled, and until count requests to the provider were broken off. */
export async function cancelled(w: Workbench, request: Message, count: number): Promise<void> {
  const response = await w.until("the response", () => w.world.response(request));
  assert.equal(response.error?.code, -32800);
  await w.until("the end of the provider's request", () => w.world.hungUp() === count);
}

/** Answers the question of a card in the chat view by one of its buttons, and waits until that counted. */
export async function answerCard(w: Workbench, card: Locator, button: string): Promise<void> {
  await card.first().waitFor();
  const seq = await card.first().getAttribute("aria-labelledby");
  const same = w.panel().locator(`[aria-labelledby="${seq ?? ""}"]:not([aria-busy])`);
  // A click counts once the card has stood still: what was typed may have moved it, and so does Playwright, which scrolls
  // to another place each time that it tries a click again. So it is to try one only when it will count.
  await w.until(`the click on ${button}`, async () => {
    const choice = same.getByRole("button", { name: button }).first(); // what a yes covers may follow its name
    const click = async () => {
      await choice.scrollIntoViewIfNeeded({ timeout: 1000 });
      await choice.and(w.panel().locator('[aria-disabled="false"]')).waitFor({ timeout: 2000 });
      await choice.click({ timeout: 1000 });
    };
    await click().catch(() => undefined); // it may be gone by now, or have moved
    return (await same.count()) === 0;
  });
}
