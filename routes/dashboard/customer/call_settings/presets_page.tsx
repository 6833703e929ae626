/** `/organisation/presets`: the presets of an organisation, and with `?name=` one of them to read, change or delete. */
import { type Context, Hono } from "hono";
import {
  presetCall,
  presetEfforts,
  type PresetParameters,
  presetVersion,
} from "../../../../core/calls/request/presets.ts";
import { maxModelNameChars } from "../../../../core/lib/base/limits.ts";
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import {
  type ListedPreset,
  listPresets,
  maxPresetBytes,
  maxPresets,
  type PresetVersion,
  readPreset,
} from "../../../../kv/people/organisations/presets.ts";
import type { CommonRefusal, Refused } from "../../../acts/operation.ts";
import { presetDeletion, presetSaving } from "../../../acts/presets.ts";
import {
  Card,
  DataTable,
  Notice,
  PostForm,
  RowForm,
  SaveBar,
  SelectField,
  TextField,
  Time,
} from "../../components/mod.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { type PostedForm, readForm } from "../../page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import type { Locale } from "../../text/i18n.ts";
import { performForm, spentProblem } from "../../visitor/acting.ts";
import {
  type CallSettingsErrors,
  callSettingsErrors,
  CallSettingsFields,
  type CallSettingsValues,
  callSettingsValues,
  readCallSettings,
  sentCallSettings,
} from "./call_settings_form.tsx";
import { callSettingsTexts, presetTexts } from "./texts.ts";

/** Path of the page. */
export const presetsPath = "/organisation/presets";

const numbers = [
  "temperature",
  "topP",
  "topK",
  "maxTokens",
  "seed",
  "frequencyPenalty",
  "presencePenalty",
] as const satisfies readonly (keyof PresetParameters)[];
const fields = ["name", "model", "system", ...numbers, "stop", "effort"] as const;
type Field = typeof fields[number];

/** The fields as text, to show the form again. */
interface Values {
  readonly own: Readonly<Record<Field, string>>;
  readonly calls: CallSettingsValues;
}

interface Errors {
  readonly own: Partial<Record<Field, string>>;
  readonly calls: CallSettingsErrors;
}

function valuesOf(one: PresetVersion | undefined, locale: Locale): Values {
  const { model = "", system = "", parameters = {}, calls } = one?.preset ?? {};
  return {
    own: {
      name: one?.name ?? "",
      model,
      system,
      ...recordOf(numbers, (name) => parameters[name]?.toString() ?? ""),
      stop: parameters.stop?.join("\n") ?? "",
      effort: parameters.effort ?? "",
    },
    calls: callSettingsValues(calls, locale),
  };
}

function typedValues(form: PostedForm): Values {
  return { own: recordOf(fields, (name) => form.text(name)), calls: readCallSettings(form) };
}

/** Reads a number with a point or a comma; what cannot be read is sent as it is, and refused. */
function sentNumber(text: string): number | string {
  const number = Number(text.trim().replace(",", "."));
  return Number.isNaN(number) ? text : number;
}

