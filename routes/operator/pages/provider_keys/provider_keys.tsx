/**
 * `/operator/provider-keys`: the keys of providers that are sealed in the store: added, replaced, removed, sealed anew.
 *
 * - Folder `routes/operator/pages/provider_keys/`: the operator's pages about stored keys of providers.
 * - In: secrets in fields that are never filled again.
 * - Out: HTML without a secret, acts with their audit lines.
 * - Never: shows a secret, or what was typed in its place.
 */
import { Hono } from "hono";
import { maxStoredKeyNameChars, storedKeyName } from "../../../../core/catalog/schema.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
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
import {
  providerKeyPath,
  providerKeysLabel,
  providerKeysPath,
  providerKeyTexts,
  sealsPath,
} from "./texts.ts";
import {
  Badge,
  Card,
  DataTable,
  Empty,
  Fact,
  Notice,
  PasswordField,
  PostForm,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { providerPath } from "../catalogue/texts.ts";
import { actorName } from "../base/account_texts.ts";

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

// The list of stored keys, one of them, and the question before one that is in use is removed.

/** A key as it is listed. */
interface ListedKey {
  readonly name: string;
  readonly fingerprint: string;
  readonly added_at: string;
  readonly added_by: string;
  readonly replaced_at?: string | undefined;
  readonly replaced_by?: string | undefined;
  readonly providers: readonly string[];
  readonly newest_master_key: boolean;
  readonly problem?: string | undefined;
}

function StateBadge({ stored, locale }: { stored: ListedKey; locale: Locale }) {
  const t = providerKeyTexts[locale];
  if (stored.problem !== undefined) return <Badge tone="bad">{t.unopened}</Badge>;
  return stored.newest_master_key
    ? <Badge tone="good">{t.ready}</Badge>
    : <Badge tone="busy">{t.older}</Badge>;
}

function Providers({ stored, locale }: { stored: ListedKey; locale: Locale }) {
  if (stored.providers.length === 0) {
    return <span class="muted">{providerKeyTexts[locale].unused}</span>;
  }
  return (
    <>
      {stored.providers.map((name) => (
        <div>
          <a href={providerPath(name)}>{name}</a>
        </div>
      ))}
    </>
  );
}

function Changed({ at, by, locale }: { at: string; by: string; locale: Locale }) {
  return (
    <>
      <Time atMs={Date.parse(at)} locale={locale} />
      <br />
      <span class="muted">{actorName(by, locale)}</span>
    </>
  );
}

function KeyTable({ keys, locale }: { keys: readonly ListedKey[]; locale: Locale }) {
  const t = providerKeyTexts[locale];
  return (
    <Card title={t.list}>
      <DataTable
        label={t.list}
        rows={keys}
        empty={
          <Empty title={t.none}>
            <p>{t.noneHint}</p>
          </Empty>
        }
        columns={[
          {
            head: t.name,
            kind: "long",
            cell: ({ name }) => <a href={providerKeyPath(name)}>{name}</a>,
          },
          { head: t.fingerprint, cell: ({ fingerprint }) => <code>{fingerprint}</code> },
          { head: t.usedBy, cell: (key) => <Providers stored={key} locale={locale} /> },
          {
            head: t.changed,
            kind: "long",
            cell: ({ added_at, added_by, replaced_at, replaced_by }) => (
              <Changed at={replaced_at ?? added_at} by={replaced_by ?? added_by} locale={locale} />
            ),
          },
          { head: t.state, cell: (key) => <StateBadge stored={key} locale={locale} /> },
        ]}
      />
    </Card>
  );
}

/** Notices about master keys for an operator. */
function MasterKeyNotices({ visitor, keys }: {
  visitor: Visitor;
  keys: readonly ListedKey[];
}) {
  const t = providerKeyTexts[visitor.locale];
  const unopened = keys.filter(({ problem }) => problem !== undefined);
  const isOlderUsed = keys.some((key) => key.problem === undefined && !key.newest_master_key);
  return (
    <>
      {unopened.length > 0 && (
        <Notice
          tone="danger"
          title={t.unopenedTitle(unopened.map(({ name }) => name).join(", "))}
        >
          <p>{t.unopenedText}</p>
        </Notice>
      )}
      {isOlderUsed && (
        <Notice tone="warning" title={t.olderTitle}>
          <p>{t.olderText}</p>
          <PostForm visitor={visitor} action={sealsPath}>
            <SubmitButton tone="plain" small>{t.reseal}</SubmitButton>
          </PostForm>
        </Notice>
      )}
    </>
  );
}

/** The list, and the form of a new key. */
function KeyListPage({ visitor, keys, name, errors }: {
  readonly visitor: Visitor;
  readonly keys: readonly ListedKey[];
  readonly name: string | undefined;
  readonly errors: { readonly name?: string; readonly secret?: string };
}) {
  const t = providerKeyTexts[visitor.locale];
  return (
    <>
      <MasterKeyNotices visitor={visitor} keys={keys} />
      <KeyTable keys={keys} locale={visitor.locale} />
      <Card title={t.add}>
        <p class="muted">{t.addText}</p>
        <PostForm visitor={visitor} action={providerKeysPath}>
          <div class="fields">
            <TextField
              name="name"
              label={t.name}
              hint={t.nameHint}
              value={name}
              error={errors.name}
              autocomplete="off"
              maxlength={maxStoredKeyNameChars}
              required
            />
            <PasswordField
              of="future"
              name="secret"
              label={t.secret}
              hint={t.secretHint}
              error={errors.secret}
            />
          </div>
          <SubmitButton>{t.addButton}</SubmitButton>
        </PostForm>
      </Card>
    </>
  );
}

/** One key: what is known of it, and the forms that replace and remove it. */
function KeyPage({ visitor, stored, problem }: {
  readonly visitor: Visitor;
  readonly stored: ListedKey;
  readonly problem: string | undefined;
}) {
  const { locale } = visitor;
  const t = providerKeyTexts[locale];
  const { name, fingerprint, added_at, added_by, replaced_at, replaced_by } = stored;
  return (
    <>
      <MasterKeyNotices visitor={visitor} keys={[stored]} />
      <Card>
        <dl class="facts">
          <Fact name={t.state}>
            <StateBadge stored={stored} locale={locale} />
          </Fact>
          <Fact name={t.fingerprint}>
            <code>{fingerprint}</code>
          </Fact>
          <Fact name={t.usedBy}>
            <Providers stored={stored} locale={locale} />
          </Fact>
          <Fact name={t.added}>
            <Changed at={added_at} by={added_by} locale={locale} />
          </Fact>
          <Fact name={t.replaced}>
            {replaced_at === undefined
              ? <span class="muted">{t.never}</span>
              : <Changed at={replaced_at} by={replaced_by ?? ""} locale={locale} />}
          </Fact>
        </dl>
      </Card>
      <Card title={t.replace}>
        <p class="muted">{t.replaceText}</p>
        <PostForm visitor={visitor} action={providerKeyPath(name)}>
          <PasswordField
            of="future"
            name="secret"
            label={t.newSecret}
            hint={t.secretHint}
            error={problem}
          />
          <SubmitButton>{t.replaceButton}</SubmitButton>
        </PostForm>
      </Card>
      <Card title={t.remove}>
        <p class="muted">{t.removeText}</p>
        <PostForm
          visitor={visitor}
          action={`${providerKeyPath(name)}/remove`}
          confirm={t.removeConfirm}
        >
          <SubmitButton tone="danger">{t.removeButton}</SubmitButton>
        </PostForm>
      </Card>
    </>
  );
}

/** The question before a key is removed that providers name. */
function InUsePage({ visitor, name, providers }: {
  readonly visitor: Visitor;
  readonly name: string;
  readonly providers: readonly string[];
}) {
  const t = providerKeyTexts[visitor.locale];
  return (
    <Card>
      <Notice tone="warning" title={t.inUse(providers.join(", "))}>
        <p>{t.inUseText}</p>
      </Notice>
      <PostForm visitor={visitor} action={`${providerKeyPath(name)}/remove`}>
        <input type="hidden" name="force" value="yes" />
        <div class="actions">
          <a href={providerKeyPath(name)} class="button outline secondary" role="button">
            {t.back}
          </a>
          <SubmitButton tone="danger">{t.removeAnyway}</SubmitButton>
        </div>
      </PostForm>
    </Card>
  );
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
