/**
 * `/keys`: creates, lists, shows, changes, rotates and revokes API keys.
 *
 * - Folder `routes/dashboard/customer/keys/`: the pages of API keys and their limits, and the one on which applications
 *   ask for a key.
 * - In: forms of a signed-in customer.
 * - Out: HTML, and acts of `routes/acts/keys.ts` and `routes/acts/apps.ts`.
 * - Never: moves money: it imports neither `kv/money/wallet/` nor `kv/money/ledger/`.
 */
import { type Context, Hono } from "hono";
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { keyMember } from "../../../../core/limits/budgets.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import {
  activeKeysPerMember,
  maxActiveKeys,
} from "../../../../kv/people/api_keys/api_key_changes.ts";
import {
  type ApiKeyRecord,
  getApiKey,
  isActive,
  revealApiKey,
} from "../../../../kv/people/api_keys/api_keys.ts";
import { listTeams } from "../../../../kv/people/organisations/teams.ts";
import { writeActivity } from "../../../../kv/people/audit/account_activity.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import {
  keyChange,
  keyCreation,
  keyRevocation,
  keyRotation,
  type KeyWithSecret,
} from "../../../acts/keys.ts";
import {
  type CommonRefusal,
  mayAct,
  type RefusalRow,
  type Refused,
} from "../../../acts/operation.ts";
import { rateRules } from "../../../auth/sign_in_budgets.ts";
import {
  Card,
  CopyButton,
  FormIdField,
  Notice,
  PostForm,
  SubmitButton,
} from "../../components/mod.ts";
import {
  callSettingsErrors,
  readCallSettings,
  sentCallSettings,
} from "../call_settings/call_settings_form.tsx";
import { RecipeList } from "../connect/connect.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { notAllowedPage, notFoundPage } from "../../frame/error_pages.tsx";
import { readForm } from "../../page/form_data.ts";
import { actingOf, performForm, spentProblem } from "../../visitor/acting.ts";
import { personDoer } from "../../visitor/doer.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { keyDetailPage } from "./key_detail.tsx";
import {
  emptyKeyForm,
  KeyFields,
  type KeyFormErrors,
  keyFormErrors,
  keyFormOf,
  type KeyFormValues,
  readKeyForm,
  sentKeyForm,
} from "./key_form.tsx";
import { keyListPage } from "./key_list.tsx";
import { keyTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";

type Page = Response | Promise<Response>;

interface NewKeyState {
  readonly values: KeyFormValues;
  readonly errors?: KeyFormErrors;
  /** The reason why no key was created. */
  readonly problem?: string;
}

async function newKeyPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  state?: NewKeyState,
): Promise<Response> {
  const visitor = c.get("visitor");
  const t = keyTexts[visitor.locale];
  const teams = await listTeams(deps.kv, c.get("signedIn").account.id);
  return await renderPage(
    c,
    { title: t.newTitle, status: state === undefined ? 200 : 422 },
    <Card>
      {state?.problem !== undefined && <Notice tone="warning">{state.problem}</Notice>}
      <PostForm visitor={visitor} action="/keys">
        <FormIdField />
        <KeyFields
          values={state?.values ?? emptyKeyForm}
          errors={state?.errors ?? {}}
          catalog={deps.catalog}
          models={[]}
          limits={[]}
          teams={teams}
          texts={t}
          today={vietnamDay(deps.clock.nowMs())}
          locale={visitor.locale}
        />
        <div class="actions">
          <SubmitButton>{t.createButton}</SubmitButton>
          <a href="/keys">{t.cancel}</a>
        </div>
      </PostForm>
    </Card>,
  );
}

/** The model of snippets for a key: the default one, if the key may use it. */
function usableModel({ defaultModel }: Catalog, { allowedModels }: ApiKeyRecord): string {
  if (allowedModels?.includes(defaultModel.id) !== false) return defaultModel.id;
  return allowedModels[0] ?? defaultModel.id;
}

