/**
 * What a form of a page lets nobody type (a choice, a button's value, a hidden field) is refused if it is another one:
 * no form takes an unknown value for its default.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { pageActs } from "../../../routes/dashboard/page/page_acts.ts";
import { openFullCompany } from "../../support/worlds/full_company.ts";
import { operatorWorld } from "../../support/worlds/operator_world.ts";
import { openTwoInstances } from "../../support/worlds/two_instances.ts";

const foreignValue = "zz-foreign";

interface ChosenForm {
  readonly action: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** The fields that nobody types. */
  readonly chosen: readonly string[];
}

/** The value of an attribute of a tag. */
function attribute(tag: string, name: string): string | undefined {
  return new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
}

/** Fields of all forms: the token, the id of the form, and where to return to, which any page may be. */
const ofAllForms = ["csrf", "form", "next"];

/** The forms of a page, filled, with the button pressed. */
function chosenForms(html: string): ChosenForm[] {
  return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)].flatMap(
    ([, head = "", body = ""]) => {
      if (attribute(head, "method")?.toLowerCase() !== "post") return [];
      const fields: (readonly [string, string])[] = [];
      const chosen = new Set<string>();
      for (const [tag, kind] of body.matchAll(/<(input|button|select|textarea)\b[^>]*>/g)) {
        const name = attribute(tag, "name");
        if (name === undefined || fields.some(([one]) => one === name)) continue;
        const type = attribute(tag, "type");
        if (type === "checkbox" && !/\schecked\b/.test(tag)) continue;
        const rest = body.slice(body.indexOf(tag));
        const options = [...rest.slice(0, rest.indexOf("</select>")).matchAll(/<option\b[^>]*>/g)];
        const value = kind === "select"
          ? attribute(options[0]?.[0] ?? "", "value")
          : attribute(tag, "value");
        const needed = type === "datetime-local" || type === "file" || type === "number"
          ? ""
          : "text of a test";
        fields.push([name, value ?? needed]);
        const isTyped = kind === "textarea" ||
          kind === "input" && type !== "hidden" && type !== "radio";
        if (!isTyped && !ofAllForms.includes(name)) chosen.add(name);
      }
      return [{ action: attribute(head, "action") ?? "", fields, chosen: [...chosen] }];
    },
  );
}

/** Forms that answer below 400 and have not taken the choice either, with what happens instead. */
const refusedOtherwise: readonly (readonly [action: RegExp, instead: string])[] = [
  [/^\/preferences /, "the preference stays as it is, also of whoever is not signed in"],
  [/^\/organisations\/switch /, "leads back to the list"],
  [/^\/keys\/:id\/rotate grace/, "leads back to the key, whose secret stays"],
  [
    /^\/usage\/views query/,
    "a filter as an address writes it, whose unknown parts are named there",
  ],
  [/^\/playground /, "the refusal of the API is shown in the conversation"],
  [/^\/operator\/catalogue\/preview /, "changes nothing, and lists what is wrong"],
];

type Post = (
  action: string,
  fields: Record<string, string>,
) => Promise<{ readonly status: number }>;

/** Sends each form of a page with each of its choices as another one; returns those that were taken. */
async function takenChoices(html: string, post: Post, tried: Set<string>): Promise<string[]> {
  const taken: string[] = [];
  for (const { action, fields, chosen } of chosenForms(html)) {
    for (const name of chosen) {
      const what = `${action.replaceAll(/[a-z]+_\w{12,}/g, ":id")} ${name}`;
      if (tried.has(what)) continue;
      tried.add(what);
      const { status } = await post(action, {
        ...Object.fromEntries(fields),
        [name]: foreignValue,
      });
      const isRefused = status >= 400 || refusedOtherwise.some(([known]) => known.test(what));
      if (!isRefused) taken.push(`${what}: ${status}`);
    }
  }
  return taken;
}

Deno.test("forms of an organisation take no choice that they do not offer", async () => {
  await using world = await openTwoInstances({ kind: "memory" });
  const { people: { owner: { browser } }, known } = await openFullCompany(world);
  const tried = new Set<string>();
  const taken: string[] = [];
  for (const { method, path } of pageActs) {
    if (method !== "GET" || /\*|\.\w+$/.test(path)) continue;
    const filled = path.replaceAll(
      /(\w+)\/(:\w+)/g,
      (whole) => known[whole] === undefined ? whole : `${whole.split("/")[0]}/${known[whole]}`,
    );
    const { text, status } = await browser.get(filled);
    if (status !== 200) continue;
    const csrf = /name="csrf" value="([^"]*)"/.exec(text)?.[1] ?? "";
    const post: Post = (action, fields) => browser.post(action, { ...fields, csrf });
    taken.push(...await takenChoices(text, post, tried));
  }
  assertEquals(taken, []);
  assert(tried.size > 15, [...tried].join("\n"));
});

Deno.test("forms of operators take no choice that they do not offer", () =>
  operatorWorld(async ({ operator, world }) => {
    const staff = await operator("staff");
    await world.customer("ann");
    const tried = new Set<string>();
    const taken: string[] = [];
    const post: Post = (action, fields) => staff.post(action, fields);
    await staff.post("/operator/announcements", { kind: "incident", title: "Slow", text: "Slow" });
    const seen = new Set(["/operator"]);
    for (const path of seen) {
      const { text } = await staff.get(path);
      for (const [, link = ""] of text.matchAll(/\shref="(\/operator[^"#?.]*)/g)) seen.add(link);
      taken.push(...await takenChoices(text, post, tried));
    }
    assertEquals(taken, []);
    assert(tried.size > 5, [...tried].join("\n"));
  }));