function sentPreset({ own, calls }: Values): object {
  const stop = own.stop.split(/\r?\n/).filter((line) => line !== "");
  const parameters = Object.fromEntries([
    ...numbers.filter((name) => own[name].trim() !== "").map((name) =>
      [name, sentNumber(own[name])] as const
    ),
    ...(stop.length > 0 ? [["stop", stop] as const] : []),
    ...(own.effort === "" ? [] : [["effort", own.effort] as const]),
  ]);
  return {
    name: own.name.trim(),
    model: own.model.trim(),
    ...(own.system.trim() !== "" && { system: own.system.replaceAll("\r\n", "\n") }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
    calls: sentCallSettings(calls) ?? {},
  };
}

type SavingRefusal = Refused<keyof typeof presetSaving.refusals> | CommonRefusal;

/** Says what is wrong with a form; `undefined` if the refusal is about none of its fields. */
function errorsOf(outcome: SavingRefusal, locale: Locale): Errors | undefined {
  const t = presetTexts[locale];
  const members = "why" in outcome
    ? ["field" in presetSaving.refusals[outcome.why] ? outcome.why : ""]
    : outcome.common === "input"
    ? outcome.issues.map(({ field }) => field)
    : [];
  const wrong = fields.filter((field) =>
    members.some((member) =>
      member === field || member === `parameters.${field}` ||
      (field === "stop" && member.startsWith("parameters.stop"))
    )
  );
  const own = Object.fromEntries(wrong.map((field) => [field, t.wrong[field]]));
  const calls = callSettingsErrors(presetSaving, outcome, locale);
  const tooLarge = members.includes("too_large") ? { system: t.wrong.system } : {};
  const all = { own: { ...own, ...tooLarge }, calls: calls ?? {} };
  return Object.keys(all.own).length + Object.keys(all.calls).length === 0 ? undefined : all;
}

interface PageState {
  readonly form?: { readonly values: Values; readonly errors: Errors };
  readonly problem?: string;
}

async function presetsPage(
  c: Context<DashboardEnv>,
  { kv, masterKeys }: DashboardDeps,
  { form, problem }: PageState = {},
): Promise<Response> {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const { account } = c.get("signedIn");
  const t = presetTexts[locale];
  const presets = await listPresets(kv, account.id);
  const name = form === undefined ? c.req.query("name") : undefined;
  const called = { name: name ?? "", version: presetVersion(c.req.query("version") ?? "") };
  const read = name === undefined
    ? undefined
    : await readPreset(kv, masterKeys, account.id, called);
  if (name !== undefined && read === undefined) return await notFoundPage(c);
  const { values, errors } = form ??
    { values: valuesOf(read, locale), errors: { own: {}, calls: {} } };
  const listed = presets.find((one) => one.name === name);
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      status: form === undefined && problem === undefined ? 200 : 422,
    },
    <>
      {c.req.query("done") === "saved" && <Notice tone="success">{t.saved}</Notice>}
      {c.req.query("done") === "deleted" && <Notice tone="success">{t.deleted}</Notice>}
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      <Card title={t.count(presets.length, maxPresets)}>
        <PresetTable presets={presets} visitor={visitor} />
      </Card>
      <Card title={read === undefined ? t.create : presetCall(read.name, read.version)}>
        {listed !== undefined && listed.oldest < listed.version && (
          <Versions listed={listed} locale={locale} />
        )}
        <PostForm visitor={visitor} action={presetsPath}>
          <PresetFields
            values={values}
            errors={errors}
            locale={locale}
            isNamed={read !== undefined}
          />
          <SaveBar
            wrong={Object.keys(errors.own).length + Object.keys(errors.calls).length}
            locale={locale}
          />
        </PostForm>
        {read !== undefined && (
          <p>
            <a href={presetsPath}>{t.create}</a>
          </p>
        )}
      </Card>
      <p>
        <a href="/organisation">← {callSettingsTexts[locale].backToOrganisation}</a>
      </p>
    </>,
  );
}

function PresetTable({ presets, visitor }: {
  readonly presets: readonly ListedPreset[];
  readonly visitor: Visitor;
}) {
  const { locale } = visitor;
  const t = presetTexts[locale];
  return (
    <DataTable
      label={t.title}
      rows={presets}
      empty={<p>{t.none}</p>}
      columns={[
        {
          head: t.labels.name,
          kind: "long",
          cell: ({ name }) => (
            <a href={`${presetsPath}?name=${name}`}>
              <code>@preset/{name}</code>
            </a>
          ),
        },
        { head: t.labels.model, kind: "long", cell: ({ model }) => model },
        { head: t.version, kind: "number", cell: ({ version }) => version },
        {
          head: t.savedAt,
          kind: "one-line",
          wideOnly: true,
          cell: ({ savedAtMs }) => <Time atMs={savedAtMs} locale={locale} />,
        },
        {
          head: t.acts,
          hiddenHead: true,
          kind: "buttons",
          cell: ({ name }) => (
            <RowForm
              visitor={visitor}
              action={`${presetsPath}/delete`}
              confirm={t.deleteSure(name)}
              field={["name", name]}
              label={t.deleteOne(name)}
            >
              {t.delete}
            </RowForm>
          ),
        },
      ]}
    />
  );
}

