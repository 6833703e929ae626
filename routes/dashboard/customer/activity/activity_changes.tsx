/** Changes of an act in the reader's words: logs keep the names of members and their values as programs have them. */
import type { Child } from "hono/jsx";
import { parseVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { ActivityFields, ActivityLine } from "../../../../kv/people/audit/account_activity.ts";
import { formatMoney } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { roleNames } from "../../text/role_names.ts";
import { budgetTexts } from "../budgets/budget_texts.ts";
import { rateTexts } from "../rate_limits/limit_table.tsx";

/** Names of things by their ids: keys, teams, members. */
export type ThingNames = ReadonlyMap<string, string>;

type Words = Readonly<Record<string, string>>;

/** Names of members of lines; limits have theirs from the table of limits. */
const english = {
  name: "Name",
  of: "Applies to",
  window: "Window",
  amountVnd: "Amount",
  atLimit: "At 100\u00a0%",
  method: "Signed in with",
  role: "Role",
  email: "Email",
  owner: "Owner",
  required: "Required",
  secondFactorRequired: "Second factor required",
  state: "State",
  issuer: "Provider",
  clientId: "Client id",
  orders: "Orders",
  grossVnd: "Total",
  askedVnd: "Amount",
  lowBalanceVnd: "Warns below",
  requiredTags: "Required tags",
  tags: "Tags",
  campaign: "Offer",
  masked: "Key",
  movedBy: "Moved by",
  mailsOff: "Emails off",
  url: "Address",
  kinds: "Events",
  isOn: "Switched on",
  formerSecretUntilAt: "Former secret valid until",
  why: "Reason",
  reason: "Reason",
  expiresAt: "Expires",
  allowedModels: "Models",
  allowedIps: "IP addresses",
  readsOnlyOwnCalls: "Reads its own calls only",
  teamId: "Team",
  domain: "Domain",
  type: "Kind",
  taxCode: "Tax code",
  legalName: "Legal name",
  address: "Address",
  phone: "Phone",
  note: "Note",
} as const;
const vietnamese: Readonly<Record<keyof typeof english, string>> = {
  name: "Tên",
  of: "Áp dụng cho",
  window: "Kỳ",
  amountVnd: "Số tiền",
  atLimit: "Khi đạt 100\u00a0%",
  method: "Đăng nhập bằng",
  role: "Vai trò",
  email: "Email",
  owner: "Chủ sở hữu",
  required: "Bắt buộc",
  secondFactorRequired: "Bắt buộc xác thực hai bước",
  state: "Trạng thái",
  issuer: "Nhà cung cấp",
  clientId: "Client id",
  orders: "Đơn nạp",
  grossVnd: "Tổng cộng",
  askedVnd: "Số tiền",
  lowBalanceVnd: "Báo khi dưới",
  requiredTags: "Tag bắt buộc",
  tags: "Tag",
  campaign: "Ưu đãi",
  masked: "Khoá API",
  movedBy: "Người chuyển nhóm",
  mailsOff: "Thư đã tắt",
  url: "Địa chỉ",
  kinds: "Sự kiện",
  isOn: "Đang bật",
  formerSecretUntilAt: "Khoá ký cũ dùng đến",
  why: "Lý do",
  reason: "Lý do",
  expiresAt: "Hết hạn",
  allowedModels: "Mô hình",
  allowedIps: "Địa chỉ IP",
  readsOnlyOwnCalls: "Chỉ đọc lượt gọi của mình",
  teamId: "Nhóm",
  domain: "Tên miền",
  type: "Loại",
  taxCode: "Mã số thuế",
  legalName: "Tên pháp lý",
  address: "Địa chỉ",
  phone: "Điện thoại",
  note: "Ghi chú",
};

const texts = defineTexts<{
  readonly names: Words;
  readonly methods: Words;
  readonly states: Words;
  readonly movers: Words;
  readonly buyers: Words;
  readonly truths: Words;
  readonly nothing: string;
}>({
  en: {
    names: english,
    methods: {
      password: "password",
      openid: "another service",
      mail: "emailed link",
      passkey: "passkey",
    },
    states: {
      "not verified": "not verified",
      verified: "verified",
      "record missing": "record missing",
    },
    movers: { admins: "admins", makers: "admins and whoever made the key" },
    buyers: { company: "company", person: "person" },
    truths: { true: "yes", false: "no" },
    nothing: "nothing",
  },
  vi: {
    names: vietnamese,
    methods: {
      password: "mật khẩu",
      openid: "dịch vụ khác",
      mail: "liên kết trong thư",
      passkey: "passkey",
    },
    states: {
      "not verified": "chưa xác minh",
      verified: "đã xác minh",
      "record missing": "thiếu bản ghi",
    },
    movers: { admins: "quản trị viên", makers: "quản trị viên và người tạo khoá" },
    buyers: { company: "công ty", person: "cá nhân" },
    truths: { true: "có", false: "không" },
    nothing: "không có",
  },
});

/** The last part of a name: members of members have both, as in `rateLimits.callsAtOnce`. */
function leafOf(name: string): string {
  return name.split(".").at(-1) ?? name;
}

/** Name of a member; `undefined` if no table has it. */
export function memberWords(name: string, locale: Locale): string | undefined {
  const leaf = leafOf(name);
  const tables: readonly Words[] = [texts[locale].names, rateTexts[locale].names];
  return tables.find((table) => Object.hasOwn(table, leaf))?.[leaf];
}

/** Puts names in the place of ids. */
export function named(text: string, names: ThingNames): string {
  return text.replaceAll(/\b[a-z]+_[0-9a-z]{10,}\b/g, (id) => names.get(id) ?? id);
}

/** Subject of a budget in words, from the form that `core/limits/budgets.ts` writes. */
function subjectWords(text: string, names: ThingNames, locale: Locale): string {
  const subjects: Words = budgetTexts[locale].subjects;
  const [kind = "", ...rest] = text.split(" ");
  const what = Object.hasOwn(subjects, kind) ? subjects[kind] : kind;
  return rest.length === 0 ? what ?? kind : `${what}: ${named(rest.join(" "), names)}`;
}

/** The words of a value, by the member that has it; values without words are shown as they are. */
function valueWords(name: string, value: string, names: ThingNames, locale: Locale): string {
  const t = texts[locale];
  const leaf = leafOf(name);
  const tables: Readonly<Record<string, Words>> = {
    method: t.methods,
    role: roleNames[locale],
    atLimit: budgetTexts[locale].ends,
    window: budgetTexts[locale].windows,
    state: t.states,
    movedBy: t.movers,
    type: t.buyers,
  };
  if (value === "") return t.nothing;
  if (leaf === "of") return subjectWords(value, names, locale);
  const table = Object.hasOwn(tables, leaf) ? tables[leaf] : t.truths;
  if (table !== undefined && Object.hasOwn(table, value)) return table[value] ?? value;
  const microVnd = leaf.endsWith("Vnd") ? parseVnd(value) : undefined;
  return microVnd === undefined ? named(value, names) : formatMoney(microVnd, locale);
}

/** Members whose values are names of the API. */
const codes: readonly string[] = ["kinds", "masked"];

/** List of changes: each name once, with its value before and after. */
export function Changes({ line: { before, after }, names, locale }: {
  line: Pick<ActivityLine, "before" | "after">;
  names: ThingNames;
  locale: Locale;
}) {
  const { nothing } = texts[locale];
  const members = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const valueIn = (fields: ActivityFields | undefined, name: string): Child => {
    const value = fields?.[name];
    if (value === undefined) return nothing;
    if (codes.includes(leafOf(name)) && value !== "") return <code>{value}</code>;
    return valueWords(name, value, names, locale);
  };
  return (
    <>
      {members.map((name) => (
        <div key={name}>
          <span class="muted">{memberWords(name, locale) ?? <code>{name}</code>}:</span>{" "}
          {before !== undefined && <>{valueIn(before, name)} →{" "}</>}
          {valueIn(after, name)}
        </div>
      ))}
    </>
  );
}
