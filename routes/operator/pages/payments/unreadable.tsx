/** The page of bank notices that could not be parsed, oldest first, each set aside with a note. */
import { Hono } from "hono";
import { bankSources } from "../../../../core/trade/bank/bank_notice.ts";
import {
  listUnreadable,
  type UnreadableNotice,
} from "../../../../kv/money/payments/bank_notices.ts";
import {
  Card,
  Empty,
  PostForm,
  SubmitButton,
  TextField,
  Time,
} from "../../../dashboard/components/mod.ts";
import { readForm } from "../../../dashboard/page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../../dashboard/page/visitor.ts";
import { maxReasonChars } from "../../operations/contract/texts.ts";
import { bankTexts } from "../base/bank_texts.ts";
import { closeUnreadable } from "../../operations/money/notices.ts";
import {
  actOf,
  doneAt,
  type OperatorContext,
  type OperatorDeps,
  renderOperatorPage,
} from "../base/frame.tsx";
import { frameTexts } from "../base/texts.ts";

/** The path of the page about unreadable notices. */
export const unreadablePath = "/operator/review/unreadable";

const shownNotices = 50;

function NoticeCard({ notice, visitor }: { notice: UnreadableNotice; visitor: Visitor }) {
  const { locale } = visitor;
  const t = bankTexts[locale];
  return (
    <Card>
      <details>
        <summary>
          <Time atMs={notice.receivedAtMs} locale={locale} /> {notice.source}: {notice.reason}
        </summary>
        <pre class="raw" tabindex={0}>{notice.raw}</pre>
        <PostForm visitor={visitor} action={unreadablePath} class="inline-form">
          <input type="hidden" name="source" value={notice.source} />
          <input type="hidden" name="hash" value={notice.contentHash} />
          <TextField
            name="note"
            label={frameTexts[locale].reason}
            required
            maxlength={maxReasonChars}
          />
          <SubmitButton tone="plain">{t.markIgnored}</SubmitButton>
        </PostForm>
      </details>
    </Card>
  );
}

async function unreadableList(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  const t = bankTexts[visitor.locale];
  // Notices that are set aside leave the list, so it needs no paging.
  const notices = await listUnreadable(deps.kv);
  return await renderOperatorPage(
    c,
    { title: t.unreadable, lead: t.unreadableText, problem },
    <>
      {notices.length === 0 && <Empty title={t.noUnreadable} />}
      {notices.slice(0, shownNotices).map((notice) => (
        <NoticeCard notice={notice} visitor={visitor} />
      ))}
      {notices.length > shownNotices && (
        <p class="muted">{t.moreUnreadable(String(notices.length - shownNotices))}</p>
      )}
    </>,
  );
}

async function setAside(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale];
  const form = await readForm(c);
  const source = bankSources.find((known) => known === form.text("source"));
  if (source === undefined) return await unreadableList(c, deps, t.problems.missing);
  const wanted = { source, hash: form.text("hash"), note: form.text("note") };
  const closed = await closeUnreadable.run(deps, wanted, actOf(c, deps));
  if (!closed.ok) {
    const problem = t.problems[closed.why === "input" ? "reason" : closed.why];
    return await unreadableList(c, deps, problem);
  }
  return doneAt(c, unreadablePath, "resolved");
}

/** Registers `/operator/review/unreadable`. */
export function createUnreadablePages(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.get(unreadablePath, (c) => unreadableList(c, deps));
  app.post(unreadablePath, (c) => setAside(c, deps));
  return app;
}
