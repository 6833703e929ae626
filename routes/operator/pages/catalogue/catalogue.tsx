/**
 * `/operator/catalogue`: the catalogue in force, its entries, changes with a preview, and the history.
 *
 * - Folder `routes/operator/pages/catalogue/`: pages on which operators change models, prices, routes and providers.
 * - In: forms of operators, each with the version that its author saw.
 * - Out: HTML, versions of the catalogue with their audit lines.
 * - Never: applies a change, or a rollback, that was not shown as a difference before.
 */
import { Hono } from "hono";
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { type CatalogEdit, editedCatalog } from "../../../../core/catalog/diff.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import {
  listVersions,
  readVersion,
  readVersionContents,
  versionsPerPage,
} from "../../../../kv/services/catalog/versions.ts";
import { listStoredKeys } from "../../../../kv/services/vault/stored_keys.ts";
import { Icon } from "../../../dashboard/components/mod.ts";
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
import {
  currencyCodes,
  modelEntry,
  parsedEntry,
  providerEntries,
  readEdit,
  settingsEntry,
  shownField,
  typedModel,
  typedProvider,
} from "./entry_form.ts";
import { type EntryProblems, entryProblems } from "./entry_problems.ts";
import { JsonForm, ProviderForm, SettingsForm } from "./forms.tsx";
import { tryRoute } from "../../operations/route_tests.ts";
import { ModelForm } from "./model_form.tsx";
import { RouteTestResult, RouteTests, type ShownRouteTest } from "./route_tests.tsx";
import { HistoryPage, VersionPage, versionStates } from "./history_page.tsx";
import { ListPage } from "./list_page.tsx";
import {
  applyPath,
  cataloguePath,
  catalogueTexts,
  declinePath,
  historyPath,
  marginsPath,
  previewPath,
  rollbackPath,
  testPath,
  withdrawPath,
} from "./texts.ts";
import { PreviewPage } from "./preview_page.tsx";
import { losingDays } from "../margins/margin_rows.ts";
import { priceEffect } from "./effect/price_effect.ts";
import { hasStops, priceStops } from "./effect/price_stops.ts";
import { type TypedMargins, typedMargins } from "./effect/typed_margins.ts";
import { filledRows, plainText, sentRows } from "./fields/reading.ts";
import { routeMembers } from "./fields/shapes.ts";
import { SwappedMargins } from "./price_matrix.tsx";

const label = { en: "Catalogue", vi: "Danh mục" };

/** The entry of a new model, as far as most have it. */
const newModel: JsonObject = { kind: "chat", price: { unit: "token" }, routes: [] };

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

/** Values that a form is shown with: the entry in force, or what was typed and what is wrong with it. */
interface Entered {
  readonly state: CatalogState;
  readonly name: string;
  readonly entry: JsonObject;
  readonly problems?: EntryProblems;
  readonly newName?: string;
  /** The list of a form that gets an empty row more. */
  readonly extendedRows?: string;
  /** Result of a test of a route. */
  readonly test?: ShownRouteTest;
}

async function showModel(
  c: OperatorContext,
  deps: OperatorDeps,
  { state, test, ...entered }: Entered,
) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const model = deps.catalog.current.models.find(({ id }) => id === entered.name);
  return await renderOperatorPage(
    c,
    {
      title: entered.name === "" ? t.add : model?.displayName ?? entered.name,
      under: cataloguePath,
      ...model !== undefined && {
        lead: <code>{model.id}</code>,
        actions: (
          <a
            class="button outline secondary"
            href={`/models/${encodeURIComponent(model.id)}`}
          >
            <Icon name="external" /> {t.publicPage}
          </a>
        ),
      },
      ...(entered.problems !== undefined && { status: 400 as const }),
    },
    <>
      {test !== undefined && <RouteTestResult test={test} locale={visitor.locale} />}
      <ModelForm
        visitor={visitor}
        base={state.head.newest}
        providers={providerEntries(state.contents).map(([name]) => name)}
        catalog={deps.catalog.current}
        margins={entered.problems === undefined
          ? await marginsOf(c, deps, { state, ...entered })
          : { routes: new Map(), problem: t.seeFields }}
        {...entered}
      >
        <RouteTests
          model={model}
          visitor={visitor}
        />
      </ModelForm>
    </>,
  );
}

