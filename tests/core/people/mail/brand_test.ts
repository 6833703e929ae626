/** The operator's brand: what is refused at the start, and that every accepted colour can be read in both themes. */
import fc from "fast-check";
import {
  contrastOf,
  logoProblem,
  readableIn,
  readColours,
  readLogo,
  surfaces,
} from "../../../../core/people/mail/brand.ts";
import { readConfig } from "../../../../core/config/config.ts";
import { brandFiles } from "../../../../routes/dashboard/assets/brand_files.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";

const fileText = await Deno.readTextFile(new URL("../../../../gateway.json", import.meta.url));
const styles = new URL("../../../../routes/dashboard/assets/styles/", import.meta.url);

const colour = fc.integer({ min: 0, max: 0xffffff })
  .map((value) => `#${value.toString(16).padStart(6, "0")}`);

Deno.test("an accepted colour is readable on every surface and button, a refused one names one that would do", () => {
  fc.assert(fc.property(colour, (written) => {
    const read = readColours(written);
    const isReadable = surfaces.light.every((surface) => contrastOf(written, surface) >= 4.5);
    assertEquals(read.ok, isReadable, written);
    if (!read.ok) {
      const nearest = readableIn("light", written);
      assertStringIncludes(read.problem, nearest);
      assert(readColours(nearest).ok, nearest);
      return;
    }
    for (const theme of ["light", "dark"] as const) {
      const { text, fill, onFill } = read.colours[theme];
      for (const surface of surfaces[theme]) assert(contrastOf(text, surface) >= 4.5, written);
      assert(contrastOf(fill, onFill) >= 4.5, `${written}: words on a button`);
    }
  }));
});

Deno.test("the surfaces that colours are checked on are those of the style sheets", async () => {
  for (const [theme, file] of [["light", "theme.css"], ["dark", "dark_theme.css"]] as const) {
    const css = await Deno.readTextFile(new URL(file, styles));
    const names = ["--pico-background-color", "--surface", "--surface-soft"];
    const found = names.map((name) => new RegExp(`${name}: (#[0-9a-f]+)`).exec(css)?.[1]);
    const whole = found.map((one) => one === "#fff" ? "#ffffff" : one);
    assertEquals(whole, [...surfaces[theme]], file);
  }
});

const drawing =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M1 1h7"/></svg>';

Deno.test("a logo is a drawing alone", () => {
  assertEquals(logoProblem(drawing), undefined);
  assertEquals(
    logoProblem(`<?xml version="1.0"?>\n<!-- made by hand -->\n${drawing}\n`),
    undefined,
  );
  const inside = (part: string) => drawing.replace("<path", `${part}<path`);
  for (
    const [text, word] of [
      ["<html></html>", "not an SVG"],
      [drawing.replace(' viewBox="0 0 9 9"', ""), "viewBox"],
      [inside("<script>1</script>"), "script"],
      [drawing.replace("<path", '<path onclick="x()"'), "event handler"],
      [inside('<image href="https://evil.example/x.png"/>'), "outside"],
      [inside("<style>@import url(x.css)</style>"), "imported"],
      [inside('<rect fill="url(https://evil.example#a)"/>'), "outside"],
      [inside("<foreignObject/>"), "foreign"],
      [`<!DOCTYPE svg [<!ENTITY a "b">]>${drawing}`, "not an SVG"],
      [inside("x".repeat(70_000)), "64 KB"],
    ] as const
  ) assertStringIncludes(logoProblem(text) ?? "", word, text.slice(0, 90));
  assertEquals(logoProblem(inside('<use href="#a"/><rect fill="url(#b)"/>')), undefined);
});

Deno.test("the address of a logo is https, and cannot widen the policy of pages", () => {
  const read = readLogo("https://cdn.example/logo.png", undefined);
  assert(read.ok && read.logo.kind === "address");
  for (
    const address of [
      "http://cdn.example/logo.png",
      "javascript://x",
      "https://a@cdn.example/x.png",
      "https://cdn.example/x.png; script-src *",
    ]
  ) assert(!readLogo(address, undefined).ok, address);
});

Deno.test("every problem of a brand stops the start with its variable and what to write", () => {
  const problemsOf = (environment: Record<string, string>, logo?: string | { problem: string }) => {
    const read = readConfig(environment, fileText, logo);
    return read.ok ? [] : read.problems;
  };
  const all = problemsOf({
    GATEWAY_BRAND_NAME: "a\nb",
    GATEWAY_BRAND_LOGO: "logo.svg",
    GATEWAY_BRAND_COLOUR: "#ffd400",
    GATEWAY_BRAND_SUPPORT: "0900 000 000",
  }, { problem: "cannot be read (no such file)" });
  for (const name of ["NAME", "LOGO", "COLOUR", "SUPPORT"]) {
    assert(all.some((line) => line.startsWith(`environment GATEWAY_BRAND_${name}: `)), name);
  }
  assertEquals(all.length, 4, all.join("\n"));
  const two = { GATEWAY_SUPPORT: "a@b.example", GATEWAY_BRAND_SUPPORT: "c@d.example" };
  assertEquals(problemsOf(two).length, 1);
  const good = {
    GATEWAY_BRAND_NAME: "Acme AI",
    GATEWAY_BRAND_LOGO: "logo.svg",
    GATEWAY_BRAND_COLOUR: "#1d4ed8",
    GATEWAY_BRAND_SUPPORT: "help@acme.example",
  };
  const read = readConfig(good, fileText, drawing);
  assert(read.ok);
  const { shown, files } = brandFiles(read.config.brand);
  assertEquals(shown.name, "Acme AI");
  assertEquals(read.config.support?.href, "mailto:help@acme.example");
  const paths = files.map(({ path }) => path);
  for (const path of [shown.logo, shown.style, shown.icon]) {
    assert(paths.includes(path ?? ""), path);
  }
  assertStringIncludes(new TextDecoder().decode(files[0]?.plain), "#1d4ed8");
});
