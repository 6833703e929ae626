/** `/operator/audit`: all acts of operators, newest first. */
import { Hono } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { findAuditLines } from "../../../../kv/people/audit/operator_audit.ts";
import { Card, DataTable, Pager, Time } from "../../../dashboard/components/mod.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { accountTexts } from "../base/account_texts.ts";
import {
  type OperatorContext,
  type OperatorDeps,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { lookUpMoney, MoneyFacts } from "../dossier/moved_money.tsx";
import { accountsIn, AuditDetail, LinkedText, namesOf, Person } from "../base/linked_text.tsx";
import { frameTexts } from "../base/texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";

const auditRows = 100;

const auditLabel = { en: "Audit log", vi: "Nhật ký" };

async function auditPage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = accountTexts[locale];
  const frame = frameTexts[locale];
  const before = parseId("audit", c.req.query("before") ?? "");
  const { lines, next } = await findAuditLines(deps.kv, {
    count: auditRows,
    ...defined({ before }),
  });
  const rows = await Promise.all(
    lines.map(async (line) => ({
      ...line,
      shown: line.money && await lookUpMoney(deps.kv, line.money),
    })),
  );
  const names = await namesOf(
    deps.kv,
    accountsIn(lines.flatMap(({ subject, detail }) => [subject, detail])),
  );
  return await renderOperatorPage(
    c,
    { lead: t.auditLead },
    <Card>
      <DataTable
        label={auditLabel[locale]}
        rows={rows}
        columns={[
          {
            head: frame.when,
            kind: "one-line",
            cell: ({ atMs }) => <Time atMs={atMs} locale={locale} relative />,
          },
          {
            head: frame.who,
            kind: "long",
            cell: ({ operatorEmail }) => <Person address={operatorEmail} />,
          },
          { head: t.act, cell: ({ act }) => t.acts[act] },
          {
            head: t.subject,
            kind: "long",
            cell: ({ subject }) => <LinkedText text={subject} names={names} locale={locale} />,
          },
          {
            head: t.detail,
            kind: "long",
            cell: ({ detail, shown }) => (
              <>
                <AuditDetail text={detail} names={names} locale={locale} />
                {shown !== undefined && <MoneyFacts money={shown} locale={locale} />}
              </>
            ),
          },
        ]}
      />
      <Pager
        next={next === undefined ? undefined : `/operator/audit?before=${next}`}
        locale={locale}
      />
    </Card>,
  );
}

/** Registers the page of the audit log. */
function createAuditPages(deps: OperatorDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>().get("/operator/audit", (c) => auditPage(c, deps));
}

export const auditPages: OperatorPage = {
  link: { href: "/operator/audit", label: auditLabel },
  routes: createAuditPages,
};
