import { assert, assertEquals } from "../../../support/assert.ts";
import { assetPath, createAssetRoutes } from "../../../../routes/dashboard/assets/assets.ts";
import { axisLabels } from "../../../../routes/dashboard/assets/scripts/axis_labels.js";

/** The declarations in the braces after a selector. */
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

/** Relative luminance of `#rrggbb` or `#rgb` (WCAG 2.2). */
function luminance(colour: string): number {
  const digits = colour.slice(1);
  const pairs = digits.length === 3
    ? [...digits].map((digit) => digit + digit)
    : digits.match(/../g);
  const [red, green, blue] = (pairs ?? []).map((pair) => {
    const share = parseInt(pair, 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  assert(red !== undefined && green !== undefined && blue !== undefined, colour);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

Deno.test("the text of a dangerous button is readable in every theme, the system's included", async () => {
  const css = await (await createAssetRoutes().request(assetPath("app.css"))).text();
  assert(declarationsAfter(css, "\nbutton.danger").includes("color: var(--danger-inverse)"));
  // A rule of more weight would bring back the colour of one theme in another.
  assertEquals(css.match(/\]\)? button\.danger/g), null);
  for (const theme of ['[data-theme="dark"]', ':root:not([data-theme="dark"])']) {
    const colours = new Map(
      declarationsAfter(css, theme).map((line) => line.split(": ") as [string, string]),
    );
    const text = colours.get("--danger-inverse") ?? "";
    for (const ground of ["--danger-background", "--danger-hover"]) {
      const ratio = contrast(text, colours.get(ground) ?? "");
      assert(ratio >= 4.5, `${theme} ${ground}: ${ratio.toFixed(2)}`);
    }
  }
});

Deno.test("the labels of a chart's axis differ from each other and are short", () => {
  assertEquals(axisLabels([0, 0.05, 0.1, 0.15], 0.05, "vi-VN"), ["0", "0,05", "0,1", "0,15"]);
  assertEquals(axisLabels([0, 5, 10], 5, "en-GB"), ["0", "5", "10"]);
  assertEquals(axisLabels([0, 10_000, 20_000], 10_000, "vi-VN"), ["0", "10k", "20k"]);
  assertEquals(axisLabels([0, 500, 1_000, 1_500], 500, "en-GB"), ["0", "0.5k", "1k", "1.5k"]);
  assertEquals(axisLabels([0, 2.5e6, 5e6], 2.5e6, "vi-VN"), ["0", "2,5\u00a0tr", "5\u00a0tr"]);
  assertEquals(axisLabels([0, 0.00002, 0.00004], 0.00002, "en-GB"), ["0", "0.00002", "0.00004"]);
});
