/** The Markdown of the playground in a real browser: what models write becomes elements, and never more than that. */
import { assert, assertEquals } from "../support/assert.ts";
import type { Browser, Page } from "playwright-core";
import { until } from "../support/until.ts";
import { browserTest } from "../support/browser/chromium.ts";

const modules = new URL("../../routes/dashboard/assets/playground/", import.meta.url);

/** Serves the modules, and a page that renders a text and returns the markup that came of it. */
function serveModules() {
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async ({ url }) => {
    const { pathname } = new URL(url);
    if (pathname === "/") {
      return new Response("<!doctype html><title>Markdown</title><main></main>", {
        headers: { "content-type": "text/html" },
      });
    }
    if (!pathname.endsWith(".js")) return new Response("", { status: 404 });
    return new Response(await Deno.readTextFile(new URL(`.${pathname}`, modules)), {
      headers: { "content-type": "text/javascript" },
    });
  });
}

async function withRenderer(
  browser: Browser,
  run: (render: (text: string) => Promise<string>, page: Page) => Promise<void>,
): Promise<void> {
  await using server = serveModules();
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.addr.port}/`);
  const render = (text: string) =>
    page.evaluate<string>(`import("/markdown.js").then(({ renderMarkdown }) => {
      const main = document.querySelector("main");
      const words = { copy: "Copy", copied: "Copied" };
      main.replaceChildren(...renderMarkdown(${JSON.stringify(text)}, words));
      return main.innerHTML;
    })`);
  await run(render, page);
  await page.close();
}

await browserTest("what models write becomes the elements that it means", async (browser) => {
  await withRenderer(browser, async (render) => {
    const expected: readonly (readonly [string, string])[] = [
      [
        "# A\n\nb *c* **d** `e`",
        '<h3 data-level="1">A</h3><p>b <em>c</em> <strong>d</strong> <code>e</code></p>',
      ],
      ["- a\n- b\n  - c", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>"],
      ["3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'],
      ["1. a\n\n2. b", "<ol><li>a</li><li>b</li></ol>"],
      ["> a\n> > b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"],
      ["a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"],
      ["snake_case_name 2*3*4 a * b", "<p>snake_case_name 2*3*4 a * b</p>"],
      ["**bold with *inner* text**", "<p><strong>bold with <em>inner</em> text</strong></p>"],
      ["``a `b` c``", "<p><code>a `b` c</code></p>"],
      ["~~a~~", "<p><del>a</del></p>"],
    ];
    for (const [text, html] of expected) assertEquals(await render(text), html, text);
    const table = await render("| a | b |\n|---|:-:|\n| `1` | 2 |");
    assert(table.includes('<th scope="col">a</th>') && table.includes("<td><code>1</code></td>"));
    const link = await render("[the *page*](https://example.com/a?b=c) and https://example.com/d.");
    assert(link.includes('href="https://example.com/a?b=c"') && link.includes("<em>page</em>"));
    assert(link.includes('href="https://example.com/d"') && link.endsWith(".</p>"), link);
    assert(link.includes('rel="noopener noreferrer nofollow"'));
  });
});

await browserTest(
  "code keeps every character, also while its end has not come",
  async (browser) => {
    await withRenderer(browser, async (render, page) => {
      const code = "<b>&amp;</b>\n\n  # no heading\n- no list";
      for (const text of [`\`\`\`html\n${code}\n\`\`\`\nafter`, `~~~\n${code}`]) {
        await render(text);
        assertEquals(await page.locator("pre code").textContent(), code);
        assertEquals(await page.locator("[data-copy]").getAttribute("data-copy"), code);
      }
    });
  },
);