/** Shows a new secret: in the answer to the form, and for a short time to the same form again. */
function secretPage(
  c: Context<DashboardEnv>,
  { baseUrl, catalog }: DashboardDeps,
  shown: { title: string; record: ApiKeyRecord; secret: string },
): Page {
  const { locale } = c.get("visitor");
  const t = keyTexts[locale];
  return renderPage(
    c,
    { title: shown.title, lead: shown.record.name },
    <>
      <Card>
        <Notice tone="success">{t.createdText}</Notice>
        <code class="secret" id="secret">{shown.secret}</code>
        <div class="actions">
          <CopyButton text={shown.secret} what={t.key} locale={locale} />
          <a href="/connect">{t.howToUse}</a>
          <a href="/keys">{t.backToKeys}</a>
        </div>
      </Card>
      <Card title={t.filledIn}>
        <RecipeList
          facts={{ baseUrl, model: usableModel(catalog, shown.record), key: shown.secret }}
          withSdks
          locale={locale}
        />
      </Card>
    </>,
  );
}

/** Shows a secret that was made; a form that is sent again too late leads to the key that it made before. */
async function madePage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  title: string,
  { record, secret }: KeyWithSecret,
): Promise<Response> {
  if (secret === undefined) return c.redirect(`/keys/${record.id}`, 303);
  return await secretPage(c, deps, { title, record, secret });
}

/** The members of an input at fault; none: nothing was done for another reason. */
export function wrongMembers<Why extends string>(
  { refusals }: { readonly refusals: Readonly<Record<Why, RefusalRow>> },
  outcome: Refused<Why> | CommonRefusal,
): readonly string[] {
  if ("why" in outcome) {
    const { field } = refusals[outcome.why];
    return field === undefined ? [] : [field];
  }
  return outcome.common === "input" ? outcome.issues.map(({ field }) => field) : [];
}

async function createKey(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = keyTexts[locale];
  const posted = await readForm(c);
  const values = readKeyForm(posted, emptyKeyForm);
  if (posted.formId() === undefined) {
    return await newKeyPage(c, deps, { values, problem: t.formStale });
  }
  const sent = { name: values.name, ...sentKeyForm(values, emptyKeyForm) };
  const outcome = await performForm(c, deps, keyCreation, sent, posted);
  if (outcome.ok) return await madePage(c, deps, t.createdTitle, outcome.body);
  const wrong = wrongMembers(keyCreation, outcome);
  if (wrong.length > 0) {
    return await newKeyPage(c, deps, { values, errors: keyFormErrors(values, wrong, t) });
  }
  const spent = spentProblem(outcome, locale);
  if (spent !== undefined) return await keyListPage(c, deps, spent);
  switch ("why" in outcome ? outcome.why : outcome.common) {
    case "full": {
      const { keysPerMember = activeKeysPerMember } = deps;
      return await keyListPage(
        c,
        deps,
        t.full(maxActiveKeys(c.get("signedIn").account, keysPerMember)),
      );
    }
    case "busy":
      return await keyListPage(c, deps, t.busy);
    // A browser can go back and send the form with other fields: that is a request for another key.
    case "used":
      return await newKeyPage(c, deps, { values, problem: t.sentBefore });
    default:
      return await notAllowedPage(c);
  }
}

type KeyAction = (
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  record: ApiKeyRecord,
) => Promise<Response>;

const showKey: KeyAction = async (c, deps, record) => {
  const { person } = c.get("signedIn");
  const t = keyTexts[c.get("visitor").locale];
  const nowMs = deps.clock.nowMs();
  const isAllowed = mayAct(actingOf(c, nowMs), "change_keys", keyMember(record));
  if (!isAllowed) return await notAllowedPage(c);
  if (!isActive(record, nowMs)) return c.redirect(`/keys/${record.id}`, 303);
  const tries = await countTry(deps.kv, rateRules.passwordByAccount, person.id, nowMs);
  if (!tries.allowed) {
    return await keyDetailPage(c, deps, record, {
      passwordError: t.tooMany(tries.retryAfterSeconds),
    });
  }
  const hash = await getPasswordHash(deps.kv, person.id);
  if (hash === undefined) return await keyDetailPage(c, deps, record, { noPassword: true });
  const password = (await readForm(c)).exact("password");
  if (!await deps.passwords.verify(password, hash)) {
    return await keyDetailPage(c, deps, record, { passwordError: t.wrongPassword });
  }
  const secret = await revealApiKey(deps.masterKeys, record);
  if (secret !== undefined) {
    const line = { accountId: record.accountId, by: personDoer(c), atMs: nowMs };
    await writeActivity(deps.kv, { ...line, act: "api_key_shown", subject: record.id });
    return await keyDetailPage(c, deps, record, { secret });
  }
  deps.report?.("showing a key", new Error("it was sealed with a master key that is not here"));
  return await keyDetailPage(c, deps, record, { unreadable: true });
};

