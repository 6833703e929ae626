/**
 * `/proofs`: the days that are signed, and a form that checks a proof in the browser, without a request.
 *
 * - Folder `routes/dashboard/public/proofs/`: what anybody can check of the books.
 * - In: signed days, the published keys.
 * - Out: HTML.
 * - Never: gets the proof that a visitor checks.
 */
import { type Context, Hono } from "hono";
import type { WrongProof } from "../../../../core/trade/proofs/check_document.js";
import { shiftDay } from "../../../../core/lib/time/vietnam_time.ts";
import {
  Card,
  CodeBlock,
  DataTable,
  Pager,
  SubmitButton,
  TextField,
} from "../../components/mod.ts";
import { assetPath } from "../../assets/assets.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv } from "../../page/visitor.ts";

import { parseDay } from "../../../usage_api/range.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { NoSignedDay, readShownDays, signedDayColumns } from "./signed_day_views.tsx";

/** Days of one page: two weeks. */
const shownDays = 14;

/** Lines of the fields. */
const proofRows = 8;
const keyRows = 4;

interface CheckWords extends Readonly<Record<WrongProof, string>> {
  readonly right: string;
}

const words = defineTexts<CheckWords>({
  en: {
    right: "The proof is right:",
    nothing: "There is nothing to check in it.",
    form: "This is no proof, or these are no keys.",
    leaf: "It does not prove what it is said to prove: the signed entry is of another kind.",
    place: "It is of another day than it claims.",
    mixed: "Its parts are of different accounts or services.",
    unknown_key: "The proof names a key that is not among these.",
    signature: "The signature of the day is wrong.",
    statement: "The signed text is of no known form.",
    no_tree: "The signed day has no such tree.",
    path:
      "The path does not lead to the signed root: the receipt or the balance is not the one that was signed.",
  },
  vi: {
    right: "Bằng chứng đúng:",
    nothing: "Không có gì để kiểm tra.",
    form: "Đây không phải bằng chứng, hoặc khoá không đúng dạng.",
    leaf: "Mục được ký thuộc loại khác, không chứng minh điều được nêu.",
    place: "Bằng chứng thuộc ngày khác với ngày được nêu.",
    mixed: "Các phần thuộc về tài khoản hoặc dịch vụ khác nhau.",
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
    check: "Check a proof",
    checkLead:
      "Your browser checks it: nothing is sent. A proof comes from /v1/receipts/{id}/proof or /v1/statements/{month}/proof.",
    proof: "Proof (JSON)",
    keys: "Keys (JSON)",
    button: "Check",
    command:
      "The last command needs neither a browser nor the network. It runs in a copy of the source code:",
    commandName: "Command that checks a proof",
    api: "Signed days for programs",
  },
  vi: {
    title: "Bằng chứng",
    description: "Mọi biên nhận và số dư đều có thể đối chiếu với gốc đã ký của ngày đó.",
    lead:
      "Mỗi đêm sổ sách được kiểm chứng và ngày đó được ký: một gốc cho mọi biên nhận, một gốc cho mọi số dư, và mã băm của ngày trước. Hãy giữ lại, bạn sẽ thấy mọi thay đổi về sau.",
    days: "Các ngày đã ký",
    check: "Kiểm tra bằng chứng",
    checkLead:
      "Trình duyệt của bạn tự kiểm tra, không gửi gì đi. Bằng chứng lấy từ /v1/receipts/{id}/proof hoặc /v1/statements/{month}/proof.",
    proof: "Bằng chứng (JSON)",
    keys: "Khoá (JSON)",
    button: "Kiểm tra",
    command:
      "Lệnh cuối không cần trình duyệt, cũng không cần mạng; chạy trong một bản sao của mã nguồn:",
    commandName: "Lệnh kiểm tra bằng chứng",
    api: "Các ngày đã ký, dành cho chương trình",
  },
});

/** Command that a customer runs, as the guide has it. */
function commandOf(baseUrl: string): string {
  return [
    `curl "${baseUrl}/v1/receipts/$REQUEST_ID/proof" -H "x-api-key: $KEY" > proof.json`,
    `curl "${baseUrl}/.well-known/gateway-proof-keys.json" > keys.json`,
    "deno task check-proof proof.json keys.json",
  ].join("\n");
}

function CheckForm({ keys, baseUrl, locale }: { keys: string; baseUrl: string; locale: Locale }) {
  const t = texts[locale];
  return (
    <Card title={t.check} id="check">
      <p class="muted">{t.checkLead}</p>
      <form
        data-proof-form
        data-words={JSON.stringify(words[locale])}
        data-checker={assetPath("proof_check.js")}
      >
        <TextField name="proof" label={t.proof} rows={proofRows} required />
        <TextField name="keys" label={t.keys} rows={keyRows} value={keys} required />
        <SubmitButton>{t.button}</SubmitButton>
      </form>
      <div id="proof-result" role="status" hidden></div>
      <p>{t.command}</p>
      <CodeBlock code={commandOf(baseUrl)} name="Shell" what={t.commandName} locale={locale} />
    </Card>
  );
}

/** The pages beside the one that begins before a day. Signed days follow each other without a gap. */
function pagesBeside(
  { before, newest, oldest, isFull }: {
    readonly before: string | undefined;
    readonly newest: string | undefined;
    readonly oldest: string | undefined;
    readonly isFull: boolean;
  },
): { readonly previous: string | undefined; readonly next: string | undefined } {
  const newer = before === undefined ? undefined : shiftDay(before, shownDays);
  const isFirst = newer === undefined || newest === undefined || newer > newest;
  return {
    previous: before === undefined ? undefined : isFirst ? "/proofs" : `/proofs?before=${newer}`,
    next: isFull && oldest !== undefined ? `/proofs?before=${oldest}` : undefined,
  };
}

async function proofsPage(c: Context<DashboardEnv>, { kv, baseUrl }: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const before = parseDay(c.req.query("before"));
  // One more than is shown says whether there are older ones.
  const { days: read, keys } = await readShownDays(kv, { limit: shownDays + 1, before });
  const [newest] = before === undefined ? read : (await readShownDays(kv, { limit: 1 })).days;
  const days = read.slice(0, shownDays);
  const beside = pagesBeside({
    before,
    newest: newest?.day,
    oldest: days.at(-1)?.day,
    isFull: read.length > shownDays,
  });
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
          columns={signedDayColumns(locale)}
          empty={<NoSignedDay locale={locale} />}
        />
        <Pager {...beside} locale={locale} />
      </Card>
      <CheckForm keys={JSON.stringify(keys, undefined, 1)} baseUrl={baseUrl} locale={locale} />
    </div>,
  );
}

export const proofsPages: PageDeclaration<DashboardDeps> = {
  isShared: true,
  routes: (deps) => new Hono<DashboardEnv>().get("/proofs", (c) => proofsPage(c, deps)),
};
