import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { AxeResults } from "axe-core";
import { workbench } from "../driver/workbench.js";
import { extensionFolder } from "../driver/world.js";

const axe = readFileSync(createRequire(join(extensionFolder, "package.json")).resolve("axe-core/axe.min.js"), "utf8");

// The page's own policy stops scripts that are put into it, and so axe is evaluated by the browser's debugger.
test("axe finds nothing serious in the chat view, in any kind of theme", async (t) => {
  const w = await workbench(t);
  await w.show();
  const p = w.panel();
  const input = p.getByRole("combobox", { name: "Prompt" });
  await input.fill("SAY # Head\\n and [a link](https://x.example) `code`");
  await input.press("Enter");
  await p.getByText("10 tokens in, 5 out").waitFor();
  await input.fill("CALL nothing {}");
  await input.press("Enter");
  await p.locator(".tool").first().waitFor();
  await input.fill("");
  await input.pressSequentially("@");
  await p.getByRole("listbox").waitFor();

  for (const [theme, kind] of [
    ["Light Modern", "vscode-light"],
    ["Dark Modern", "vscode-dark"],
    ["Dark High Contrast", "vscode-high-contrast"],
    ["Light High Contrast", "vscode-high-contrast-light"],
  ] as const) {
    await t.test(kind, async () => {
      await w.command("Preferences: Color Theme");
      await w.type(theme); // the list is longer than what of it is drawn
      await w.pick(new RegExp(`^(Default )?${theme}$`));
      await p.locator(`body.${kind}`).waitFor();
      const frame = await (await p.locator("body").elementHandle()).ownerFrame();
      assert.ok(frame);
      // The page is transparent; what it stands on is in the workbench.
      await frame.evaluate(() => (document.body.style.background = "var(--vscode-sideBar-background)"));
      await frame.evaluate(axe);
      const { violations, passes } = await frame.evaluate(
        async () => await (globalThis as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
      );
      assert.ok(passes.length > 10);
      const serious = violations.filter((v) => v.impact === "serious" || v.impact === "critical");
      assert.deepEqual(
        serious.map(
          (v) => `${v.id}: ${v.nodes.map((n) => `${n.html.slice(0, 120)} ${n.failureSummary ?? ""}`).join("\n")}`,
        ),
        [],
      );
      t.diagnostic(`less than serious in ${kind}: ${violations.map((v) => v.id).join(", ")}`);
      await w.shot(`chat ${kind}`);
    });
  }
});