await browserTest("HTML of a model is text, and links lead to the web only", async (browser) => {
  await withRenderer(browser, async (render, page) => {
    const hostile = [
      "<img src=x onerror=alert(1)>",
      "<script>alert(1)</script>",
      "[a](javascript:alert(1))",
      "[a](JaVaScRiPt:alert(1))",
      "[a](data:text/html,<script>alert(1)</script>)",
      "![a](javascript:alert(1))",
      '[a](https://example.com/"onmouseover="alert(1))',
      "`<b>`<iframe src=//example.com>",
      '# <a href="javascript:alert(1)">x</a>',
      "| <b onclick=alert(1)>a</b> |\n|---|\n| <svg/onload=alert(1)> |",
      "- <style>*{display:none}</style>",
      "```<img src=x onerror=alert(1)>\n<script>alert(1)</script>\n```",
    ];
    for (const text of hostile) {
      await render(text);
      const made = await page.locator("main *").evaluateAll((elements) =>
        elements.map((element) => ({
          tag: element.tagName,
          attributes: element.getAttributeNames(),
          href: element.getAttribute("href"),
        }))
      );
      for (const { tag, attributes, href } of made) {
        assert(!["IMG", "SCRIPT", "IFRAME", "STYLE", "SVG", "B"].includes(tag), `${text}: ${tag}`);
        assert(
          attributes.every((name: string) => !name.startsWith("on")),
          `${text}: ${attributes}`,
        );
        assert(href === null || href.startsWith("https://"), `${text}: ${href}`);
      }
    }
  });
});

/** Characters of a text whose rendering must not take long. */
const longTextChars = 60_000;

/**
 * Times that patterns are tried for each character. Each try is bounded by the pattern, so the work is linear; a
 * renderer that begins from the start at each mark would try thousands of times.
 */
const maxTriesPerChar = 20;

/** Milliseconds for one text on the slowest machine: a pattern that backtracks without end takes hours. */
const hangMs = 300_000;

/** Counts in the page how often patterns are tried: `test`, `match` and `replace` use `exec` too. */
const countTries = `(() => {
  const { exec } = RegExp.prototype;
  globalThis.tries = 0;
  RegExp.prototype.exec = function (text) {
    globalThis.tries++;
    return exec.call(this, text);
  };
})()`;

await browserTest("no text takes long to render", async (browser) => {
  await withRenderer(browser, async (render, page) => {
    await page.evaluate(countTries);
    const triesFor = async (text: string) => {
      await page.evaluate("globalThis.tries = 0");
      let isRendered = false;
      const rendering = render(text).then(() => isRendered = true);
      await until(() => isRendered, `the end of ${JSON.stringify(text.slice(0, 12))} …`, hangMs);
      await rendering;
      return await page.evaluate<number>("globalThis.tries");
    };
    const many = (text: string) => text.repeat(Math.ceil(longTextChars / text.length));
    let all = 0;
    for (
      const text of [
        "**",
        "*a ",
        "_",
        "`",
        "[",
        "![a](",
        "~~",
        "> ",
        "- ",
        "  ",
        "|-",
        "https://",
        "a_b*c**",
      ]
    ) {
      for (const long of [many(text), many(`${text}\n`), many(`${text}a`)]) {
        const tries = await triesFor(long);
        all += tries;
        assert(tries < maxTriesPerChar * long.length, `${JSON.stringify(text)}: ${tries} tries`);
      }
    }
    assert(
      all > longTextChars,
      `the page tried patterns only ${all} times: it does not count them`,
    );
  });
});

await browserTest("links that are never closed cost no search each", async (browser) => {
  await withRenderer(browser, async (render, page) => {
    await page.evaluate(`{
      const { exec } = RegExp.prototype;
      globalThis.linkSearches = 0;
      RegExp.prototype.exec = function (text) {
        if (this.source.includes("\\\\]\\\\(")) linkSearches++;
        return exec.call(this, text);
      };
    }`);
    const searches = () => page.evaluate<number>("globalThis.linkSearches");
    await render("[a](https://example.com/) ![b](https://example.com/)");
    assertEquals(await searches(), 2);
    for (const unclosed of ["![a](x", "[a](x"]) {
      const text = unclosed.repeat(15_000);
      assertEquals(await render(text), `<p>${text}</p>`);
      await render(`${text}${"x".repeat(3_000)})`);
    }
    assertEquals(await searches(), 2);
  });
});
