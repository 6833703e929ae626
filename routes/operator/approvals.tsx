/** `/operator/approvals` and `/operator/audit`: the second pair of eyes, and the log of everything. */
import { Hono } from "hono";
import { parseId } from "../../core/ids.ts";
import { type Approval, decideApproval, listApprovals } from "../../kv/approvals.ts";
import { listAuditLines } from "../../kv/operator_audit.ts";
import { mailCredited } from "../../kv/topup_mails.ts";
import {
  Badge,
  Card,
  DataTable,
  Money,
  Pager,
  PostForm,
  SubmitButton,
  Time,
} from "../dashboard/components/mod.ts";
import type { Locale } from "../dashboard/i18n.ts";
import type { DashboardEnv, Visitor } from "../dashboard/visitor.ts";
import { accountTexts } from "./account_texts.ts";
import type { OperatorDeps } from "./deps.ts";
import { doneAt, type OperatorContext, operatorOf, renderOperatorPage } from "./frame.tsx";
import { NothingHere } from "./list_parts.tsx";
import { noticePath } from "./notice_views.tsx";
import { frameTexts } from "./texts.ts";

const shownApprovals = 100;
const auditRows = 100;

async function approvalsPage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  const t = accountTexts[visitor.locale];
  const approvals = await listApprovals(deps.kv, shownApprovals);
  return await renderOperatorPage(
    c,
    { section: "approvals", lead: t.approvalsLead, problem },
    <Card>
      <ApprovalTable approvals={approvals} visitor={visitor} />
    </Card>,
  );
}

const tones = { pending: "busy", approved: "good", refused: "neutral" } as const;

function ApprovalTable({ approvals, visitor }: {
  approvals: readonly Approval[];
  visitor: Visitor;
}) {
  const { locale } = visitor;
  const t = accountTexts[locale];
  const frame = frameTexts[locale];
  return (
    <DataTable
      label={frame.sections.approvals}
      rows={approvals}
      empty={<NothingHere locale={locale} />}
      columns={[
        {
          head: frame.when,
          kind: "one-line",
          cell: (approval) => <Time atMs={approval.requestedAtMs} locale={locale} />,
        },
        {
          head: t.act,
          cell: (approval) => <SubjectLink approval={approval} locale={locale} />,
        },
        {
          head: frame.amount,
          kind: "number",
          cell: ({ act }) => <Money microVnd={act.amountMicroVnd} locale={locale} />,
        },
        { head: frame.reason, cell: ({ act }) => act.reason },
        { head: t.askedBy, cell: ({ requestedBy }) => requestedBy.email },
        {
          head: t.state,
          cell: (approval) => <ApprovalState approval={approval} visitor={visitor} />,
        },
      ]}
    />
  );
}

function SubjectLink({ approval, locale }: { approval: Approval; locale: Locale }) {
  const t = accountTexts[locale].kinds;
  const { act } = approval;
  const href = act.kind === "adjust" ? `/operator/accounts/${act.accountId}` : noticePath(act.ref);
  return <a href={href}>{t[act.kind]}</a>;
}

function ApprovalState({ approval, visitor }: { approval: Approval; visitor: Visitor }) {
  const t = accountTexts[visitor.locale];
  const isMine = approval.requestedBy.accountId === visitor.signedIn?.account.id;
  const path = `/operator/approvals/${approval.id}`;
  if (approval.state !== "pending") {
    return (
      <>
        <Badge tone={tones[approval.state]}>{t.approvalStates[approval.state]}</Badge>{" "}
        {approval.decidedBy?.email}
      </>
    );
  }
  return (
    <div class="table-actions">
      <Badge tone="busy">{t.approvalStates.pending}</Badge>
      {!isMine && (
        <PostForm visitor={visitor} action={`${path}/approve`} confirm={t.approveConfirm}>
          <SubmitButton small>{t.approve}</SubmitButton>
        </PostForm>
      )}
      <PostForm visitor={visitor} action={`${path}/refuse`}>
        <SubmitButton small tone="plain">{t.refuse}</SubmitButton>
      </PostForm>
    </div>
  );
}

async function decide(c: OperatorContext, deps: OperatorDeps, verdict: "approve" | "refuse") {
  const t = frameTexts[c.get("visitor").locale];
  const id = parseId("approval", c.req.param("id") ?? "");
  if (id === undefined) return await approvalsPage(c, deps, t.problems.missing);
  const result = await decideApproval(deps.kv, id, verdict, {
    operator: operatorOf(c),
    nowMs: deps.clock.nowMs(),
    onCredited: mailCredited,
  });
  if (!result.ok) return await approvalsPage(c, deps, t.problems[result.why]);
  deps.hintMail();
  return doneAt(c, "/operator/approvals", verdict === "approve" ? "approved" : "refused");
}

async function auditPage(c: OperatorContext, deps: OperatorDeps) {
  const { locale } = c.get("visitor");
  const t = accountTexts[locale];
  const frame = frameTexts[locale];
  const before = parseId("audit", c.req.query("before") ?? "");
  const lines = await listAuditLines(deps.kv, {
    count: auditRows,
    ...(before !== undefined && { before }),
  });
  const last = lines.length === auditRows ? lines.at(-1)?.id : undefined;
  return await renderOperatorPage(
    c,
    { section: "audit", lead: t.auditLead },
    <Card>
      <DataTable
        label={frame.sections.audit}
        rows={lines}
        columns={[
          {
            head: frame.when,
            kind: "one-line",
            cell: ({ atMs }) => <Time atMs={atMs} locale={locale} />,
          },
          { head: frame.who, cell: ({ operatorEmail }) => operatorEmail },
          { head: t.act, cell: ({ act }) => t.acts[act] },
          { head: t.subject, cell: ({ subject }) => <code>{subject}</code> },
          { head: t.detail, cell: ({ detail }) => detail },
        ]}
      />
      <Pager
        next={last === undefined ? undefined : `/operator/audit?before=${last}`}
        locale={locale}
      />
    </Card>,
  );
}

/** Approvals and the audit log. */
export function createApprovalPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/approvals", (c) => approvalsPage(c, deps));
  app.post("/operator/approvals/:id/approve", (c) => decide(c, deps, "approve"));
  app.post("/operator/approvals/:id/refuse", (c) => decide(c, deps, "refuse"));
  app.get("/operator/audit", (c) => auditPage(c, deps));
  return app;
}
