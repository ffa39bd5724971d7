// What issue and README promise, as a person does it: one window, from the first question to the last toast.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answerCard, ask, cancelled, started } from "./steps";
import { workbench } from "../driver/workbench";

test("the story of a window", async (t) => {
  const w = await workbench(t, { files: { "a.agentls.md": "## You\n\n" } });
  const { world } = w;

  await t.test("what is asked in the palette is answered, and the answer streams", async () => {
    await ask(w, "SAY one two three");
    const request = await started(w, "SAY one two three");
    await w.conversation().getByText("one two three", { exact: true }).waitFor();
    const { result } = await w.until("the result", () => world.response(request));
    assert.equal(result.text, "one two three");
    const events = world.sent("server", "agentls/runEvent").map(({ params }) => params);
    const pieces = events.filter(({ kind, runId }) => kind === "text" && runId === result.runId);
    assert.equal(pieces.map(({ delta }) => delta).join(""), "one two three");
  });

  await t.test("a popup of mentions survives : and / at any speed, and is accepted", async () => {
    await w.openFile("a.agentls.md");
    for (const [n, delay] of [0, 5, 20, 80, 0, 5, 20, 80, 0, 0].entries()) {
      await w.type("@test:test://docs/wor", delay);
      await w.until(`popup ${n}`, async () => (await w.suggestions()).includes("> world.md"));
      await w.press("Enter");
      await w.until(`mention ${n}`, async () => (await w.text()).includes("@test:test://docs/world.md"));
      await w.press("Control+A", "Delete");
    }
  });

  await t.test("a run is cancelled from its notification", async () => {
    await ask(w, "SLOW one");
    const request = await started(w, "SLOW one");
    await w.until(
      "an answer that streams",
      () => world.sent("server", "agentls/runEvent").at(-1)?.params.kind === "text",
    );
    await w.toastButton("agentls: SLOW one", "Cancel");
    await cancelled(w, request, 1);
    assert.equal(world.sent("editor", "$/cancelRequest").at(-1)?.params.id, request.id);
    await w.toast("agentls: SLOW one").waitFor({ state: "hidden" });
  });

  await t.test("a run is cancelled from the chat view", async () => {
    await w.panel().getByRole("combobox").fill("SLOW two");
    await w.panel().getByRole("button", { name: "Send (Enter)" }).click();
    const request = await started(w, "SLOW two");
    await w.conversation().getByText("word9").first().waitFor();
    assert.equal(await w.toast("SLOW two").count(), 0, "a prompt of the chat view needs no notification");
    await w
      .panel()
      .getByRole("button", { name: /^Cancel the run/ })
      .click();
    await cancelled(w, request, 2);
    await w.conversation().getByText("Cancelled").last().waitFor();
  });

  await t.test("a question is answered in the chat view: allowed, then denied with a reason", async () => {
    await ask(w, `CALL echo {"text": "allowed"}`);
    const card = w.panel().getByRole("group", { name: "Run echo of test?" });
    await card.waitFor();
    assert.equal(world.received("tools/call").length, 0);
    await answerCard(w, card, "Allow Once");
    await w.conversation().getByText("Tool said: echo allowed").first().waitFor();
    await card.waitFor({ state: "hidden" });

    await ask(w, `CALL echo {"text": "denied"}`);
    await card.waitFor();
    await card.getByRole("textbox", { name: /Why not/ }).fill("the wrong word");
    await answerCard(w, card, "Deny");
    await w
      .panel()
      .getByText(/Tool said:.*the wrong word/)
      .first()
      .waitFor();
    const calls = world.received("tools/call").map((call) => call.arguments.text as string);
    assert.deepEqual(calls, ["allowed"]);
    const answers = world
      .sent("server", "agentls/approve")
      .map((question) => world.response(question)?.result.decision);
    assert.deepEqual(answers, ["once", "deny"]);
  });

  await t.test("the page asks nobody else", () => assert.deepEqual(w.foreign, []));
});
