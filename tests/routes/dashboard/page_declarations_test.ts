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
  const places = Deno.readTextFileSync(new URL("routes/operator/pages/operator_pages.ts", root));
  const placed = [...places.matchAll(/pages: \[([\w, ]+)\]/g)]
    .flatMap(([, names = ""]) => names.split(", ")).sort();
  assertEquals(placed, operators);
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

/** The links of a navigation of a page. */
function linksIn(text: string, nav: string): string[] {
  const [list = ""] = new RegExp(`<nav class="${nav}"[\\s\\S]*?</nav>`).exec(text) ?? [];
  return [...list.matchAll(/href="([^"]+)"/g)].flatMap(([, href]) => href ?? []);
}

/** What a page marks as the current ones: the place, the tab, the view. */
function markedPlaces({ text }: { readonly text: string }): readonly string[] {
  return ["side", "subtabs", "chips"].flatMap((nav) => marked(text, nav));
}

Deno.test("every place, tab and view of operators leads to a page that marks it alone", () =>
  operatorWorld(async ({ operator, world }) => {
    const browser = await operator("staff");
    const places = linksIn((await browser.get("/operator")).text, "side");
    assertEquals(places.pop(), "/", "the way back to the customer's pages");
    assertEquals(places.length, 7);
    const seen = new Set<string>();
    for (const place of places) {
      const first = await browser.get(place);
      assertEquals([first.status, marked(first.text, "side")], [200, [place]]);
      const tabs = linksIn(first.text, "subtabs");
      assert(tabs.length <= 5, place);
      for (const tab of tabs.length === 0 ? [place] : tabs) {
        const page = await browser.get(tab);
        const views = tabs.length === 0 ? [] : linksIn(page.text, "chips");
        const isViewed = views.includes(tab);
        for (const view of isViewed ? views : [tab]) {
          const { status, text } = await browser.get(view);
          seen.add(view);
          assertEquals([status, marked(text, "side")], [200, [place]], view);
          assertEquals(marked(text, "subtabs"), tabs.length === 0 ? [] : [tab], view);
          if (isViewed) assertEquals(marked(text, "chips"), [view]);
        }
      }
    }
    assert(seen.size >= declared("routes/operator/", "OperatorPage").length);
    const unreadable = await browser.get("/operator/review/unreadable");
    assertEquals(markedPlaces(unreadable).slice(0, 3), [
      "/operator/review",
      "/operator/review",
      "/operator/review",
    ]);
    const order = await world.order(await world.customer("ann"));
    const event = notice(order.code);
    await world.intake.take(event, "{}");
    const credited = await browser.get(`/operator/notices/${event.source}/${event.id}`);
    assertEquals(markedPlaces(credited), [
      "/operator/review",
      "/operator/review",
      "/operator/bank",
    ]);
  }));

Deno.test("numbers beside the places count what waits, and an act changes them at once", () =>
  operatorWorld(async ({ operator, world }) => {
    await world.intake.take(notice("khong ma"), "{}");
    await world.intake.keepUnreadable("sepay", "field id", "{}");
    const browser = await operator("staff");
    const countOf = async (place: string) => {
      const { text } = await browser.get("/operator/audit");
      const [, entry = ""] = new RegExp(`<a href="${place}"[^>]*>(.*?)</a>`).exec(text) ?? [];
      return /class="count (\w+)">(\d+)/.exec(entry)?.slice(1);
    };
    assertEquals(await countOf("/operator/review"), ["bad", "2"]);
    assertEquals(await countOf("/operator/provider-routes"), undefined);
    const page = await browser.get("/operator/review/unreadable");
    const hash = /name="hash" value="([0-9a-f]+)"/.exec(page.text)![1]!;
    await browser.post("/operator/review/unreadable", { source: "sepay", hash, note: "by hand" });
    assertEquals(await countOf("/operator/review"), ["busy", "1"]);
  }));