/** Computes the margins of an entry; if the catalogue cannot be made with it, there is only its first problem. */
async function marginsOf(
  c: OperatorContext,
  deps: OperatorDeps,
  { state, name, entry }: Pick<Entered, "state" | "name" | "entry">,
  places: readonly number[] = [],
): Promise<TypedMargins> {
  const t = catalogueTexts[c.get("visitor").locale];
  const routes = new Map<number, never>();
  const id = plainText(entry["id"]);
  if (id === "") return { routes, problem: t.noName };
  const change = { edit: "model", id: name || id, entry } as const;
  const catalog = editedCatalog(state.contents, change);
  const tried = await tryCatalog.run(deps, { catalog }, actOf(c, deps));
  if (!tried.ok) {
    const { fields, others } = tried.why === "invalid"
      ? entryProblems(tried.problems, change, catalog, t)
      : { fields: {}, others: [tried.error.message] };
    const [problem = t.problems] = [...Object.values(fields), ...others];
    return { routes, problem };
  }
  const model = tried.catalog.models.find((one) => one.id === id);
  return model === undefined ? { routes } : typedMargins(model, entry, places);
}

/** Answers a form that is being typed with its margins, which htmx puts into their places. */
async function showMargins(c: OperatorContext, deps: OperatorDeps) {
  const form = await readForm(c);
  const state = await catalogState(deps.editing);
  const shown = parsedEntry(form.text(shownField)) ?? {};
  const entry = typedModel(form, state.contents);
  const places = filledRows(form, "routes", routeMembers, shown["routes"]).map(({ at }) => at);
  const name = form.text("name");
  return await c.html(
    <SwappedMargins
      price={shown["price"]}
      places={sentRows(form, "routes") ?? 0}
      margins={await marginsOf(c, deps, { state, name, entry }, places)}
      locale={c.get("visitor").locale}
    />,
  );
}

async function modelPage(c: OperatorContext, deps: OperatorDeps) {
  const id = c.req.query("id") ?? "";
  const state = await catalogState(deps.editing);
  const entry = id === "" ? newModel : modelEntry(state.contents, id);
  if (entry === undefined) return await notFoundPage(c);
  return await showModel(c, deps, { state, name: id, entry });
}

/** Sends one call through a route of the model, and shows the model's page with what it found. */
async function testModelRoute(c: OperatorContext, deps: OperatorDeps) {
  const form = await readForm(c);
  const [model, route] = [form.text("model"), form.text("route")];
  const tested = await tryRoute.run(deps, { model, route }, actOf(c, deps));
  const state = await catalogState(deps.editing);
  const entry = modelEntry(state.contents, model);
  if (entry === undefined) return await notFoundPage(c);
  const result = tested.ok ? tested.body : { refusal: tested.error.message };
  return await showModel(c, deps, { state, name: model, entry, test: { route, result } });
}

async function showProvider(
  c: OperatorContext,
  { kv }: OperatorDeps,
  { state, ...entered }: Entered,
) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  return await renderOperatorPage(
    c,
    {
      title: entered.name === "" ? t.addProvider : entered.name,
      under: cataloguePath,
      ...(entered.problems !== undefined && { status: 400 as const }),
    },
    <ProviderForm
      visitor={visitor}
      base={state.head.newest}
      storedKeys={await listStoredKeys(kv)}
      currencies={currencyCodes(state.contents)}
      {...entered}
    />,
  );
}

async function providerPage(c: OperatorContext, deps: OperatorDeps) {
  const name = c.req.query("name") ?? "";
  const state = await catalogState(deps.editing);
  const entry = name === "" ? {} : new Map(providerEntries(state.contents)).get(name);
  if (entry === undefined) return await notFoundPage(c);
  return await showProvider(c, deps, { state, name, entry });
}

