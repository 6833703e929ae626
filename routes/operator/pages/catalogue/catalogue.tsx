/**
 * `/operator/catalogue`: the catalogue in force, its entries, changes with a preview, and the history.
 *
 * - Folder `routes/operator/pages/catalogue/`: pages on which operators change models, prices, routes and providers.
 * - In: forms of operators, each with the version that its author saw.
 * - Out: HTML, versions of the catalogue with their audit lines.
 * - Never: applies a change that was not shown as a difference before, but for a rollback.
 */
import { Hono } from "hono";
import { type CatalogEdit, editedCatalog } from "../../../../core/catalog/diff.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import {
  listVersions,
  readVersion,
  versionsPerPage,
} from "../../../../kv/services/catalog/versions.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { type PostedForm, readForm } from "../../../dashboard/page/form_data.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import {
  putCatalog,
  rollBackTo,
  tryCatalog,
  withdrawScheduledVersion,
} from "../../operations/catalog.ts";
import {
  type CatalogState,
  catalogState,
  changesOfVersion,
  keepStoreCatalog,
} from "../../operations/contract/editing.ts";
import {
  actOf,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  operatorOf,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { modelEntry, parsedEntry, providerEntries, readEdit, settingsEntry } from "./entry_form.ts";
import { ModelForm, ProviderForm, SettingsForm } from "./forms.tsx";
import { HistoryPage, VersionPage, versionStates } from "./history_page.tsx";
import { ListPage } from "./list_page.tsx";
import {
  applyPath,
  cataloguePath,
  catalogueTexts,
  declinePath,
  historyPath,
  previewPath,
  rollbackPath,
  withdrawPath,
} from "./texts.ts";
import { PreviewPage } from "./preview_page.tsx";

const label = { en: "Catalogue", vi: "Danh mục" };

/** The entry of a new model, as far as most have it. */
const newModel: JsonObject = { kind: "chat", price: {}, routes: [] };

async function listPage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const { editing } = deps;
  const state = await catalogState(editing);
  return await renderOperatorPage(
    c,
    {
      lead: t.lead,
      problem,
      under: cataloguePath,
      actions: <a href={`${cataloguePath}/settings`}>{t.settings}</a>,
    },
    <ListPage
      visitor={visitor}
      state={state}
      catalog={deps.catalog.current}
      refused={deps.catalog.refused}
      current={await readVersion(deps.kv, state.version)}
      search={c.req.query("search") ?? ""}
    />,
  );
}

async function modelPage(c: OperatorContext, deps: OperatorDeps) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const id = c.req.query("id") ?? "";
  const { head, contents } = await catalogState(deps.editing);
  const entry = id === "" ? newModel : modelEntry(contents, id);
  if (entry === undefined) return await notFoundPage(c);
  return await renderOperatorPage(
    c,
    { title: id === "" ? t.add : id },
    <ModelForm
      visitor={visitor}
      base={head.newest}
      name={id}
      entry={entry}
      providers={providerEntries(contents).map(([name]) => name)}
    />,
  );
}

async function providerPage(c: OperatorContext, deps: OperatorDeps) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const name = c.req.query("name") ?? "";
  const { head, contents } = await catalogState(deps.editing);
  const entry = name === "" ? {} : new Map(providerEntries(contents)).get(name);
  if (entry === undefined) return await notFoundPage(c);
  return await renderOperatorPage(
    c,
    { title: name === "" ? t.addProvider : name },
    <ProviderForm visitor={visitor} base={head.newest} name={name} entry={entry} />,
  );
}

async function settingsPage(c: OperatorContext, deps: OperatorDeps) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const { editing } = deps;
  const { head, contents } = await catalogState(editing);
  return await renderOperatorPage(
    c,
    { title: t.settings },
    <SettingsForm
      visitor={visitor}
      base={head.newest}
      entry={settingsEntry(contents)}
      models={deps.catalog.current.models.filter(({ kind }) => kind === "chat").map(({ id }) => id)}
    />,
  );
}

/** Reads the change of a form; a text is what is wrong with it. */
function editOf(
  c: OperatorContext,
  deps: OperatorDeps,
  form: PostedForm,
  { contents }: CatalogState,
): CatalogEdit | string {
  const t = catalogueTexts[c.get("visitor").locale];
  if (form.text("edit") === "file") {
    const entry = parsedEntry(JSON.stringify(deps.editing.fileContents));
    return entry === undefined ? t.notJson : { edit: "whole", entry };
  }
  const read = readEdit(form, contents);
  if (read === "not_json") return t.notJson;
  if (read === "no_name") return t.noName;
  return "ambiguous" in read ? read.ambiguous.join("; ") : read;
}

interface Shown {
  readonly state: CatalogState;
  readonly change: CatalogEdit;
  readonly form: PostedForm;
}

async function showPreview(
  c: OperatorContext,
  deps: OperatorDeps,
  { state, change, form }: Shown,
  problem?: string,
) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const after = editedCatalog(state.contents, change);
  const tried = await tryCatalog.run(deps, { catalog: after }, actOf(c, deps));
  return await renderOperatorPage(
    c,
    {
      title: t.previewTitle,
      under: cataloguePath,
      problem,
      ...(!tried.ok && { status: 400 as const }),
    },
    <PreviewPage
      visitor={visitor}
      state={state}
      change={change}
      preview={tried.ok || tried.why === "invalid"
        ? tried
        : { ok: false, problems: [tried.error.message] }}
      reason={form.text("reason")}
      from={form.text("from")}
    />,
  );
}

