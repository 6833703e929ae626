/**
 * `/activity`: the activity log of the account, as a page and as CSV.
 *
 * - Folder `routes/dashboard/customer/activity/`: who did what in an account.
 * - In: a filter by act and person.
 * - Out: HTML, a CSV file.
 * - Never: names an operator to a customer.
 */
import { type Context, Hono } from "hono";
import { defined } from "../../../../core/lib/base/defined.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import {
  activityActs,
  findActivity,
  isActivityAct,
  writeActivity,
} from "../../../../kv/people/audit/account_activity.ts";
import { activityFile } from "../../../usage_api/activity.ts";
import { Card, Icon, Pager, SelectField, SubmitButton, TextField } from "../../components/mod.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { PageDeclaration } from "../../page/page.ts";
import type { PageDeps } from "../../page/page_deps.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { personDoer } from "../../visitor/doer.ts";
import { requireAccount } from "../../visitor/identify.ts";
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { listManagementKeys } from "../../../../kv/people/management_keys/management_keys.ts";
import { listMembers } from "../../../../kv/people/organisations/members.ts";
import { listTeams } from "../../../../kv/people/organisations/teams.ts";
import type { ThingNames } from "./activity_changes.tsx";
import { ActivityTable } from "./activity_table.tsx";
import { activityTexts } from "./activity_texts.ts";

type PageContext = Context<DashboardEnv>;

/** Lines of a page. */
const shownLines = 50;

/** Characters of a filter by person: an address of mail. */
const maxPersonChars = 254;

function filterOf(c: PageContext) {
  const act = c.req.query("act");
  const person = c.req.query("person")?.trim().slice(0, maxPersonChars);
  return {
    act: isActivityAct(act) ? act : undefined,
    person: person === "" ? undefined : person,
  };
}

/** Reads the names of what the lines of an organisation are about. */
async function thingNames({ kv }: PageDeps, account: Account): Promise<ThingNames> {
  const [keys, teams, members, programs] = await Promise.all([
    listApiKeys(kv, account.id),
    listTeams(kv, account.id),
    listMembers(kv, account),
    listManagementKeys(kv, account.id),
  ]);
  return new Map<string, string>([
    ...[...keys, ...teams, ...programs].map(({ id, name }) => [id, name] as const),
    ...members.map(({ personId, email }) => [personId, email ?? personId] as const),
  ]);
}

async function activityPage(c: PageContext, deps: PageDeps) {
  const { locale } = c.get("visitor");
  const { account } = c.get("signedIn");
  const t = activityTexts[locale];
  const filter = filterOf(c);
  const before = parseId("activity", c.req.query("before") ?? "");
  const query = new URLSearchParams({ ...defined(filter) });
  const [{ lines, next }, names] = await Promise.all([
    findActivity(deps.kv, account.id, { count: shownLines, before, ...filter }),
    thingNames(deps, account),
  ]);
  const options = [
    { value: "", label: t.anyAct },
    ...activityActs.map((value) => ({ value, label: t.acts[value] })),
  ];
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      actions: (
        <a href={`/activity.csv?${query}`} class="button outline secondary small" download>
          <Icon name="download" /> {t.csv}
        </a>
      ),
    },
    <Card>
      <form method="get" class="inline-form">
        <SelectField name="act" label={t.act} options={options} value={filter.act ?? ""} />
        <TextField name="person" label={t.person} value={filter.person ?? ""} />
        <SubmitButton tone="plain">{t.show}</SubmitButton>
      </form>
      <ActivityTable lines={lines} names={names} locale={locale} />
      <Pager
        next={next === undefined
          ? undefined
          : `/activity?${new URLSearchParams({ ...defined(filter), before: next })}`}
        locale={locale}
      />
    </Card>,
  );
}

async function activityDownload(c: PageContext, deps: PageDeps) {
  const { account } = c.get("signedIn");
  await writeActivity(deps.kv, {
    accountId: account.id,
    act: "activity_exported",
    by: personDoer(c),
    atMs: deps.clock.nowMs(),
  });
  return await activityFile(deps.kv, account.id, filterOf(c));
}

function createActivityPages(deps: PageDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/activity", requireAccount, (c) => activityPage(c, deps))
    .get("/activity.csv", requireAccount, (c) => activityDownload(c, deps));
}

export const activityPages: PageDeclaration<PageDeps> = {
  navigation: {
    href: "/activity",
    icon: "list",
    group: "account",
    label: { en: "Activity", vi: "Nhật ký" },
  },
  routes: createActivityPages,
};
