/** `/operator/provider-routes`: routes are found, grouped by model, and an act comes back to the route that it was about. */
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import type { RouteReport } from "../../../../../core/routing/contract/router.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";
import { reportOf } from "../../../../support/route_reports.ts";

function routeReport(
  model: string,
  provider: string,
  some: Partial<RouteReport> = {},
  state: "closed" | "open" = "closed",
): RouteReport {
  const id = `${provider}/${model}`;
  return { ...reportOf({ model, id, provider, upstreamModel: model }, state), ...some };
}

const many = Array.from({ length: 40 }, (_, at) => routeReport(`general-${at + 10}`, "north"));
const routes: readonly RouteReport[] = [
  ...many,
  routeReport("premium-1", "north"),
  routeReport("premium-1", "south", {}, "open"),
  routeReport("image-1", "north", {
    credentials: { count: 2, resting: 2, reasons: ["token_refused: invalid_client"] },
  }),
  routeReport("video-1", "west", { switched: "draining" }),
];

/** The groups of a page: model, whether it is open, and the rows in it. */
function groupsOf(text: string) {
  return [...text.matchAll(/<details class="route-group"( open[^>]*)?\s*>([\s\S]*?)<\/details>/g)]
    .map(([, open, body]) => ({
      model: /class="route-model">([^<]+)/.exec(body!)![1]!,
      isOpen: open !== undefined,
      rows: [...body!.matchAll(/<li id="([^"]+)"/g)].map(([, id]) => id!),
    }));
}

Deno.test("routes stand in groups by model, and those in trouble are open", () =>
  operatorWorld(async ({ operator }) => {
    const staff = await operator("staff");
    const { text } = await staff.get("/operator/provider-routes");
    const groups = groupsOf(text);
    assertEquals(groups.length, 43);
    assertEquals(groups.filter(({ isOpen }) => isOpen), [
      {
        model: "premium-1",
        isOpen: true,
        rows: ["north", "south"].map((p) => `premium-1:${p}/premium-1`),
      },
      { model: "image-1", isOpen: true, rows: ["image-1:north/image-1"] },
      { model: "video-1", isOpen: true, rows: ["video-1:west/video-1"] },
    ]);
    assertStringIncludes(text, "44 routes");
    assertStringIncludes(text, "2 of 2 resting");
    assertStringIncludes(text, "<code>token_refused: invalid_client</code>");
    assert(text.includes('hx-get="/operator/provider-routes"'), "it applies as one types");
  }, { routes }));

Deno.test("routes are found by model, provider and state, without a script too", () =>
  operatorWorld(async ({ operator }) => {
    const staff = await operator("staff");
    const found = async (query: string) =>
      groupsOf((await staff.get(`/operator/provider-routes?${query}`)).text);
    assertEquals(await found("q=SOUTH+premium"), [
      { model: "premium-1", isOpen: true, rows: ["premium-1:south/premium-1"] },
    ]);
    assertEquals(
      (await found("state=trouble")).flatMap(({ rows }) => rows),
      ["premium-1:south/premium-1", "image-1:north/image-1", "video-1:west/video-1"],
    );
    const wide = await found("q=general");
    assertEquals([wide.length, wide.some(({ isOpen }) => isOpen)], [40, false]);
    const none = await staff.get("/operator/provider-routes?q=%3Cnothing%3E");
    assertEquals(groupsOf(none.text), []);
    assertStringIncludes(none.text, "No route matches");
    assertStringIncludes(none.text, 'value="&lt;nothing&gt;"');
  }, { routes }));

Deno.test("an act leads back to its route, in the same search, with the message beside it", () =>
  operatorWorld(async (operators) => {
    const staff = await operators.operator("staff");
    const row = "general-33:north/general-33";
    const act = { route: "north/general-33", row, q: "gen", state: "trouble", action: "disable" };
    const done = await staff.post("/operator/provider-routes/switch", { ...act, reason: "slow" });
    assertEquals([done.status, done.location], [
      303,
      `/operator/provider-routes?q=gen&state=trouble&row=${encodeURIComponent(row)}#${
        encodeURIComponent(row)
      }`,
    ]);
    assertEquals(operators.switches.routes["north/general-33"]?.state, "disabled");
    const [path] = done.location!.split("#");
    const page = await staff.get(path!);
    assertEquals(groupsOf(page.text), [{ model: "general-33", isOpen: true, rows: [row] }]);
    const [, cell] = page.text.split(`<li id="${row}"`);
    assertStringIncludes(cell!.split("</li>")[0]!, "Changed. Every instance follows");

    const refused = await staff.post("/operator/provider-routes/switch", { ...act, reason: "" });
    assertEquals(refused.status, 400);
    const [, again] = refused.text.split(`<li id="${row}"`);
    assertStringIncludes(again!.split("</li>")[0]!, "Give a reason");
    assertStringIncludes(again!.split("</li>")[0]!, "autofocus");

    const elsewhere = { ...act, row: "//evil.example", reason: "slow" };
    const unlisted = await staff.post("/operator/provider-routes/switch", elsewhere);
    assertEquals(unlisted.location, "/operator/provider-routes?done=switched");
  }, { routes }));
