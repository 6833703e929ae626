/**
 * `/welcome`: greets a new account with its first key in code that runs, and shows the first call when it arrives.
 *
 * - Folder `routes/dashboard/customer/welcome/`: the page between sign-up and the first call.
 * - In: the account of the visitor, its first key, its balance and its calls.
 * - Out: HTML.
 * - Never: creates a key: sign-up does (`routes/dashboard/customer/sign_in/new_account.ts`).
 */
import { type Context, Hono } from "hono";
import { returnPath } from "../../../../core/people/accounts/return_path.ts";
import { type FirstKey, readFirstKey } from "../../../../kv/people/api_keys/first_key.ts";
import { Card, CopyButton, Notice } from "../../components/mod.ts";
import { snippets } from "../connect/connect_snippets.ts";
import { RecipeList } from "../connect/recipe_list.tsx";
import { keyPlaceholder, type RecipeFacts } from "../connect/recipes.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { formatMoneyShort } from "../../text/format.ts";
import { renderPage } from "../../frame/layout.tsx";
import { CodeTabs } from "../connect/code_tabs.tsx";
import type { Locale } from "../../text/i18n.ts";
import type { PageDeclaration } from "../../page/page.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { FirstCall, latestCalls, outcomeTitle } from "./first_call.tsx";
import { welcomeTexts } from "./texts.ts";

/** The key, while it is shown, and what there is to spend. */
function KeyCard({ firstKey: { record, secret }, balanceMicroVnd, locale }: {
  firstKey: FirstKey;
  balanceMicroVnd: bigint;
  locale: Locale;
}) {
  const t = welcomeTexts[locale];
  const page = <a href={`/keys/${record.id}`}>{t.keyPage}</a>;
  return (
    <Card title={t.key}>
      {balanceMicroVnd > 0n
        ? <Notice tone="success">{t.credit(formatMoneyShort(balanceMicroVnd, locale))}</Notice>
        : (
          <Notice tone="warning">
            {t.empty} <a href="/wallet">{t.topUp}</a>
          </Notice>
        )}
      {secret === undefined ? <p class="muted">{t.keyLater} {page}</p> : (
        <>
          <div class="secret-row">
            <code class="secret" id="secret">{secret}</code>
            <CopyButton text={secret} what={t.key} locale={locale} />
          </div>
          <p class="muted">{t.keyNote(record.name)} {page}</p>
        </>
      )}
    </Card>
  );
}

function FirstCode({ facts, locale }: { facts: RecipeFacts; locale: Locale }) {
  const t = welcomeTexts[locale];
  const tabs = snippets(facts.baseUrl, facts.model).chat
    .map(({ name, code }) => ({ name, code: code.replaceAll(keyPlaceholder, facts.key) }));
  return (
    <Card title={t.code}>
      <CodeTabs tabs={tabs} label={t.code} locale={locale} />
    </Card>
  );
}

async function welcomePage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const { account } = c.get("signedIn");
  const t = welcomeTexts[locale];
  const next = returnPath(c.req.query("next"), "/");
  const { kv, masterKeys, clock, wallet, baseUrl, catalog } = deps;
  const firstKey = await readFirstKey(kv, masterKeys, account.id, clock.nowMs());
  if (firstKey === undefined) return c.redirect(next, 303);
  const { totalMicroVnd } = await wallet.balance(account.id);
  const { record, secret } = firstKey;
  const facts = { baseUrl, model: catalog.defaultModel.id, key: secret ?? keyPlaceholder };
  const calls = await latestCalls(c, deps);
  return await renderPage(
    c,
    {
      title: outcomeTitle(calls, locale) ?? t.title,
      lead: secret === undefined ? t.leadWithoutSecret : t.lead,
      styles: ["public.css"],
      actions: (
        <>
          <a href="/playground" class="button outline secondary">{t.playground}</a>
          <a href={next} class="button">{t.continue}</a>
        </>
      ),
    },
    <>
      <KeyCard firstKey={firstKey} balanceMicroVnd={totalMicroVnd} locale={locale} />
      <FirstCode facts={facts} locale={locale} />
      <FirstCall calls={calls} keys={[record]} locale={locale} looks={0} />
      <Card title={t.tools}>
        <RecipeList facts={facts} locale={locale} />
      </Card>
    </>,
  );
}

/** The part of the page that looks for the first call. */
async function callFragment(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { kv, masterKeys, clock } = deps;
  const { account } = c.get("signedIn");
  const firstKey = await readFirstKey(kv, masterKeys, account.id, clock.nowMs());
  const { locale } = c.get("visitor");
  const calls = await latestCalls(c, deps);
  const asked = Number(c.req.query("looks"));
  const title = outcomeTitle(calls, locale);
  return await c.html(
    <>
      <FirstCall
        calls={calls}
        keys={firstKey === undefined ? [] : [firstKey.record]}
        locale={locale}
        looks={Number.isSafeInteger(asked) ? asked : 0}
      />
      {title !== undefined && <h1 id="page-title" hx-swap-oob="true">{title}</h1>}
    </>,
  );
}

function createWelcomePage(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .use("/welcome/*", requireAccount)
    .get("/welcome", (c) => welcomePage(c, deps))
    .get("/welcome/call", (c) => callFragment(c, deps));
}

export const welcomePages: PageDeclaration<DashboardDeps> = { routes: createWelcomePage };
