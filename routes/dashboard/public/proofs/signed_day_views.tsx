/** Signed days as pages show them: each with its roots, its key, and whether the signature is right. */
import { checkDay } from "../../../../core/trade/proofs/check_document.js";
import type { KeySet } from "../../../../core/trade/proofs/check_proof.ts";
import { readStatement } from "../../../../core/trade/proofs/signed_day.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import { readKeySet } from "../../../../kv/services/proofs/proof_keys.ts";
import { listSignedDays } from "../../../../kv/services/proofs/read_proofs.ts";
import type { SignedDayRow } from "../../../../kv/services/proofs/signed_days.ts";
import { Badge, Card, type Column, Empty, Fact } from "../../components/mod.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";

const texts = defineTexts({
  both: {
    day: ["Day", "Ngày"],
    receipts: ["Root of the receipts", "Gốc của các biên nhận"],
    balances: ["Root of the balances", "Gốc của các số dư"],
    digest: ["Hash of the statement", "Mã băm của văn bản"],
    key: ["Key", "Khoá"],
    signature: ["Signature", "Chữ ký"],
    right: ["Valid", "Hợp lệ"],
    wrong: ["Invalid", "Không hợp lệ"],
    latest: ["Latest signed day", "Ngày đã ký gần nhất"],
    all: ["All signed days", "Tất cả các ngày đã ký"],
    check: ["Check a proof offline", "Tự kiểm tra bằng chứng, không cần mạng"],
    api: ["For programs", "Dành cho chương trình"],
    none: ["No day is signed yet", "Chưa có ngày nào được ký"],
  },
  en: {
    lead:
      "One root over all receipts of the day, signed. Keep it, and you notice any later change.",
    noneHint: "The first one is signed in the night after the first calls.",
  },
  vi: {
    lead:
      "Một gốc cho mọi biên nhận trong ngày, có chữ ký. Hãy giữ lại, bạn sẽ thấy mọi thay đổi về sau.",
    noneHint: "Ngày đầu tiên được ký vào đêm sau những lượt gọi đầu tiên.",
  },
});

/** A signed day as it is shown. */
export interface ShownDay extends Pick<SignedDayRow, "day" | "digest" | "key"> {
  /** The roots; `undefined` where the signed text has none. */
  readonly receipts: string | undefined;
  readonly balances: string | undefined;
  /** Whether the signature is one of the named key. */
  readonly isRight: boolean;
}

async function shownDay(row: SignedDayRow, keys: KeySet): Promise<ShownDay> {
  const { day, digest, key } = row;
  const statement = readStatement(row.statement);
  const { ok: isRight } = await checkDay(row, keys);
  return {
    ...{ day, digest, key, isRight },
    receipts: statement?.receipts.root,
    balances: statement?.balances?.root,
  };
}

/** Reads some signed days, newest first, before a day if one is given, and the keys. */
export async function readShownDays(
  kv: KeyValueStore,
  asked: { readonly limit: number; readonly before?: string | undefined },
): Promise<{ readonly days: readonly ShownDay[]; readonly keys: KeySet }> {
  const [rows, keys] = await Promise.all([listSignedDays(kv, asked), readKeySet(kv)]);
  return { days: await Promise.all(rows.map((row) => shownDay(row, keys))), keys };
}

function Hash({ value }: { value: string | undefined }) {
  return value === undefined ? <>–</> : (
    <small>
      <code>{value}</code>
    </small>
  );
}

function SignatureState({ isRight, locale }: { isRight: boolean; locale: Locale }) {
  const t = texts[locale];
  return <Badge tone={isRight ? "good" : "bad"}>{isRight ? t.right : t.wrong}</Badge>;
}

/** The columns of a list of signed days. */
export function signedDayColumns(locale: Locale): readonly Column<ShownDay>[] {
  const t = texts[locale];
  return [
    { head: t.day, kind: "one-line", cell: ({ day }) => day },
    {
      head: t.signature,
      cell: ({ isRight }) => <SignatureState isRight={isRight} locale={locale} />,
    },
    { head: t.key, kind: "one-line", wideOnly: true, cell: ({ key }) => <Hash value={key} /> },
    { head: t.receipts, kind: "long", cell: ({ receipts }) => <Hash value={receipts} /> },
    {
      head: t.balances,
      kind: "long",
      wideOnly: true,
      cell: ({ balances }) => <Hash value={balances} />,
    },
    { head: t.digest, kind: "long", cell: ({ digest }) => <Hash value={digest} /> },
  ];
}

/** Notice in place of a list of no days. */
export function NoSignedDay({ locale }: { locale: Locale }) {
  const t = texts[locale];
  return (
    <Empty title={t.none}>
      <p>{t.noneHint}</p>
    </Empty>
  );
}

/** The last signed day, with links to all of them and to where a proof is checked. */
export function LatestSignedDay({ day, locale }: { day: ShownDay | undefined; locale: Locale }) {
  const t = texts[locale];
  return (
    <div class="proofs">
      <Card title={t.latest}>
        {day === undefined ? <NoSignedDay locale={locale} /> : (
          <>
            <p class="muted">{t.lead}</p>
            <dl class="facts">
              <Fact name={t.day}>{day.day}</Fact>
              <Fact name={t.signature}>
                <SignatureState isRight={day.isRight} locale={locale} />
              </Fact>
              <Fact name={t.key}>
                <Hash value={day.key} />
              </Fact>
              <Fact name={t.receipts}>
                <Hash value={day.receipts} />
              </Fact>
              <Fact name={t.balances}>
                <Hash value={day.balances} />
              </Fact>
            </dl>
          </>
        )}
        <p>
          <a href="/proofs">{t.all}</a> · <a href="/proofs#check">{t.check}</a> ·{" "}
          <a href="/v1/proofs/days">{t.api}</a>
        </p>
      </Card>
    </div>
  );
}
