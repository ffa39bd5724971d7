// The chat view's page in a plain browser, with VS Code's side of it played by the test: fast, and without a workbench.
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { FromPanel, ToPanel } from "../../src/panel/messages.js";
import { page as html } from "../../src/panel/html.js";

const host = "http://panel.test";

/** The colours of VS Code's standard themes that the page uses, enough to see it by. */
export const themes = {
  dark: {
    foreground: "#cccccc", "editor-foreground": "#cccccc", "sideBar-background": "#181818", descriptionForeground: "#9d9d9d",
    focusBorder: "#0078d4", "input-background": "#313131", "input-foreground": "#cccccc", "input-border": "#3c3c3c",
    "input-placeholderForeground": "#989898", "button-secondaryBackground": "#313131", "button-secondaryForeground": "#cccccc",
    "textLink-foreground": "#4daafc", "textCodeBlock-background": "#2b2b2b", "textPreformat-background": "#3c3c3c", "textPreformat-foreground": "#d0d0d0",
    "widget-border": "#313131", "editorWidget-background": "#202020", "editorSuggestWidget-background": "#202020", "editorSuggestWidget-border": "#454545",
    "editorSuggestWidget-selectedBackground": "#04395e", "charts-green": "#89d185", errorForeground: "#f85149", "editorWarning-foreground": "#cca700",
    "inputValidation-errorBackground": "#5a1d1d", "inputValidation-errorBorder": "#be1100", "textBlockQuote-background": "#2b2b2b", "textBlockQuote-border": "#616161",
    "toolbar-hoverBackground": "#5a5d5e50", "list-hoverBackground": "#2a2d2e",
  },
  light: {
    foreground: "#3b3b3b", "editor-foreground": "#3b3b3b", "sideBar-background": "#f8f8f8", descriptionForeground: "#5f5f5f",
    focusBorder: "#005fb8", "input-background": "#ffffff", "input-foreground": "#3b3b3b", "input-border": "#cecece",
    "input-placeholderForeground": "#767676", "button-secondaryBackground": "#e5e5e5", "button-secondaryForeground": "#3b3b3b",
    "textLink-foreground": "#005fb8", "textCodeBlock-background": "#f0f0f0", "textPreformat-background": "#0000001f", "textPreformat-foreground": "#3b3b3b",
    "widget-border": "#e5e5e5", "editorWidget-background": "#f8f8f8", "editorSuggestWidget-background": "#f8f8f8", "editorSuggestWidget-border": "#c8c8c8",
    "editorSuggestWidget-selectedBackground": "#e8e8e8", "charts-green": "#388a34", errorForeground: "#c72e0f", "editorWarning-foreground": "#8f6a00",
    "inputValidation-errorBackground": "#f2dede", "inputValidation-errorBorder": "#be1100", "textBlockQuote-background": "#f0f0f0", "textBlockQuote-border": "#e5e5e5",
    "toolbar-hoverBackground": "#b8b8b850", "list-hoverBackground": "#f2f2f2",
  },
}; // prettier-ignore

declare global {
  interface Window {
    posted: FromPanel[];
    kept: unknown;
  }
}

/** A page, its VS Code played by the test. */
export class PanelPage {
  private constructor(readonly page: Page) {}

  /** kept: what the view remembered from before. */
  static async open(
    browser: Browser,
    o: { dist: string; width?: number; theme?: keyof typeof themes; kept?: unknown },
  ): Promise<PanelPage> {
    const page = await browser.newPage({ viewport: { width: o.width ?? 380, height: 720 } });
    const text = html({ script: `${host}/panel.js`, style: `${host}/panel.css`, cspSource: host, nonce: "n" });
    await page.route(`${host}/**`, async (route) => {
      const name = new URL(route.request().url()).pathname.slice(1);
      if (name === "") await route.fulfill({ contentType: "text/html", body: text });
      else
        await route.fulfill({
          path: join(o.dist, name),
          contentType: name.endsWith(".css") ? "text/css" : "text/javascript",
        });
    });
    await page.addInitScript((kept) => {
      window.posted = [];
      window.kept = kept;
      Object.assign(window, {
        acquireVsCodeApi: () => ({
          postMessage: (m: FromPanel) => window.posted.push(structuredClone(m)),
          getState: () => window.kept,
          setState: (s: unknown) => (window.kept = structuredClone(s)),
        }),
      });
    }, o.kept);
    await page.goto(`${host}/`);
    await page.locator("textarea").waitFor();
    const opened = new PanelPage(page);
    await opened.theme(o.theme ?? "dark");
    return opened;
  }

  async theme(name: keyof typeof themes): Promise<void> {
    await this.page.evaluate((colours) => {
      const root = document.documentElement.style;
      for (const [key, value] of Object.entries(colours)) root.setProperty(`--vscode-${key}`, value);
      root.setProperty("--vscode-font-family", "sans-serif");
      root.setProperty("--vscode-font-size", "13px");
      root.setProperty("--vscode-editor-font-family", "monospace");
      root.setProperty("--vscode-editor-font-size", "12px");
      document.body.style.background = colours["sideBar-background"];
    }, themes[name]);
  }

  /** Says something to the page. */
  async say(...messages: ToPanel[]): Promise<void> {
    await this.page.evaluate(
      (all) => all.forEach((m) => window.dispatchEvent(new MessageEvent("message", { data: m }))),
      messages,
    );
  }

  /** What the page said, of a type. */
  async heard<T extends FromPanel["type"]>(type: T): Promise<Extract<FromPanel, { type: T }>[]> {
    const all = await this.page.evaluate(() => window.posted);
    return all.filter((m): m is Extract<FromPanel, { type: T }> => m.type === type);
  }

  /** Waits for the next message of a type after those that were heard of it. */
  async next<T extends FromPanel["type"]>(type: T, after: number): Promise<Extract<FromPanel, { type: T }>> {
    await this.page.waitForFunction(([t, n]) => window.posted.filter((m) => m.type === t).length > n, [
      type,
      after,
    ] as const);
    return (await this.heard(type))[after] as Extract<FromPanel, { type: T }>;
  }
}