/** The kept versions of a preset, the newest first. */
function Versions({ listed, locale }: { readonly listed: ListedPreset; readonly locale: Locale }) {
  const { name, version, oldest } = listed;
  const numbers = Array.from({ length: version - oldest + 1 }, (_, at) => version - at);
  return (
    <p>
      {presetTexts[locale].versions}
      {numbers.flatMap((number) => [
        " ",
        <a key={number} href={`${presetsPath}?name=${name}&version=${number}`}>{number}</a>,
      ])}
    </p>
  );
}

function PresetFields({ values: { own, calls }, errors, locale, isNamed }: {
  readonly values: Values;
  readonly errors: Errors;
  readonly locale: Locale;
  /** The name stays: another one would be another preset. */
  readonly isNamed: boolean;
}) {
  const t = presetTexts[locale];
  const about = (name: Field) => ({
    name,
    label: t.labels[name],
    value: own[name],
    error: errors.own[name],
    autocomplete: "off" as const,
  });
  return (
    <>
      {isNamed
        ? <input type="hidden" name="name" value={own.name} />
        : <TextField {...about("name")} maxlength={63} hint={t.nameHint} required />}
      <TextField {...about("model")} maxlength={maxModelNameChars} hint={t.modelHint} required />
      <TextField {...about("system")} rows={8} maxlength={maxPresetBytes} hint={t.systemHint} />
      <fieldset>
        <legend>{t.parameters}</legend>
        <div class="columns">
          {numbers.map((name) => (
            <TextField key={name} {...about(name)} inputmode="decimal" maxlength={20} />
          ))}
          <TextField {...about("stop")} rows={2} maxlength={5_000} hint={t.stopHint} />
          <SelectField
            name="effort"
            label={t.labels.effort}
            value={own.effort}
            error={errors.own.effort}
            options={[
              { value: "", label: callSettingsTexts[locale].unset },
              ...presetEfforts.map((value) => ({ value, label: t.efforts[value] })),
            ]}
          />
        </div>
      </fieldset>
      <CallSettingsFields values={calls} errors={errors.calls} locale={locale} of="preset" />
    </>
  );
}

async function savePreset(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const values = typedValues(await readForm(c));
  const outcome = await performForm(c, deps, presetSaving, sentPreset(values));
  if (outcome.ok) return c.redirect(`${presetsPath}?name=${outcome.body.name}&done=saved`, 303);
  const errors = errorsOf(outcome, locale);
  if (errors !== undefined) return await presetsPage(c, deps, { form: { values, errors } });
  const t = presetTexts[locale];
  const isFull = "why" in outcome && outcome.why === "too_many";
  const problem = spentProblem(outcome, locale) ?? (isFull ? t.full(maxPresets) : t.notSaved);
  const form = { values, errors: { own: {}, calls: {} } };
  return await presetsPage(c, deps, { form, problem });
}

async function deletePreset(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const name = (await readForm(c)).text("name");
  const outcome = await performForm(c, deps, presetDeletion, { name });
  if (outcome.ok) return c.redirect(`${presetsPath}?done=deleted`, 303);
  const problem = spentProblem(outcome, locale) ?? presetTexts[locale].gone;
  return await presetsPage(c, deps, { problem });
}

/** Registers the page. */
export function createPresetPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(presetsPath, (c) => presetsPage(c, deps))
    .post(presetsPath, (c) => savePreset(c, deps))
    .post(`${presetsPath}/delete`, (c) => deletePreset(c, deps));
}
