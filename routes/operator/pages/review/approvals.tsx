/**
 * `/operator/approvals`: requests that wait for a second operator, and those that were decided; each is decided on a page
 * of its own, which shows its dossier.
 */
import { Hono } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import {
  type Approval,
  getApproval,
  listApprovals,
  moneyOfApproval,
} from "../../../../kv/services/operations/approvals.ts";
import { readDossier } from "../../../../kv/services/operations/dossier.ts";
import type { Operator } from "../../../../kv/people/audit/operator_audit.ts";
import { isSamePerson, mayProfit } from "../../../../kv/people/operators/beneficiaries.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import {
  Badge,
  Card,
  DataTable,
  Fact,
  PostForm,
  SubmitButton,
  Time,
} from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import { accountTexts } from "../base/account_texts.ts";
import { balanceIn } from "../../operations/contract/operation.ts";
import { decideRequest } from "../../operations/money/approvals.ts";
import {
  actOf,
  doneAt,
  NothingHere,
  type OperatorContext,
  type OperatorDeps,
  operatorOf,
  type OperatorPage,
  renderOperatorPage,
} from "../base/frame.tsx";
import { DossierView, seenField } from "../dossier/dossier_view.tsx";
import { dossierTexts } from "../dossier/texts.ts";
import { lookUpMoney, MoneyFacts, type ShownMoney } from "../dossier/moved_money.tsx";
import { noticePath } from "../base/notice_views.tsx";
import { frameTexts } from "../base/texts.ts";

const shownApprovals = 100;

interface ShownApproval {
  readonly approval: Approval;
  /** Absent if an earlier version stored the decision, or the account was deleted. */
  readonly money: ShownMoney | undefined;
}

async function showApproval(deps: OperatorDeps, approval: Approval): Promise<ShownApproval> {
  const money = await moneyOfApproval(deps.kv, approval, balanceIn(deps));
  return { approval, money: money && await lookUpMoney(deps.kv, money) };
}

async function approvalsPage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  const t = accountTexts[visitor.locale];
  const approvals = await listApprovals(deps.kv, shownApprovals);
  const shown = await Promise.all(approvals.map((approval) => showApproval(deps, approval)));
  const me = operatorOf(c);
  const waiting = await Promise.all(
    shown.filter(({ approval }) => approval.state === "pending")
      .map(async (one) => ({ ...one, hindrance: await findHindrance(deps.kv, one, me) })),
  );
  const decided = shown.filter(({ approval }) => approval.state !== "pending");
  return await renderOperatorPage(
    c,
    { lead: t.approvalsLead, problem },
    <>
      <h2>{t.waiting}</h2>
      {waiting.length === 0 && (
        <Card>
          <NothingHere of="approvals" locale={visitor.locale} />
        </Card>
      )}
      {waiting.map((one) => <WaitingCard key={one.approval.id} {...one} locale={visitor.locale} />)}
      {decided.length > 0 && (
        <Card title={t.decided}>
          <DecidedTable rows={decided} locale={visitor.locale} />
        </Card>
      )}
    </>,
  );
}

/** Why an operator may not approve. */
type Hindrance = "self" | "beneficiary";

/** Finds why this operator may not approve; `undefined` if they may. */
async function findHindrance(
  kv: KeyValueStore,
  { approval: { requestedBy }, money }: ShownApproval,
  me: Operator,
): Promise<Hindrance | undefined> {
  if (isSamePerson(me, requestedBy)) return "self";
  if (money?.account === undefined) return undefined;
  return await mayProfit(kv, [me], money.account) ? "beneficiary" : undefined;
}

function WaitingCard({ approval, money, hindrance, locale }: ShownApproval & {
  hindrance: Hindrance | undefined;
  locale: Locale;
}) {
  const t = accountTexts[locale];
  return (
    <Card
      title={<SubjectLink approval={approval} locale={locale} />}
      actions={<Badge tone="busy">{t.approvalStates.pending}</Badge>}
    >
      <ApprovalFacts approval={approval} money={money} locale={locale} />
      {hindrance !== undefined && <p class="muted">{t.cannotDecide[hindrance]}</p>}
      <p>
        <a href={`/operator/approvals/${approval.id}`}>{dossierTexts[locale].open}</a>
      </p>
    </Card>
  );
}

/** Facts of a request for approval: by whom, when and why. */
function askedFacts({ act, requestedBy, requestedAtMs }: Approval, locale: Locale) {
  const frame = frameTexts[locale];
  return [
    [frame.reason, act.reason],
    [accountTexts[locale].askedBy, requestedBy.email],
    [frame.when, <Time key="asked-at" atMs={requestedAtMs} locale={locale} />],
  ] as const;
}

function ApprovalFacts({ approval, money, locale }: ShownApproval & { locale: Locale }) {
  const frame = frameTexts[locale];
  const { act } = approval;
  const asked = askedFacts(approval, locale);
  if (money !== undefined) {
    const { requestedBy: _, ...unnamed } = money;
    return <MoneyFacts money={unnamed} locale={locale} more={asked} />;
  }
  return (
    <dl class="facts">
      <Fact name={frame.amount}>{formatMoney(act.amountMicroVnd, locale)}</Fact>
      {asked.map(([name, value]) => <Fact key={name} name={name}>{value}</Fact>)}
    </dl>
  );
}