async function showSettings(c: OperatorContext, deps: OperatorDeps, entered: Entered) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const { state, entry, problems, extendedRows } = entered;
  return await renderOperatorPage(
    c,
    {
      title: t.settings,
      under: cataloguePath,
      ...(problems !== undefined && { status: 400 as const }),
    },
    <SettingsForm
      visitor={visitor}
      base={state.head.newest}
      entry={entry}
      models={deps.catalog.current.models.filter(({ kind }) => kind === "chat").map(({ id }) => id)}
      {...defined({ problems, extendedRows })}
    />,
  );
}

async function settingsPage(c: OperatorContext, deps: OperatorDeps) {
  const state = await catalogState(deps.editing);
  return await showSettings(c, deps, { state, name: "", entry: settingsEntry(state.contents) });
}

/** Shows a form again with what was typed into it. */
async function showAgain(
  c: OperatorContext,
  deps: OperatorDeps,
  { state, form, problems }: {
    readonly state: CatalogState;
    readonly form: PostedForm;
    /** Absent: the author asked for more fields, and the form is not checked yet. */
    readonly problems?: EntryProblems;
  },
) {
  const name = form.text("name");
  const noted = { ...defined({ problems }), extendedRows: form.text("again") };
  switch (form.text("edit")) {
    case "model":
      return await showModel(c, deps, {
        state,
        name,
        entry: typedModel(form, state.contents),
        ...noted,
      });
    case "provider": {
      const entry = typedProvider(form, state.contents);
      const newName = form.text("newName");
      return await showProvider(c, deps, { state, name, entry, newName, ...noted });
    }
    default: {
      const edit = readEdit(form, state.contents);
      const entry = typeof edit === "object" && "entry" in edit ? edit.entry ?? {} : {};
      return await showSettings(c, deps, { state, name, entry, ...noted });
    }
  }
}

/** Shows the text of an entry again that is not JSON, or whose numbers could be two. */
async function showTypedJson(
  c: OperatorContext,
  state: CatalogState,
  form: PostedForm,
  problem: string,
) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  return await renderOperatorPage(
    c,
    { title: t.previewTitle, under: cataloguePath, problem, status: 400 },
    <JsonForm
      visitor={visitor}
      base={state.head.newest}
      name={form.text("name")}
      entry={{}}
      edit={form.text("edit")}
      typed={form.text("json")}
      open
    />,
  );
}

/** Reads the change of a form, or answers with the form and what is wrong with it. */
async function editOf(
  c: OperatorContext,
  deps: OperatorDeps,
  form: PostedForm,
  state: CatalogState,
): Promise<CatalogEdit | Response> {
  const t = catalogueTexts[c.get("visitor").locale];
  if (form.text("edit") === "file") {
    const entry = parsedEntry(JSON.stringify(deps.editing.fileContents));
    return entry === undefined ? await listPage(c, deps, t.notJson) : { edit: "whole", entry };
  }
  const read = readEdit(form, state.contents);
  if (read === "not_json") return await showTypedJson(c, state, form, t.notJson);
  if (read === "no_name") {
    const fields = { id: t.noName, newName: t.noName };
    return await showAgain(c, deps, { state, form, problems: { fields, others: [] } });
  }
  return "ambiguous" in read
    ? await showTypedJson(c, state, form, read.ambiguous.join("; "))
    : read;
}

interface Shown {
  readonly state: CatalogState;
  readonly change: CatalogEdit;
  readonly form: PostedForm;
  /** The version that is restored; absent: the change is an edit. */
  readonly rollbackTo?: number;
}

/** Effect of a catalogue on margins, now and in the last days. */
async function effectOf({ kv, clock, catalog }: OperatorDeps, after: Catalog) {
  return await priceEffect(kv, catalog.current, after, losingDays(clock.nowMs()));
}

