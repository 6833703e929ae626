import { assert, assertEquals, assertNotEquals } from "../../../support/assert.ts";
import { openDashboardWorld } from "../../../support/worlds/dashboard_world.ts";

const address = "https://gw.example";

async function unzipped(response: Response): Promise<string> {
  const stream = response.body!.pipeThrough(new DecompressionStream("gzip"));
  return await new Response(stream).text();
}

Deno.test("pages are compressed for browsers that read it, and for no others", async () => {
  await using world = await openDashboardWorld();
  const plain = await world.fetch(
    new Request(`${address}/models`, {
      headers: { accept: "text/html" },
    }),
  );
  assertEquals(plain.headers.get("content-encoding"), null);
  const text = await plain.text();
  const response = await world.fetch(
    new Request(`${address}/models`, {
      headers: { accept: "text/html", "accept-encoding": "gzip, deflate, br" },
    }),
  );
  assertEquals(response.headers.get("content-encoding"), "gzip");
  assert(response.headers.get("vary")?.toLowerCase().includes("accept-encoding"));
  const size = (await response.clone().arrayBuffer()).byteLength;
  assert(size * 3 < text.length, `${size} of ${text.length} bytes`);
  assert((await unzipped(response)).includes("</html>"));
});

Deno.test("a compressed page never shows the same token twice, so its length reveals nothing", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn("ann@example.com");
  const tokenIn = (text: string) => /name="csrf" value="([^"]+)"/.exec(text)![1]!;
  const pages = [await browser.get("/keys/new"), await browser.get("/keys/new")] as const;
  assertNotEquals(tokenIn(pages[0].text), tokenIn(pages[1].text));
  for (const page of pages) {
    assertEquals((await browser.submit(page, "/keys", { name: "laptop" })).status, 200);
  }
});
