/** A page that is declared is listed, served as a page by whatever way it is asked for, and marked in the navigation. */
import { assert, assertEquals } from "../../support/assert.ts";
import { customerPages } from "../../../routes/dashboard/pages.ts";
import { mountPage } from "../../../routes/dashboard/page/page.ts";
import { openDashboardWorld } from "../../support/worlds/dashboard_world.ts";
import { operatorWorld } from "../../support/worlds/operator_world.ts";
import { notice } from "../../support/worlds/topup_world.ts";

const root = new URL("../../../", import.meta.url);

/** The sources below a folder, with their text. */
function sources(folder: string): { readonly path: string; readonly text: string }[] {
  return Deno.readDirSync(new URL(folder, root)).toArray().flatMap(({ name, isDirectory }) => {
    if (isDirectory) return sources(`${folder}${name}/`);
    const path = `${folder}${name}`;
    return /\.tsx?$/.test(name) ? [{ path, text: Deno.readTextFileSync(new URL(path, root)) }] : [];
  });
}

/** The names of all declarations of a type. */
function declared(folder: string, type: string): string[] {
  const pattern = new RegExp(`^export const (\\w+): ${type}\\b`, "gm");
  return sources(folder).flatMap(({ text }) => [...text.matchAll(pattern)])
    .flatMap(([, name]) => name ?? []).sort();
}

/** The names in the one list of a file. */
function listed(path: string, type: string): string[] {
  const text = Deno.readTextFileSync(new URL(path, root));
  const [, list = ""] = new RegExp(`: readonly ${type}[^=]*= \\[([^\\]]*)\\]`).exec(text) ?? [];
  return list.split(",").map((name) => name.trim()).filter((name) => name !== "").sort();
}

Deno.test("every declared page is in the list that is served", () => {
  const customers = declared("routes/dashboard/", "PageDeclaration");
  assert(customers.length > 10);
  assertEquals(listed("routes/dashboard/pages.ts", "PageDeclaration"), customers);
  const operators = declared("routes/operator/", "OperatorPage");
  assert(operators.length > 5);
  assertEquals(listed("routes/operator/pages/operator_pages.ts", "OperatorPage"), operators);
});

Deno.test("no page answers with an error of the API, whatever the method and the accepted type", async () => {
  await using world = await openDashboardWorld();
  const paths = new Set(
    customerPages.flatMap((page) => mountPage(page, world.deps).app.routes)
      .map(({ path }) => path.replaceAll(/:\w+/g, "x").replaceAll("*", "x")),
  );
  assert(paths.size > 30);
  for (const path of paths) {
    for (const method of ["GET", "POST"]) {
      for (const accept of ["text/html", "*/*"]) {
        // Models are what clients of the API ask for under these paths.
        if (path.startsWith("/models") && accept !== "text/html") continue;
        const request = new Request(world.baseUrl + path, { method, headers: { accept } });
        const response = await world.fetch(request);
        const type = response.headers.get("content-type") ?? "";
        const body = await response.text();
        assert(!type.includes("json"), `${method} ${path} (${accept}): ${body}`);
      }
    }
  }
});

/** The labels that a page marks as the current ones: of the side, and of the operator's own navigation. */
function marked(text: string, nav: string): string[] {
  const [list = ""] = new RegExp(`<nav class="${nav}"[\\s\\S]*?</nav>`).exec(text) ?? [];
  return [...list.matchAll(/href="([^"]+)" aria-current="page"/g)].flatMap(([, href]) =>
    href ?? []
  );
}

Deno.test("every entry of the navigation leads to a page that marks it alone", async () => {
  await using world = await openDashboardWorld();
  const { browser } = await world.signIn();
  const entries = customerPages.flatMap(({ navigation }) => navigation?.href ?? []);
  const home = (await browser.get("/")).text;
  for (const href of entries) {
    assert(home.includes(`<a href="${href}"`), href);
    const page = await browser.get(href);
    assertEquals([page.status, marked(page.text, "side")], [200, [href]]);
  }
});

Deno.test("every entry of the operator's navigation leads to a page that marks it alone", () =>
  operatorWorld(async ({ operator, world }) => {
    const browser = await operator("staff");
    const overview = await browser.get("/operator");
    const [list = ""] = /<nav class="subnav"[\s\S]*?<\/nav>/.exec(overview.text) ?? [];
    const entries = [...list.matchAll(/href="([^"]+)"/g)].flatMap(([, href]) => href ?? []);
    assertEquals(entries.length, declared("routes/operator/", "OperatorPage").length);
    for (const href of entries) {
      const page = await browser.get(href);
      assertEquals([page.status, marked(page.text, "subnav")], [200, [href]]);
    }
    const unreadable = await browser.get("/operator/review/unreadable");
    assertEquals(marked(unreadable.text, "subnav"), ["/operator/review"]);
    const order = await world.order(await world.customer("ann"));
    const event = notice(order.code);
    await world.intake.take(event, "{}");
    const credited = await browser.get(`/operator/notices/${event.source}/${event.id}`);
    assertEquals(marked(credited.text, "subnav"), ["/operator/bank"]);
  }));