async function showPreview(
  c: OperatorContext,
  deps: OperatorDeps,
  { state, change, form, rollbackTo }: Shown,
  problem?: string,
) {
  const visitor = c.get("visitor");
  const t = catalogueTexts[visitor.locale];
  const after = editedCatalog(state.contents, change);
  const tried = await tryCatalog.run(deps, { catalog: after }, actOf(c, deps));
  const isForm = form.text("json") === "" && change.edit !== "whole" && change.entry !== null;
  if (!tried.ok && tried.why === "invalid" && isForm) {
    const problems = entryProblems(tried.problems, change, after, t);
    return await showAgain(c, deps, { state, form, problems });
  }
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
      preview={tried.ok
        ? {
          ...tried,
          stops: priceStops(tried.changes, deps.catalog.current, tried.catalog),
          effect: await effectOf(deps, tried.catalog),
        }
        : tried.why === "invalid"
        ? tried
        : { ok: false, problems: [tried.error.message] }}
      rollbackTo={rollbackTo}
      reason={form.text("reason") ||
        (rollbackTo === undefined ? "" : t.rollBackReason(rollbackTo))}
      from={form.text("from")}
    />,
  );
}

/** A rollback as a change of the whole catalogue; `undefined` if the contents of the version are not kept. */
async function rollbackEdit(
  { kv }: OperatorDeps,
  version: number,
): Promise<CatalogEdit | undefined> {
  const contents = await readVersionContents(kv, version);
  const entry = contents === undefined ? undefined : parsedEntry(JSON.stringify(contents));
  return entry === undefined ? undefined : { edit: "whole", entry };
}

/** Whether a change asks for a second confirmation that its form does not have. */
async function isStopped(
  c: OperatorContext,
  deps: OperatorDeps,
  { state, change, form }: Shown,
): Promise<boolean> {
  if (form.text("sure") === "yes") return false;
  const catalog = editedCatalog(state.contents, change);
  const tried = await tryCatalog.run(deps, { catalog }, actOf(c, deps));
  return tried.ok && hasStops(priceStops(tried.changes, deps.catalog.current, tried.catalog));
}

async function previewChange(c: OperatorContext, deps: OperatorDeps) {
  const t = catalogueTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const state = await catalogState(deps.editing);
  if (form.text("edit") === "rollback") {
    const rollbackTo = Number(form.text("version"));
    const change = await rollbackEdit(deps, rollbackTo);
    if (change === undefined) return await listPage(c, deps, t.missing);
    return await showPreview(c, deps, { state, change, form, rollbackTo });
  }
  if (form.text("again") !== "") return await showAgain(c, deps, { state, form });
  const change = await editOf(c, deps, form, state);
  if (change instanceof Response) return change;
  const isOld = Number(form.text("base")) !== state.head.newest;
  const problem = isOld ? await conflictText(c, deps, state.head.newest) : undefined;
  return await showPreview(c, deps, { state, change, form }, problem);
}

async function conflictText(c: OperatorContext, deps: OperatorDeps, newest: number) {
  const t = catalogueTexts[c.get("visitor").locale];
  const row = await readVersion(deps.kv, newest);
  return row === undefined ? t.conflictPlain : t.conflict(row.author, row.version);
}

/** Actor who changes the catalogue, and the version that the form names. */
function changeOf(c: OperatorContext, deps: OperatorDeps, form: PostedForm) {
  return { ...actOf(c, deps), base: () => Number(form.text("base")) };
}

async function applyChange(c: OperatorContext, deps: OperatorDeps) {
  const t = catalogueTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const state = await catalogState(deps.editing);
  const change = await editOf(c, deps, form, state);
  if (change instanceof Response) return change;
  const shown = { state, change, form };
  if (await isStopped(c, deps, shown)) return await showPreview(c, deps, shown, t.notSure);
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
  const state = await catalogState(deps.editing);
  const change = await rollbackEdit(deps, version);
  if (change === undefined) return await listPage(c, deps, t.missing);
  const shown = { state, change, form, rollbackTo: version };
  if (await isStopped(c, deps, shown)) return await showPreview(c, deps, shown, t.notSure);
  const wanted = { version, reason: form.text("reason") || t.rollBackReason(version) };
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
    { title: t.history, under: historyPath },
    <HistoryPage
      visitor={visitor}
      state={state}
      rows={rows}
      states={versionStates(rows, state)}
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
    { title: t.version(row.version), under: historyPath },
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
    .post(testPath, (c) => testModelRoute(c, deps))
    .post(marginsPath, (c) => showMargins(c, deps))
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
  views: [{ href: historyPath, label: { en: "Versions", vi: "Phiên bản" } }],
  routes: createCataloguePages,
};