/** Answers a refusal that is about no field. */
async function refusedPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  record: ApiKeyRecord,
  outcome: Refused<string> | CommonRefusal,
): Promise<Response> {
  const problem = spentProblem(outcome, c.get("visitor").locale);
  if (problem !== undefined) return await keyDetailPage(c, deps, record, { problem });
  switch ("why" in outcome ? outcome.why : outcome.common) {
    case "missing":
      return await notFoundPage(c);
    case "not_own":
    case "not_allowed":
      return await notAllowedPage(c);
    // The page says in which state the key is.
    default:
      return c.redirect(`/keys/${record.id}`, 303);
  }
}

const changeKey: KeyAction = async (c, deps, record) => {
  const { locale } = c.get("visitor");
  const t = keyTexts[locale];
  const shown = keyFormOf(record, { teams: await listTeams(deps.kv, record.accountId), locale });
  const values = readKeyForm(await readForm(c), shown);
  const sent = { id: record.id, ...sentKeyForm(values, shown) };
  const outcome = await performForm(c, deps, keyChange, sent);
  if (outcome.ok) return await keyDetailPage(c, deps, outcome.body, { saved: true });
  const wrong = wrongMembers(keyChange, outcome);
  // The page of a key that has ended shows no form.
  if (wrong.length === 0 || !isActive(record, deps.clock.nowMs())) {
    return await refusedPage(c, deps, record, outcome);
  }
  const form = { values, errors: keyFormErrors(values, wrong, t) };
  return await keyDetailPage(c, deps, record, { form });
};

const changeCalls: KeyAction = async (c, deps, record) => {
  const { locale } = c.get("visitor");
  const values = readCallSettings(await readForm(c));
  const sent = { id: record.id, calls: sentCallSettings(values) };
  const outcome = await performForm(c, deps, keyChange, sent);
  if (outcome.ok) return await keyDetailPage(c, deps, outcome.body, { saved: true });
  const errors = callSettingsErrors(keyChange, outcome, locale);
  return errors === undefined || !isActive(record, deps.clock.nowMs())
    ? await refusedPage(c, deps, record, outcome)
    : await keyDetailPage(c, deps, record, { calls: { values, errors } });
};

const rotateKey: KeyAction = async (c, deps, record) => {
  const t = keyTexts[c.get("visitor").locale];
  const posted = await readForm(c);
  if (posted.formId() === undefined) return await keyDetailPage(c, deps, record);
  const sent = { id: record.id, graceHours: Number(posted.text("grace") || NaN) };
  const outcome = await performForm(c, deps, keyRotation, sent, posted);
  return outcome.ok
    ? await madePage(c, deps, t.rotatedTitle, outcome.body)
    : await refusedPage(c, deps, record, outcome);
};

const revokeKey: KeyAction = async (c, deps, record) => {
  const outcome = await performForm(c, deps, keyRevocation, { id: record.id });
  return outcome.ok ? c.redirect("/keys", 303) : await refusedPage(c, deps, record, outcome);
};

/** Finds the key of the organisation that a path names; keys of others do not exist for it. */
function onKey(deps: DashboardDeps, action: KeyAction) {
  return async (c: Context<DashboardEnv>) => {
    const { account } = c.get("signedIn");
    const keyId = parseId("apiKey", c.req.param("id") ?? "");
    const record = keyId === undefined ? undefined : await getApiKey(deps.kv, account.id, keyId);
    return record === undefined ? await notFoundPage(c) : await action(c, deps, record);
  };
}

function createKeyPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/keys/*", requireAccount)
    .get("/keys", (c) => keyListPage(c, deps))
    .post("/keys", (c) => createKey(c, deps))
    .get("/keys/new", (c) => newKeyPage(c, deps))
    .get("/keys/:id", onKey(deps, keyDetailPage))
    .post("/keys/:id", onKey(deps, changeKey))
    .post("/keys/:id/calls", onKey(deps, changeCalls))
    .post("/keys/:id/show", onKey(deps, showKey))
    .post("/keys/:id/rotate", onKey(deps, rotateKey))
    .post("/keys/:id/revoke", onKey(deps, revokeKey));
}

export const keyPages: PageDeclaration<DashboardDeps> = {
  navigation: {
    href: "/keys",
    icon: "key",
    group: "manage",
    label: { en: "API keys", vi: "Khoá API" },
  },
  routes: createKeyPages,
};
