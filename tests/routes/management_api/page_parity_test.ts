/** What a page of an organisation does, a program does too: the operation that a form declares, or a true reason why not. */
import { assert, assertEquals } from "../../support/assert.ts";
import { type Act, may } from "../../../core/people/organisations/acts.ts";
import { managementRoles } from "../../../kv/people/management_keys/management_keys.ts";
import {
  type PageAct,
  pageActs,
  type PageOnlyReason,
} from "../../../routes/dashboard/page/page_acts.ts";
import { actSpendings } from "../../../routes/acts/spending.ts";
import { managementOperations } from "../../../routes/management_api/operations.ts";
import { accountOperations } from "../../../routes/openapi/account_operations.ts";
import { readings } from "../../../routes/usage_api/usage_api.ts";

const isOwnerAlone = (act: Act) => managementRoles.every((role) => !may(role, act));

/** What has to be so for each reason. */
const isTrue: Readonly<Record<PageOnlyReason, (form: PageAct) => boolean>> = {
  own_sign_in: ({ act }) => act === "everyone",
  mailed_link: ({ act, path }) => act === "everyone" && path.includes("/shared"),
  // `requireFresh`, or the password in the form: `tests/routes/dashboard/page/` tries each without.
  confirmed_in_browser: ({ act }) => act !== "everyone",
  consent_of_person: ({ act, path }) => act === "change_keys" && path.startsWith("/oauth/"),
  of_person: ({ operation }) => operation === undefined,
  owner_alone: ({ act }) => act !== "everyone" && isOwnerAlone(act),
  makes_management_keys: ({ act }) => act === "change_management_keys",
  calls_models: ({ act }) => act === "call_models",
};

const byPrograms = managementOperations.flatMap((one) =>
  "operation" in one && one.operation !== undefined ? [one.operation] : []
);

Deno.test("programs do what forms do: each operation of a form that gives no reason, and nothing else", () => {
  const ofForms = pageActs.flatMap(({ operation, pageOnly, partByProgram }) => [
    ...(pageOnly === undefined && operation !== undefined ? [operation] : []),
    ...(partByProgram === undefined ? [] : [partByProgram]),
  ]);
  assert(ofForms.length > 30, "the forms are not found");
  const names = (some: typeof ofForms) => [...new Set(some)].map(({ name }) => name).sort();
  assertEquals(names(byPrograms), names(ofForms));
  assertEquals(byPrograms.length, new Set(byPrograms).size);
});

Deno.test("each form of an organisation has an operation, or a reason that is true", () => {
  const wrong = pageActs.filter((form) =>
    form.pageOnly === undefined
      ? form.method !== "GET" && form.operation === undefined
      : !isTrue[form.pageOnly](form)
  );
  assertEquals(wrong, []);
});

Deno.test("each act of customers is performed by a form", () => {
  const performed = pageActs.flatMap(({ operation, partByProgram }) => [operation, partByProgram])
    .flatMap((one) => one === undefined ? [] : [one.name]);
  assertEquals([...new Set(performed)].sort(), Object.keys(actSpendings).sort());
});

Deno.test("programs read by the same acts as pages", () => {
  const readByPrograms = new Set<string>([
    ...managementOperations.filter(({ method }) => method === "get").map(({ act }) => act),
    ...accountOperations().flatMap(({ path }) => readings[path]?.act ?? []),
  ]);
  const readByPages = pageActs.filter(({ method, act }) =>
    method === "GET" && act !== "everyone" && /^view_/.test(act)
  );
  assert(readByPages.length > 20, "the pages are not found");
  assertEquals(readByPages.filter(({ act }) => !readByPrograms.has(act)), []);
});
