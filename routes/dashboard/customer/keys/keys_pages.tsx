/**
 * `/keys`: creates, lists, shows, changes, rotates and revokes API keys.
 *
 * - Folder `routes/dashboard/customer/keys/`: the pages of API keys and their limits.
 * - In: forms of a signed-in customer.
 * - Out: HTML, changed rows in `kv/people/api_keys/`.
 * - Never: moves money: it imports neither `kv/money/wallet/` nor `kv/money/ledger/`.
 */
import { mailReaderOf } from "../../../../kv/people/accounts/accounts.ts";
import { type Context, Hono } from "hono";
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { keyMember } from "../../../../core/limits/budgets.ts";
import { mayOn } from "../../../../core/people/organisations/acts.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import {
  createApiKey,
  revealMadeByForm,
  revokeApiKey,
  rotateApiKey,
  type SentBefore,
  updateApiKey,
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
import { rateRules } from "../../../auth/sign_in_budgets.ts";
import {
  Card,
  CopyButton,
  FormIdField,
  Notice,
  PostForm,
  SubmitButton,
} from "../../components/mod.ts";
import { RecipeList } from "../connect/connect.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { notAllowedPage, notFoundPage } from "../../frame/error_pages.tsx";
import { readForm } from "../../page/form_data.ts";
import { personDoer } from "../../visitor/doer.ts";
import { requireAccount } from "../../visitor/identify.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { keyDetailPage } from "./key_detail.tsx";
import {
  emptyKeyForm,
  isSameKeyForm,
  KeyFields,
  type KeyFormErrors,
  keyFormOf,
  type KeyFormValues,
  parseKeyForm,
} from "./key_form.tsx";
import { keyListPage } from "./key_list.tsx";
import { keyTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";

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

/** A form that is sent again creates nothing and leads to the key that it created before. */
async function madeBefore(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  { made }: SentBefore,
  title: string,
): Promise<Response> {
  const { account } = c.get("signedIn");
  const nowMs = deps.clock.nowMs();
  const shown = await revealMadeByForm(deps.kv, deps.masterKeys, account.id, made, nowMs);
  if (shown === undefined) return c.redirect(`/keys/${made.keyId}`, 303);
  return await secretPage(c, deps, { title, ...shown });
}

async function createKey(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const { account, person } = c.get("signedIn");
  const t = keyTexts[locale];
  const nowMs = deps.clock.nowMs();
  const tries = await countTry(deps.kv, rateRules.changesByAccount, person.id, nowMs);
  if (!tries.allowed) return await keyListPage(c, deps, t.tooMany(tries.retryAfterSeconds));
  const posted = await readForm(c);
  const teams = await listTeams(deps.kv, account.id);
  const form = parseKeyForm(posted, { texts: t, catalog: deps.catalog, nowMs, teams });
  if (!form.ok) return await newKeyPage(c, deps, form);
  const values = keyFormOf(form.options);
  const formId = posted.formId();
  if (formId === undefined) return await newKeyPage(c, deps, { values, problem: t.formStale });
  const made = await createApiKey(deps.kv, deps.masterKeys, account.id, {
    ...form.options,
    nowMs,
    formId,
    memberId: person.id,
    keysPerMember: deps.keysPerMember,
    doneBy: personDoer(c),
    notify: mailReaderOf(account, "key_changed"),
  });
  deps.hintMail();
  if (made.ok) return await secretPage(c, deps, { title: t.createdTitle, ...made });
  switch (made.reason) {
    case "limit":
      return await keyListPage(c, deps, t.full(made.limit));
    case "conflict":
      return await keyListPage(c, deps, t.busy);
    case "sent": {
      // A browser can go back and send the form with other fields: that is a request for another key.
      const earlier = await getApiKey(deps.kv, account.id, made.made.keyId);
      if (earlier === undefined || isSameKeyForm(earlier, form.options)) {
        return await madeBefore(c, deps, made, t.createdTitle);
      }
      return await newKeyPage(c, deps, { values, problem: t.sentBefore(earlier.name) });
    }
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

const changeKey: KeyAction = async (c, deps, record) => {
  const nowMs = deps.clock.nowMs();
  const texts = keyTexts[c.get("visitor").locale];
  const form = parseKeyForm(await readForm(c), {
    texts,
    catalog: deps.catalog,
    nowMs,
    models: record.allowedModels,
    teams: await listTeams(deps.kv, record.accountId),
  });
  if (!form.ok) return await keyDetailPage(c, deps, record, { form });
  const changed = await updateApiKey(deps.kv, record.accountId, record.id, form.options, {
    doneBy: personDoer(c),
    nowMs,
  });
  await deps.control.refresh();
  return await keyDetailPage(c, deps, changed ?? record, { saved: true });
};

const rotateKey: KeyAction = async (c, deps, record) => {
  const t = keyTexts[c.get("visitor").locale];
  const posted = await readForm(c);
  const hours = posted.text("grace");
  const formId = posted.formId();
  if (!Object.hasOwn(t.graces, hours) || formId === undefined) {
    return await keyDetailPage(c, deps, record);
  }
  const rotated = await rotateApiKey(deps.kv, deps.masterKeys, record.accountId, record.id, {
    nowMs: deps.clock.nowMs(),
    graceMs: Number(hours) * hourMs,
    formId,
    doneBy: personDoer(c),
    notify: mailReaderOf(c.get("signedIn").account, "key_changed"),
  });
  deps.hintMail();
  await deps.control.refresh();
  if (rotated === undefined) return await keyDetailPage(c, deps, record);
  return rotated.ok
    ? await secretPage(c, deps, { title: t.rotatedTitle, ...rotated })
    : await madeBefore(c, deps, rotated, t.rotatedTitle);
};

const revokeKey: KeyAction = async (c, deps, record) => {
  await revokeApiKey(deps.kv, record.accountId, record.id, deps.clock.nowMs(), {
    doneBy: personDoer(c),
    notify: mailReaderOf(c.get("signedIn").account, "key_changed"),
  });
  deps.hintMail();
  await deps.control.refresh();
  return c.redirect("/keys", 303);
};

/**
 * Runs an act on a key of the organisation; keys of others do not exist for it. Some roles change only the keys that
 * they have made.
 */
function onKey(deps: DashboardDeps, action: KeyAction, options: { readonly active: boolean }) {
  return async (c: Context<DashboardEnv>) => {
    const { account, person, role } = c.get("signedIn");
    const keyId = parseId("apiKey", c.req.param("id") ?? "");
    const record = keyId === undefined ? undefined : await getApiKey(deps.kv, account.id, keyId);
    if (record === undefined) return await notFoundPage(c);
    const isAllowed = c.req.method === "GET" ||
      mayOn({ role, personId: person.id }, "change_keys", keyMember(record));
    if (!isAllowed) return await notAllowedPage(c);
    if (options.active && !isActive(record, deps.clock.nowMs())) {
      return c.redirect(`/keys/${record.id}`, 303);
    }
    return await action(c, deps, record);
  };
}

function createKeyPages(deps: DashboardDeps): Hono<DashboardEnv> {
  const onActive = { active: true };
  return new Hono<DashboardEnv>()
    .use("/keys/*", requireAccount)
    .get("/keys", (c) => keyListPage(c, deps))
    .post("/keys", (c) => createKey(c, deps))
    .get("/keys/new", (c) => newKeyPage(c, deps))
    .get("/keys/:id", onKey(deps, keyDetailPage, { active: false }))
    .post("/keys/:id", onKey(deps, changeKey, onActive))
    .post("/keys/:id/show", onKey(deps, showKey, onActive))
    .post("/keys/:id/rotate", onKey(deps, rotateKey, onActive))
    .post("/keys/:id/revoke", onKey(deps, revokeKey, onActive));
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