async function previewChange(c: OperatorContext, deps: OperatorDeps) {
  const form = await readForm(c);
  const state = await catalogState(deps.editing);
  const change = editOf(c, deps, form, state);
  if (typeof change === "string") return await listPage(c, deps, change);
  const isOld = Number(form.text("base")) !== state.head.newest;
  const problem = isOld ? await conflictText(c, deps, state.head.newest) : undefined;
  return await showPreview(c, deps, { state, change, form }, problem);
}

async function conflictText(c: OperatorContext, deps: OperatorDeps, newest: number) {
  const t = catalogueTexts[c.get("visitor").locale];
  const row = await readVersion(deps.kv, newest);
  return row === undefined ? t.conflictPlain : t.conflict(row.author, row.version);
}

/** Who changes the catalogue, knowing the version that the form names. */
function changeOf(c: OperatorContext, deps: OperatorDeps, form: PostedForm) {
  return { ...actOf(c, deps), base: () => Number(form.text("base")) };
}

async function applyChange(c: OperatorContext, deps: OperatorDeps) {
  const t = catalogueTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const state = await catalogState(deps.editing);
  const change = editOf(c, deps, form, state);
  if (typeof change === "string") return await listPage(c, deps, change);
  const shown = { state, change, form };
  const from = form.text("from");
  const applied = await putCatalog.run(deps, {
    catalog: editedCatalog(state.contents, change),
    reason: form.text("reason"),
    // The field has Vietnam time.
    ...(from !== "" && { effective_from: `${from}+07:00` }),
  }, changeOf(c, deps, form));
  if (applied.ok) return doneAt(c, cataloguePath, "switched");
  switch (applied.why) {
    case "input":
      return await showPreview(c, deps, shown, t.noReason);
    case "moment":
      return await showPreview(c, deps, shown, t.badMoment);
    case "invalid":
    case "unchanged":
      return await showPreview(c, deps, shown);
    case "missing":
    case "conflict": {
      const newer = await catalogState(deps.editing);
      const problem = await conflictText(c, deps, newer.head.newest);
      return await showPreview(c, deps, { ...shown, state: newer }, problem);
    }
  }
}

async function rollBackChange(c: OperatorContext, deps: OperatorDeps) {
  const t = catalogueTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const version = Number(form.text("version"));
  const wanted = { version, reason: t.rollBackReason(version) };
  const result = await rollBackTo.run(deps, wanted, changeOf(c, deps, form));
  if (result.ok) return doneAt(c, cataloguePath, "switched");
  switch (result.why) {
    case "invalid":
      return await listPage(c, deps, result.problems.join("; "));
    case "unchanged":
      return await listPage(c, deps, t.nothing);
    case "input":
    case "moment":
    case "missing":
      return await listPage(c, deps, t.missing);
    case "conflict":
      return await listPage(c, deps, t.conflictPlain);
  }
}

async function withdrawChange(c: OperatorContext, deps: OperatorDeps) {
  const t = catalogueTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const wanted = { reason: t.withdrawReason(Number(form.text("base"))) };
  const result = await withdrawScheduledVersion.run(deps, wanted, changeOf(c, deps, form));
  if (result.ok) return doneAt(c, cataloguePath, "switched");
  return await listPage(c, deps, t.conflictPlain);
}

async function declineChange(c: OperatorContext, deps: OperatorDeps) {
  const t = catalogueTexts[c.get("visitor").locale];
  const base = Number((await readForm(c)).text("base"));
  const wanted = { base, reason: t.fileKeepReason };
  const result = await keepStoreCatalog(deps.editing, wanted, operatorOf(c));
  if (result === "done") return doneAt(c, cataloguePath, "resolved");
  return await listPage(c, deps, t.conflictPlain);
}

async function historyPage(c: OperatorContext, deps: OperatorDeps) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const state = await catalogState(deps.editing);
  const before = Number(c.req.query("before") ?? "");
  const rows = await listVersions(deps.kv, before > 0 ? { before } : {});
  return await renderOperatorPage(
    c,
    { title: t.history, under: cataloguePath },
    <HistoryPage
      visitor={visitor}
      state={state}
      rows={rows}
      states={versionStates(rows, state, deps.clock.nowMs())}
      hasOlder={rows.length === versionsPerPage && (rows.at(-1)?.version ?? 1) > 1}
    />,
  );
}

async function versionPage(c: OperatorContext, deps: OperatorDeps) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const row = await readVersion(deps.kv, Number(c.req.param("version")));
  if (row === undefined) return await notFoundPage(c);
  return await renderOperatorPage(
    c,
    { title: t.version(row.version), under: cataloguePath },
    <VersionPage
      visitor={visitor}
      state={await catalogState(deps.editing)}
      row={row}
      changes={await changesOfVersion(deps.kv, row.version)}
    />,
  );
}

function createCataloguePages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(cataloguePath, (c) => listPage(c, deps))
    .get(`${cataloguePath}/model`, (c) => modelPage(c, deps))
    .get(`${cataloguePath}/provider`, (c) => providerPage(c, deps))
    .get(`${cataloguePath}/settings`, (c) => settingsPage(c, deps))
    .post(previewPath, (c) => previewChange(c, deps))
    .post(applyPath, (c) => applyChange(c, deps))
    .post(rollbackPath, (c) => rollBackChange(c, deps))
    .post(withdrawPath, (c) => withdrawChange(c, deps))
    .post(declinePath, (c) => declineChange(c, deps))
    .get(historyPath, (c) => historyPage(c, deps))
    .get(`${historyPath}/:version{[0-9]{1,9}}`, (c) => versionPage(c, deps));
}

export const cataloguePages: OperatorPage = {
  link: { href: cataloguePath, label },
  routes: createCataloguePages,
};
