// node scripts/icon.mjs: draws images/icon.png, which a gallery wants as pixels, from images/icon.svg.
import { readFileSync, writeFileSync } from "node:fs";
import { chromium } from "playwright-core";

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  const page = await browser.newPage({ viewport: { width: 128, height: 128 } });
  await page.setContent(`<style>body { margin: 0 }</style>${readFileSync("images/icon.svg", "utf8")}`);
  writeFileSync("images/icon.png", await page.screenshot({ omitBackground: true }));
} finally {
  await browser.close();
}
