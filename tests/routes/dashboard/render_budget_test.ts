/** How many pages an address without a session may have rendered. */
import { Hono } from "hono";
import { assertEquals } from "../../support/assert.ts";
import { ManualTime } from "../../support/manual_time.ts";
import type { DashboardEnv, Visitor } from "../../../routes/dashboard/page/visitor.ts";
import { boundRendering, RenderBudget } from "../../../routes/dashboard/visitor/render_budget.ts";

const visitor: Visitor = {
  locale: "en",
  theme: "auto",
  csrfToken: "",
  path: "/models",
  signedIn: undefined,
  sandbox: false,
  maintenance: undefined,
  announcements: [],
  suppliedPages: [],
  support: undefined,
  company: undefined,
  brand: { name: "Model Gateway", icon: "/favicon.ico" },
};

Deno.test("4,000 pages for one address are 600 renders, other addresses and later pages are served", async () => {
  const time = new ManualTime();
  let renders = 0;
  const app = new Hono<DashboardEnv>()
    .use(async (c, next) => {
      c.set("visitor", visitor);
      await next();
    }, boundRendering(time))
    .get("/models", (c) => {
      renders++;
      return c.text("page");
    });
  const ask = async (clientAddress?: string) => {
    const response = await app.request("/models", {}, { ...(clientAddress && { clientAddress }) });
    return [response.status, response.headers.get("retry-after")];
  };
  for (let i = 0; i < 4_000; i++) await ask("203.0.113.9");
  assertEquals(renders, 600);
  assertEquals(await ask("203.0.113.9"), [429, "1"]);
  assertEquals(await ask("203.0.113.10"), [200, null]);
  assertEquals(await ask(), [200, null]);
  time.advance(1_000);
  renders = 0;
  for (let i = 0; i < 20; i++) await ask("203.0.113.9");
  assertEquals(renders, 10);
});

Deno.test("a household is one address, and the table of addresses is bounded", () => {
  const budget = new RenderBudget(new ManualTime());
  for (let i = 0; i < 600; i++) assertEquals(budget.take(`2001:db8:1:2::${i.toString(16)}`), true);
  assertEquals(budget.take("2001:db8:1:2::ffff"), false);
  assertEquals(budget.addresses, 1);
  for (let i = 0; i < 10_500; i++) budget.take(`10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
  assertEquals(budget.addresses, 10_000);
});
