/**
 * `/operator/provider-keys`: the keys of providers that are sealed in the store: added, replaced, removed, sealed anew.
 *
 * - Folder `routes/operator/pages/provider_keys/`: the operator's pages about stored keys of providers.
 * - In: secrets in fields that are never filled again.
 * - Out: HTML without a secret, acts with their audit lines.
 * - Never: shows a secret, or what was typed in its place.
 */
import { Hono } from "hono";
import { storedKeyName } from "../../../../core/catalog/schema.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import {
  addProviderKey,
  listProviderKeys,
  removeProviderKey,
  replaceProviderKey,
  resealProviderKeys,
} from "../../operations/provider_keys.ts";
import {
  actOf,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";
import { InUsePage, KeyListPage, KeyPage, type ListedKey } from "./views.tsx";
import {
  providerKeyPath,
  providerKeysLabel,
  providerKeysPath,
  providerKeyTexts,
  sealsPath,
} from "./texts.ts";

async function storedKeys(c: OperatorContext, deps: OperatorDeps): Promise<readonly ListedKey[]> {
  const listed = await listProviderKeys.run(deps, {}, actOf(c, deps));
  return listed.ok ? listed.body.data : [];
}

/** Problem of the form of a new key, and the name that was typed, if it can be one. */
interface Refused {
  readonly field: "name" | "secret";
  readonly problem: string;
  readonly name: string;
}

async function listPage(c: OperatorContext, deps: OperatorDeps, refused?: Refused) {
  const visitor = c.get("visitor");
  return await renderOperatorPage(
    c,
    {
      lead: providerKeyTexts[visitor.locale].lead,
      ...(refused !== undefined && { status: 400 as const }),
    },
    <KeyListPage
      visitor={visitor}
      keys={await storedKeys(c, deps)}
      name={refused?.name}
      errors={refused === undefined ? {} : { [refused.field]: refused.problem }}
    />,
  );
}

async function addKey(c: OperatorContext, deps: OperatorDeps) {
  const { problems } = providerKeyTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const typed = form.text("name");
  const wanted = { name: typed, secret: form.text("secret") };
  const added = await addProviderKey.run(deps, wanted, actOf(c, deps));
  if (added.ok) return doneAt(c, providerKeysPath, "switched");
  // A key that was pasted into the wrong field must not come back in the page.
  const name = storedKeyName.safeParse(typed).success ? typed : "";
  if (added.why === "input") {
    const field = added.field === "secret" ? "secret" : "name";
    return await listPage(c, deps, { field, problem: problems[field], name });
  }
  const problem = added.why === "exists"
    ? problems.exists
    : added.why === "full"
    ? problems.full
    : frameTexts[c.get("visitor").locale].problems.busy;
  return await listPage(c, deps, { field: "name", problem, name });
}

async function keyPage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  const name = c.req.param("name");
  const key = (await storedKeys(c, deps)).find((one) => one.name === name);
  if (key === undefined) return await notFoundPage(c);
  return await renderOperatorPage(
    c,
    {
      title: key.name,
      under: providerKeysPath,
      ...(problem !== undefined && { status: 400 as const }),
    },
    <KeyPage visitor={visitor} stored={key} problem={problem} />,
  );
}

async function replaceKey(c: OperatorContext, deps: OperatorDeps) {
  const t = providerKeyTexts[c.get("visitor").locale];
  const key = c.req.param("name") ?? "";
  const secret = (await readForm(c)).text("secret");
  const replaced = await replaceProviderKey.run(deps, { key, secret }, actOf(c, deps));
  if (replaced.ok) return doneAt(c, providerKeyPath(key), "switched");
  return replaced.why === "input"
    ? await keyPage(c, deps, t.problems.secret)
    : await notFoundPage(c);
}

async function removeKey(c: OperatorContext, deps: OperatorDeps) {
  const visitor = c.get("visitor");
  const key = c.req.param("name") ?? "";
  const force = (await readForm(c)).text("force") === "yes";
  const removed = await removeProviderKey.run(deps, { key, force }, actOf(c, deps));
  if (removed.ok) return doneAt(c, providerKeysPath, "switched");
  if (removed.why !== "in_use") return await notFoundPage(c);
  return await renderOperatorPage(
    c,
    { title: key, under: providerKeysPath, status: 400 },
    <InUsePage visitor={visitor} name={key} providers={removed.providers} />,
  );
}

async function resealKeys(c: OperatorContext, deps: OperatorDeps) {
  await resealProviderKeys.run(deps, {}, actOf(c, deps));
  return doneAt(c, providerKeysPath, "resolved");
}

function createProviderKeyPages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(providerKeysPath, (c) => listPage(c, deps))
    .post(providerKeysPath, (c) => addKey(c, deps))
    .get(`${providerKeysPath}/:name`, (c) => keyPage(c, deps))
    .post(`${providerKeysPath}/:name`, (c) => replaceKey(c, deps))
    .post(`${providerKeysPath}/:name/remove`, (c) => removeKey(c, deps))
    .post(sealsPath, (c) => resealKeys(c, deps));
}

export const providerKeyPages: OperatorPage = {
  link: { href: providerKeysPath, label: providerKeysLabel },
  routes: createProviderKeyPages,
};
