/**
 * `/proofs`: the days that are signed, and a form that checks a proof in the browser, without a request.
 *
 * - Folder `routes/dashboard/public/proofs/`: what anybody can check of the books.
 * - In: signed days, the published keys.
 * - Out: HTML.
 * - Never: gets the proof that a visitor checks.
 */
import { type Context, Hono } from "hono";
import { readStatement } from "../../../../core/trade/proofs/signed_day.ts";
import type { WrongProof } from "../../../../core/trade/proofs/check_proof.ts";
import { readKeySet } from "../../../../kv/services/proofs/proof_keys.ts";
import { listSignedDays } from "../../../../kv/services/proofs/read_proofs.ts";
import type { SignedDayRow } from "../../../../kv/services/proofs/signed_days.ts";
import {
  Card,
  type Column,
  DataTable,
  Empty,
  SubmitButton,
  TextField,
} from "../../components/mod.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";

import { defineTexts, type Locale } from "../../text/i18n.ts";

/** Days that the page lists; the API has all. */
const shownDays = 14;

/** Lines of the fields. */
const proofRows = 8;
const keyRows = 4;

interface CheckWords extends Readonly<Record<WrongProof, string>> {
  readonly right: string;
  readonly nothing: string;
  readonly unreadable: string;
}

const words = defineTexts<CheckWords>({
  en: {
    right: "The proof is right. Signed by",
    nothing: "There is nothing to check in it.",
    unreadable: "This is no proof, or these are no keys.",
    unknown_key: "The proof names a key that is not among these.",
    signature: "The signature of the day is wrong.",
    statement: "The signed text is of no known form.",
    no_tree: "The signed day has no such tree.",
    path:
      "The path does not lead to the signed root: the receipt or the balance is not the one that was signed.",
  },
  vi: {
    right: "Bằng chứng đúng. Người ký:",
    nothing: "Không có gì để kiểm tra.",
    unreadable: "Đây không phải bằng chứng, hoặc khoá không đúng dạng.",
    unknown_key: "Bằng chứng nêu một khoá không có trong danh sách này.",
    signature: "Chữ ký của ngày không đúng.",
    statement: "Văn bản được ký không đúng dạng.",
    no_tree: "Ngày được ký không có cây này.",
    path: "Đường dẫn không tới gốc đã ký: biên nhận hoặc số dư không phải bản đã được ký.",
  },
});

const texts = defineTexts({
  en: {
    title: "Proofs",
    description: "Every receipt and every balance can be checked against a signed root of its day.",
    lead:
      "Each night the books are verified and the day is signed: one root over all receipts, one over all balances, and the hash of the day before. Keep these, and you notice any later change.",
    days: "Signed days",
    day: "Day",
    root: "Root of the receipts",
    digest: "Hash of the statement",
    none: "No day is signed yet",
    noneHint: "The first one is signed in the night after the first calls.",
    check: "Check a proof",
    checkLead:
      "Your browser checks it: nothing is sent. A proof comes from /v1/receipts/{id}/proof or /v1/statements/{month}/proof.",
    proof: "Proof (JSON)",
    keys: "Keys (JSON)",
    button: "Check",
    noScript: "Without script, use the command of the documentation.",
    api: "Signed days for programs",
  },
  vi: {
    title: "Bằng chứng",
    description: "Mọi biên nhận và số dư đều có thể đối chiếu với gốc đã ký của ngày đó.",
    lead:
      "Mỗi đêm sổ sách được kiểm chứng và ngày đó được ký: một gốc cho mọi biên nhận, một gốc cho mọi số dư, và mã băm của ngày trước. Hãy giữ lại, bạn sẽ thấy mọi thay đổi về sau.",
    days: "Các ngày đã ký",
    day: "Ngày",
    root: "Gốc của các biên nhận",
    digest: "Mã băm của văn bản",
    none: "Chưa có ngày nào được ký",
    noneHint: "Ngày đầu tiên được ký vào đêm sau những lượt gọi đầu tiên.",
    check: "Kiểm tra bằng chứng",
    checkLead:
      "Trình duyệt của bạn tự kiểm tra, không gửi gì đi. Bằng chứng lấy từ /v1/receipts/{id}/proof hoặc /v1/statements/{month}/proof.",
    proof: "Bằng chứng (JSON)",
    keys: "Khoá (JSON)",
    button: "Kiểm tra",
    noScript: "Nếu không có script, hãy dùng lệnh trong tài liệu.",
    api: "Các ngày đã ký, dành cho chương trình",
  },
});

function columnsOf(locale: Locale): readonly Column<SignedDayRow>[] {
  const t = texts[locale];
  const receiptsOf = ({ statement }: SignedDayRow) => readStatement(statement)?.receipts;
  return [
    { head: t.day, kind: "one-line", cell: ({ day }) => day },
    {
      head: t.root,
      kind: "long",
      cell: (day) => (
        <small>
          <code>{receiptsOf(day)?.root ?? "–"}</code>
        </small>
      ),
    },
    {
      head: t.digest,
      kind: "long",
      cell: ({ digest }) => (
        <small>
          <code>{digest}</code>
        </small>
      ),
    },
  ];
}

function CheckForm({ keys, locale }: { keys: string; locale: Locale }) {
  const t = texts[locale];
  return (
    <Card title={t.check}>
      <p class="muted">{t.checkLead}</p>
      <form data-proof-form data-words={JSON.stringify(words[locale])}>
        <TextField name="proof" label={t.proof} rows={proofRows} required />
        <TextField name="keys" label={t.keys} rows={keyRows} value={keys} required />
        <SubmitButton>{t.button}</SubmitButton>
      </form>
      <noscript>
        <p>{t.noScript}</p>
      </noscript>
      <div id="proof-result" role="status" hidden></div>
    </Card>
  );
}

async function proofsPage(c: Context<DashboardEnv>, { kv }: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const [days, keys] = await Promise.all([
    listSignedDays(kv, { limit: shownDays }),
    readKeySet(kv),
  ]);
  return await renderPage(
    c,
    {
      title: t.title,
      description: t.description,
      lead: t.lead,
      scripts: ["proof.js"],
      styles: ["public.css"],
    },
    <div class="proofs">
      <Card title={t.days} actions={<a href="/v1/proofs/days">{t.api}</a>}>
        <DataTable
          label={t.days}
          rows={days}
          columns={columnsOf(locale)}
          empty={
            <Empty title={t.none}>
              <p>{t.noneHint}</p>
            </Empty>
          }
        />
      </Card>
      <CheckForm keys={JSON.stringify(keys, undefined, 1)} locale={locale} />
    </div>,
  );
}

export const proofsPages: PageDeclaration<DashboardDeps> = {
  isShared: true,
  routes: (deps) => new Hono<DashboardEnv>().get("/proofs", (c) => proofsPage(c, deps)),
};