const tones = { pending: "busy", approved: "good", refused: "neutral" } as const;

function DecidedTable({ rows, locale }: { rows: readonly ShownApproval[]; locale: Locale }) {
  const t = accountTexts[locale];
  const frame = frameTexts[locale];
  return (
    <DataTable
      label={t.decided}
      rows={rows}
      columns={[
        {
          head: frame.when,
          kind: "one-line",
          cell: ({ approval }) => (
            <Time atMs={approval.decidedAtMs ?? approval.requestedAtMs} locale={locale} relative />
          ),
        },
        {
          head: t.act,
          cell: ({ approval }) => <SubjectLink approval={approval} locale={locale} />,
        },
        { head: t.money, cell: (row) => <ApprovalFacts {...row} locale={locale} /> },
        {
          head: t.state,
          cell: ({ approval: { state, decidedBy } }) => (
            <>
              <Badge tone={tones[state]}>{t.approvalStates[state]}</Badge> {decidedBy?.email}
            </>
          ),
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

/** Shows one request as a dossier, with the forms that decide it while it waits. */
async function approvalPage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const id = parseId("approval", c.req.param("id") ?? "");
  const approval = id === undefined ? undefined : await getApproval(deps.kv, id);
  if (approval === undefined) {
    return await approvalsPage(c, deps, frameTexts[locale].problems.missing);
  }
  const me = operatorOf(c);
  const nowMs = deps.clock.nowMs();
  const dossier = approval.state === "pending"
    ? await readDossier(deps.kv, approval.act, {
      operator: me,
      nowMs,
      balanceOf: balanceIn(deps),
      approval,
    })
    : undefined;
  const shown = await showApproval(deps, approval);
  const hindrance = await findHindrance(deps.kv, shown, me);
  const t = dossierTexts[locale];
  return await renderOperatorPage(
    c,
    {
      title: t.title,
      under: "/operator/approvals",
      problem,
      actions: (
        <Badge tone={tones[approval.state]}>
          {accountTexts[locale].approvalStates[approval.state]}
        </Badge>
      ),
    },
    dossier === undefined
      ? (
        <Card title={<SubjectLink approval={approval} locale={locale} />}>
          <ApprovalFacts {...shown} locale={locale} />
          {approval.state === "pending" && (
            <Verdicts approval={approval} hindrance={hindrance} visitor={visitor} />
          )}
        </Card>
      )
      : (
        <DossierView
          dossier={dossier}
          asked={askedFacts(approval, locale)}
          nowMs={nowMs}
          locale={locale}
        >
          <Verdicts
            approval={approval}
            mark={dossier.mark}
            hindrance={hindrance}
            visitor={visitor}
          />
        </DossierView>
      ),
  );
}

/** The forms that decide. Approving is bound to the mark of the facts that are shown. */
function Verdicts({ approval, mark, hindrance, visitor }: Pick<ShownApproval, "approval"> & {
  /** Absent if the target is gone: then there is nothing to approve. */
  mark?: string;
  hindrance: Hindrance | undefined;
  visitor: Visitor;
}) {
  const t = accountTexts[visitor.locale];
  const path = `/operator/approvals/${approval.id}`;
  const amount = formatMoney(approval.act.amountMicroVnd, visitor.locale);
  return (
    <>
      {hindrance !== undefined && <p class="muted">{t.cannotDecide[hindrance]}</p>}
      <div class="actions">
        {hindrance === undefined && mark !== undefined && (
          <PostForm visitor={visitor} action={`${path}/approve`}>
            <input type="hidden" name={seenField} value={mark} />
            <SubmitButton>{dossierTexts[visitor.locale].approve(amount)}</SubmitButton>
          </PostForm>
        )}
        <PostForm visitor={visitor} action={`${path}/refuse`}>
          <SubmitButton tone="plain">{t.refuse}</SubmitButton>
        </PostForm>
      </div>
    </>
  );
}

async function decide(c: OperatorContext, deps: OperatorDeps, verdict: "approve" | "refuse") {
  const t = frameTexts[c.get("visitor").locale];
  const approval = c.req.param("id") ?? "";
  // A form without the mark was not made from a dossier.
  const seen = (await readForm(c)).text(seenField);
  const result = await decideRequest.run(deps, { approval, verdict, seen }, actOf(c, deps));
  if (!result.ok) {
    return await approvalPage(c, deps, t.problems[result.why === "input" ? "busy" : result.why]);
  }
  return doneAt(c, "/operator/approvals", verdict === "approve" ? "approved" : "refused");
}

/** Registers the pages of approvals. */
function createApprovalPages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get("/operator/approvals", (c) => approvalsPage(c, deps));
  app.get("/operator/approvals/:id", (c) => approvalPage(c, deps));
  app.post("/operator/approvals/:id/approve", (c) => decide(c, deps, "approve"));
  app.post("/operator/approvals/:id/refuse", (c) => decide(c, deps, "refuse"));
  return app;
}

export const approvalPages: OperatorPage = {
  link: { href: "/operator/approvals", label: { en: "Approvals", vi: "Phê duyệt" } },
  routes: createApprovalPages,
};
