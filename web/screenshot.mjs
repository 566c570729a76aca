// Takes the README's screenshot: `npm run screenshot --prefix web`. It wants the program in $THINKD and chromium.
import { browser, open, serve } from "./test/harness.mjs";

const [chrome, daemon] = await Promise.all([browser(), serve()]);
const page = await open(chrome, daemon.url, { deviceScaleFactor: 2 });
await page.click("#try-think");
await page.locator(".foot:visible").waitFor();
await page.locator(".step.think summary").first().click();
await page.waitForTimeout(600);
await page.screenshot({ path: new URL("../docs/page.png", import.meta.url).pathname });
await chrome.close();
await daemon.close();
