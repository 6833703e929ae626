/**
 * Two organisations over one store, one changed on its pages and the other by a program, to do the same in both ways and
 * compare what came of it.
 */
import { assert, assertEquals } from "../assert.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { createAccount } from "../../../kv/people/accounts/accounts.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { createManagementKey } from "../../../kv/people/management_keys/management_keys.ts";
import { createManagementApi } from "../../../routes/management_api/management_api.ts";
import { managementOperations } from "../../../routes/management_api/operations.ts";
import { formsOf } from "../browser/test_browser.ts";
import { type DashboardWorldOptions, noNetwork, openDashboardWorld } from "./dashboard_world.ts";

/** What came of an act: done, too many of them, or refused at fields; without fields for another reason. */
export type Came = "done" | "spent" | readonly string[];

/** A form to fill in: on which page, where it is sent, and its fields. */
export interface SentForm {
  readonly on: string;
  readonly action: string;
  readonly fields?: Readonly<Record<string, string | readonly string[]>>;
}

/** A request of a program, below `/v1/organisation`. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Finds the line of the activity log that an operation of the management API declares. */
function declaredLine({ method, path }: SentRequest) {
  const isPath = (template: string) =>
    new RegExp(`^${template.replace(/\{\w+\}/g, "[^/]+")}$`).test(`/v1/organisation${path}`);
  const found = managementOperations.find((one) =>
    one.method === method.toLowerCase() && isPath(one.path)
  );
  return found !== undefined && "operation" in found ? found.operation?.line : undefined;
}

/** Opens the world: Ann's organisation is changed on pages, Bob's by a program. */
export async function openTwoWays(options: DashboardWorldOptions = {}) {
  const companySignIn = options.companySignIn ?? noNetwork;
  const world = await openDashboardWorld({ ...options, companySignIn });
  const { kv, time, deps } = world;
  const { browser, account: ann } = await world.signIn("ann@example.com");
  const nowMs = time.nowMs();
  const bob = await createAccount(kv, { nowMs, email: "bob@example.com" });
  const key = { name: "k", role: "admin", memberId: bob.id, nowMs } as const;
  const made = await createManagementKey(kv, bob.id, key);
  assert(made !== "too_many");
  const linesOf = async (id: AccountId) => (await findActivity(kv, id, { count: 1_000 })).lines;
  const [annsLines, bobsLines] = [await linesOf(ann.id), await linesOf(bob.id)];
  const before = new Set([...annsLines, ...bobsLines].map(({ id }) => id));
  const api = createManagementApi({
    ...deps,
    deadlines: new Deadlines({ clock: time, timer: time }),
    keysPerMember: 10,
    spendGranted: "first",
    resolveTxt: companySignIn.resolveTxt,
  });
  return {
    kv,
    time,
    deps,
    page: ann.id,
    program: bob.id,
    /** Fills in a form, or one that is not on the page by the fields alone. */
    async byPage({ on, action, fields = {} }: SentForm): Promise<Came> {
      const page = await browser.get(on);
      const forms = formsOf(page.text);
      const [csrf = ""] = forms.flatMap(({ fields }) => fields)
        .flatMap(([name, value]) => name === "csrf" ? [value] : []);
      const { status, text } = forms.some((form) => form.action === action)
        ? await browser.submit(page, action, fields)
        : await browser.post(action, [
          ["csrf", csrf],
          ...Object.entries(fields).flatMap(([name, values]) =>
            [values].flat().map((value): [string, string] => [name, value])
          ),
        ]);
      if (status < 400) return "done";
      if (text.includes("Too many")) return "spent";
      return [...text.matchAll(/class="field-error" id="([\w-]+)-error"/g)]
        .map(([, field = ""]) => field);
    },
    /** Sends a request, whose new line of the activity log is the declared one. */
    async byProgram({ method, path, body }: SentRequest): Promise<Came> {
      const newest = async () => (await findActivity(kv, bob.id, { count: 1 })).lines[0];
      const earlier = await newest();
      const response = await api.request(`/v1/organisation${path}`, {
        method,
        headers: { authorization: `Bearer ${made.secret}` },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const { error } = await response.json();
      const line = await newest();
      if (line !== undefined && line.id !== earlier?.id) {
        assertEquals(line.act, declaredLine({ method, path }), `${method} ${path}`);
      }
      if (response.status === 200) return "done";
      if (response.status === 429) return "spent";
      return error.param === undefined || error.param === null ? [] : [error.param];
    },
    /** The lines of the activity log since the world was opened, without who did it. */
    async activityOf(id: AccountId) {
      const lines = (await linesOf(id)).filter((line) => !before.has(line.id));
      return lines.map(({ act, before, after }) => ({ act, before, after }));
    },
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
    },
  };
}

/**
 * Whether both ways did an act, or refused it for the same member: a page names all fields at fault, a program hears of
 * the first.
 *
 * @param names the fields of the form, by the names of the program's members; without one it is the same in camel case
 */
export function cameSame(
  page: Came,
  program: Came,
  names: Readonly<Record<string, string>> = {},
): boolean {
  if (typeof page === "string" || typeof program === "string") return page === program;
  const [member] = program;
  if (member === undefined) return page.length === 0;
  const fields = member.split(".").map((part) =>
    names[part] ?? part.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  );
  return fields.some((field) => page.includes(field));
}
