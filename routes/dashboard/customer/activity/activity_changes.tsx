/** Changes of an act in the reader's words: logs keep the names of members and their values as programs have them. */
import type { Child } from "hono/jsx";
import { parseVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { ActivityFields, ActivityLine } from "../../../../kv/people/audit/account_activity.ts";
import { formatMoney } from "../../text/format.ts";
import { definePairs, defineTexts, type Locale } from "../../text/i18n.ts";
import { roleNames } from "../../text/role_names.ts";
import { budgetTexts } from "../budgets/budget_texts.ts";
import { rateTexts } from "../rate_limits/limit_table.tsx";

/** Names of things by their ids: keys, teams, members. */
export type ThingNames = ReadonlyMap<string, string>;

type Words = Readonly<Record<string, string>>;

/** Names of members of lines; limits have theirs from the table of limits. */
const memberNames = definePairs({
  name: ["Name", "Tên"],
  of: ["Applies to", "Áp dụng cho"],
  window: ["Window", "Kỳ"],
  amountVnd: ["Amount", "Số tiền"],
  atLimit: ["At 100\u00a0%", "Khi đạt 100\u00a0%"],
  method: ["Signed in with", "Đăng nhập bằng"],
  role: ["Role", "Vai trò"],
  email: ["Email", "Email"],
  owner: ["Owner", "Chủ sở hữu"],
  required: ["Required", "Bắt buộc"],
  secondFactorRequired: ["Second factor required", "Bắt buộc xác thực hai bước"],
  state: ["State", "Trạng thái"],
  issuer: ["Provider", "Nhà cung cấp"],
  clientId: ["Client id", "Client id"],
  orders: ["Orders", "Đơn nạp"],
  grossVnd: ["Total", "Tổng cộng"],
  askedVnd: ["Amount", "Số tiền"],
  lowBalanceVnd: ["Warns below", "Báo khi dưới"],
  requiredTags: ["Required tags", "Tag bắt buộc"],
  tags: ["Tags", "Tag"],
  campaign: ["Offer", "Ưu đãi"],
  masked: ["Key", "Khoá API"],
  movedBy: ["Moved by", "Người chuyển nhóm"],
  mailsOff: ["Emails off", "Thư đã tắt"],
  url: ["Address", "Địa chỉ"],
  kinds: ["Events", "Sự kiện"],
  isOn: ["Switched on", "Đang bật"],
  formerSecretUntilAt: ["Former secret valid until", "Khoá ký cũ dùng đến"],
  why: ["Reason", "Lý do"],
  reason: ["Reason", "Lý do"],
  expiresAt: ["Expires", "Hết hạn"],
  allowedModels: ["Models", "Mô hình"],
  models: ["Fallback models", "Mô hình dự phòng"],
  order: ["Providers first", "Nhà cung cấp ưu tiên"],
  only: ["Only providers", "Chỉ dùng nhà cung cấp"],
  ignore: ["Never providers", "Không dùng nhà cung cấp"],
  regions: ["Only regions", "Chỉ dùng vùng"],
  allowFallbacks: ["Other routes", "Tuyến khác"],
  sort: ["Order of routes", "Thứ tự tuyến"],
  forbidsTraining: ["No training on data", "Không huấn luyện trên dữ liệu"],
  forbidsRetention: ["No retention of data", "Không lưu dữ liệu"],
  maxPrice: ["Highest prices", "Giá cao nhất"],
  noImages: ["No images", "Không có ảnh"],
  noFiles: ["No files", "Không có tệp"],
  mcpServers: ["Only MCP servers", "Chỉ dùng máy chủ MCP"],
  rules: ["Rules about text", "Quy tắc về văn bản"],
  tellsCost: ["Cost in answers", "Chi phí trong câu trả lời"],
  autoCache: ["Cache marks", "Dấu cache"],
  allowedIps: ["IP addresses", "Địa chỉ IP"],
  readsOnlyOwnCalls: ["Reads its own calls only", "Chỉ đọc lượt gọi của mình"],
  teamId: ["Team", "Nhóm"],
  domain: ["Domain", "Tên miền"],
  type: ["Kind", "Loại"],
  taxCode: ["Tax code", "Mã số thuế"],
  legalName: ["Legal name", "Tên pháp lý"],
  address: ["Address", "Địa chỉ"],
  phone: ["Phone", "Điện thoại"],
  note: ["Note", "Ghi chú"],
});

const texts = defineTexts<{
  readonly methods: Words;
  readonly states: Words;
  readonly movers: Words;
  readonly buyers: Words;
  readonly truths: Words;
  readonly nothing: string;
}>({
  en: {
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
  const tables: readonly Words[] = [memberNames[locale], rateTexts[locale].names];
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
