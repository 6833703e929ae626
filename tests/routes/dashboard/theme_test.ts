import { assert, assertEquals } from "@std/assert";
import { assetPath, createAssetRoutes } from "../../../routes/dashboard/assets.ts";

/** What stands in the braces after a selector. */
function declarationsAfter(css: string, selector: string): string[] {
  const start = css.indexOf(`${selector} {`);
  assert(start >= 0, selector);
  const block = css.slice(css.indexOf("{", start) + 1, css.indexOf("}", start));
  return block.split(";").map((line) => line.trim()).filter((line) => line !== "");
}

Deno.test("a dark system looks like the dark theme that a visitor chooses", async () => {
  const css = await (await createAssetRoutes().request(assetPath("app.css"))).text();
  const chosen = declarationsAfter(css, '[data-theme="dark"]');
  const dark = css.slice(css.indexOf("@media only screen and (prefers-color-scheme: dark)"));
  assertEquals(declarationsAfter(dark, ":root:not([data-theme])"), chosen);
  const light = declarationsAfter(css, ':root:not([data-theme="dark"])');
  const names = (lines: readonly string[]) => lines.map((line) => line.split(":")[0]);
  assertEquals(names(chosen), names(light), "every colour has a light and a dark form");
});
