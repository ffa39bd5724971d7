// What is typed and chosen: the palette, quick picks, input boxes. Part of the workbench (workbench.ts).
import type { Locator, Page } from "playwright-core";

type Truthy<T> = Exclude<T, undefined | null | false | 0 | "">;

/** How long a thing that should happen may take, in ms. */
const patience = Number(process.env["PATIENCE"] ?? 30_000);

export class Commands {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
    page.setDefaultTimeout(patience);
  }

  /** Polls look until it gives something truthy; its value. */
  async until<T>(what: string, look: () => T | Promise<T>, within = patience): Promise<Truthy<T>> {
    for (const deadline = Date.now() + within; ;) {
      const value = await look();
      if (value) return value as Truthy<T>;
      if (Date.now() > deadline) throw new Error(`${what}: not within ${within / 1000} s`);
      await this.page.waitForTimeout(25);
    }
  }

  /** Runs a command by its exact title in the palette, category and all; waits until it is contributed and enabled. */
  async command(title: string): Promise<void> {
    await this.page.keyboard.press("F1");
    await this.quickInput().fill(`>${title}`);
    const label = this.page.locator(".label-name").getByText(title, { exact: true });
    await this.quickRows().filter({ has: label }).first().click();
  }

  /** The titles that the palette offers for a text, as far as they are visible. */
  async commands(text: string): Promise<string[]> {
    await this.page.keyboard.press("F1");
    await this.quickInput().fill(`>${text}`);
    await this.quickRows().first().waitFor();
    const titles = await this.quickRows().locator(".label-name").allInnerTexts();
    await this.page.keyboard.press("Escape");
    return titles;
  }

  /** The text field of a quick pick or an input box. */
  quickInput(): Locator {
    return this.page.locator(".quick-input-widget input.input");
  }

  quickRows(): Locator {
    return this.page.locator(".quick-input-list .monaco-list-row");
  }

  /** Answers an input box. about: a part of its title, message or placeholder. */
  async input(about: string, text: string): Promise<void> {
    await this.quick(about);
    await this.quickInput().fill(text);
    await this.page.keyboard.press("Enter");
  }

  /** Waits for the quick pick or input box with a text in its title, message or placeholder. */
  async quick(about: string): Promise<Locator> {
    const widget = this.page.locator(".quick-input-widget");
    const told = widget
      .locator(".quick-input-title, .quick-input-message, .quick-input-description")
      .filter({ hasText: about });
    const hint = widget.locator(
      `input.input[placeholder*=${JSON.stringify(about)}], input.input[aria-label*=${JSON.stringify(about)}]`,
    );
    await told.or(hint).filter({ visible: true }).first().waitFor();
    return widget;
  }

  /** A row of the quick pick that has a label, also among others of its name the first. */
  row(label: string | RegExp): Locator {
    const name = this.page.locator(".label-name").getByText(label, { exact: typeof label === "string" });
    return this.quickRows().filter({ has: name }).first();
  }

  async pick(label: string | RegExp): Promise<void> {
    await this.row(label).click();
  }

  /** A button in a row of the quick pick, or in its title bar without a row, by its tooltip. */
  async quickButton(tooltip: string, row?: string | RegExp): Promise<void> {
    const button = `[aria-label=${JSON.stringify(tooltip)}]`;
    if (row === undefined) {
      const beginning = button.replace("=", "^="); // its keys may follow
      await this.page.locator(`.quick-input-titlebar ${beginning}, .quick-input-header ${beginning}`).first().click();
      return;
    }
    await this.row(row).hover();
    await this.row(row).locator(button).first().click();
  }

  /** Types as a person does, key by key. */
  async type(text: string, delay = 0): Promise<void> {
    await this.page.keyboard.type(text, { delay });
  }

  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }
}
