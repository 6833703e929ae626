/** The labels of a model's fields. */
import type { z } from "zod";
import type { costMembers, priceMembers } from "../../../../../core/billing/tariff.ts";
import { countedTools } from "../../../../../core/billing/usage/hosted_tools.ts";
import type { VideoRules } from "../../../../../core/catalog/entries/video_rules.ts";
import type { modelSchema, WalletRules } from "../../../../../core/catalog/schema.ts";
import { recordOf } from "../../../../../core/lib/base/record_of.ts";
import type { RateLimitName } from "../../../../../core/limits/limit_table.ts";
import type { RouteCapabilities } from "../../../../../core/wire/contract/capabilities.ts";
import { definePairs, defineTexts } from "../../../../dashboard/text/i18n.ts";

type WrittenModel = z.input<typeof modelSchema>;

/** Members of the schema, each of which needs a label. */
type SchemaMember =
  | keyof WrittenModel
  | keyof WrittenModel["routes"][number]
  | keyof RouteCapabilities
  | keyof VideoRules
  | RateLimitName
  | typeof priceMembers[keyof typeof priceMembers]
  | typeof costMembers[keyof typeof costMembers]
  | keyof WalletRules
  | keyof WalletRules["debtVnd"];

/** The label of each field, by the name of its member; those of hosted tools are what callers write. */
export const fieldLabels = definePairs({
  id: ["Name (id)", "Tên (id)"],
  kind: ["Kind", "Loại"],
  family: ["Family", "Dòng"],
  displayName: ["Shown as", "Tên hiển thị"],
  contextWindow: ["Context window (tokens)", "Cửa sổ ngữ cảnh (token)"],
  maxOutputTokens: ["Max output (tokens)", "Đầu ra tối đa (token)"],
  vision: ["Vision input", "Đầu vào hình ảnh (vision)"],
  aliases: ["Aliases, separated by commas", "Tên khác, cách nhau bằng dấu phẩy"],
  price: ["Price", "Giá"],
  routes: ["Routes", "Tuyến"],
  hedge: [
    "Start a second route when the first is slower than usual",
    "Chạy tuyến thứ hai khi tuyến đầu chậm hơn bình thường",
  ],
  slowAfterMs: ["Slow after (ms)", "Coi là chậm sau (ms)"],
  videoRules: ["What videos may be asked for", "Video được phép yêu cầu"],
  rateLimits: ["Rate limits", "Giới hạn tốc độ"],
  provider: ["Provider", "Nhà cung cấp"],
  model: ["Name there", "Tên ở nhà cung cấp"],
  style: ["Style", "Kiểu API"],
  region: ["Region", "Vùng"],
  priority: ["Priority", "Ưu tiên"],
  weight: ["Weight", "Trọng số"],
  countTokens: ["The provider counts tokens", "Nhà cung cấp đếm token"],
  compactResponses: ["The provider compacts conversations", "Nhà cung cấp nén hội thoại"],
  allow: ["Features allowed though they cost extra", "Tính năng được phép dù tốn thêm phí"],
  cost: ["Cost", "Chi phí"],
  capabilities: ["Capabilities", "Khả năng"],
  facts: ["Capabilities (written as facts)", "Khả năng (ghi là facts)"],
  unit: ["Charged per", "Tính theo"],
  profile: ["Rules", "Quy tắc"],
  longPrompt: ["Long prompts", "Prompt dài"],
  aboveTokens: ["Above (tokens)", "Trên (token)"],
  hostedTools: ["Fees of hosted tools", "Phí công cụ của nhà cung cấp"],
  mcpTools: ["MCP servers of requests", "Máy chủ MCP trong yêu cầu"],
  serviceTiers: ["Factors by service tier", "Hệ số theo hạng dịch vụ"],
  tiers: ["Prices by length", "Giá theo độ dài"],
  fromSeconds: ["From (seconds)", "Từ (giây)"],
  toSeconds: ["To (seconds)", "Đến (giây)"],
  vnd: ["VND for each", "VND mỗi đơn vị"],
  vndPerMinute: ["VND per minute", "VND mỗi phút"],
  vndPerUse: ["VND per use", "VND mỗi lần dùng"],
  vndPerCall: ["VND per call that uses it", "VND mỗi lượt gọi có dùng"],
  mostUses: ["Most uses per call", "Số lần dùng tối đa mỗi lượt gọi"],
  amount: ["Amount for each", "Số tiền mỗi đơn vị"],
  perMinute: ["Per minute", "Mỗi phút"],
  perUse: ["Per use", "Mỗi lần dùng"],
  perCall: ["Per call that uses it", "Mỗi lượt gọi có dùng"],
  vndPerMtok: ["VND per 1M tokens, in and out", "VND mỗi 1 triệu token, vào và ra"],
  outputVndPerMtok: ["Output price (if different)", "Giá đầu ra (nếu khác)"],
  cacheReadVndPerMtok: ["Cache read", "Đọc bộ nhớ đệm (cache)"],
  cacheWriteVndPerMtok: ["Cache write", "Ghi bộ nhớ đệm (cache)"],
  cacheWriteHourVndPerMtok: ["Cache write, one hour", "Ghi cache một giờ"],
  inputAudioVndPerMtok: ["Audio input", "Âm thanh vào"],
  inputImageVndPerMtok: ["Image input", "Hình ảnh vào"],
  outputAudioVndPerMtok: ["Audio output", "Âm thanh ra"],
  outputImageVndPerMtok: ["Image output", "Hình ảnh ra"],
  perMtok: ["Per 1M tokens, in and out", "Mỗi 1 triệu token, vào và ra"],
  outputPerMtok: ["Output (if different)", "Đầu ra (nếu khác)"],
  cacheReadPerMtok: ["Cache read", "Đọc bộ nhớ đệm (cache)"],
  cacheWritePerMtok: ["Cache write", "Ghi bộ nhớ đệm (cache)"],
  cacheWriteHourPerMtok: ["Cache write, one hour", "Ghi cache một giờ"],
  inputAudioPerMtok: ["Audio input", "Âm thanh vào"],
  inputImagePerMtok: ["Image input", "Hình ảnh vào"],
  outputAudioPerMtok: ["Audio output", "Âm thanh ra"],
  outputImagePerMtok: ["Image output", "Hình ảnh ra"],
  all: ["All calls of the model together", "Mọi lượt gọi của mô hình cộng lại"],
  account: ["Each account", "Mỗi tài khoản"],
  requestsPerMinute: ["Calls per minute", "Lượt gọi mỗi phút"],
  tokensPerMinute: ["Tokens per minute", "Token mỗi phút"],
  vndPerHour: ["VND per hour", "VND mỗi giờ"],
  callsAtOnce: ["Calls at once", "Lượt gọi cùng lúc"],
  seconds: ["Lengths that may be asked for", "Các độ dài được yêu cầu"],
  defaultSeconds: ["Usual length (seconds)", "Độ dài thường dùng (giây)"],
  sizes: ["Sizes; the first is the default", "Kích thước; dòng đầu là mặc định"],
  maxInputReferences: ["Most reference images", "Số ảnh tham chiếu tối đa"],
  lastFrame: ["A last frame can be given", "Nhận khung hình cuối"],
  inputVideo: ["A video can be given", "Nhận video đầu vào"],
  resolutions: ["Resolutions, separated by commas", "Độ phân giải, cách nhau bằng dấu phẩy"],
  deadlineMinutes: ["Fails after (minutes)", "Báo lỗi sau (phút)"],
  from: ["From (seconds)", "Từ (giây)"],
  to: ["To (seconds)", "Đến (giây)"],
  size: ["Size, such as 1280x720", "Kích thước, ví dụ 1280x720"],
  ratio: ["Aspect ratio", "Tỷ lệ khung hình"],
  currencies: ["Currencies of providers", "Tiền tệ của nhà cung cấp"],
  ownKeys: ["Provider keys of organisations", "Khoá riêng của tổ chức tại nhà cung cấp"],
  feePercent: [
    "Fee in per cent of the price; empty: not offered",
    "Phí tính theo % giá; để trống: không hỗ trợ",
  ],
  wallet: ["What accounts may spend", "Tài khoản được tiêu gì"],
  outgrown: ["A stream that outgrows the wallet ends with", "Stream vượt số dư kết thúc bằng"],
  spendGranted: ["Credit that was given is spent", "Tiền tặng được tiêu"],
  debtVnd: ["Most that an account may owe (VND)", "Số nợ tối đa của một tài khoản (VND)"],
  toppedUp: ["Accounts that have topped up", "Tài khoản đã nạp tiền"],
  others: ["All others", "Các tài khoản khác"],
  key: ["Each key", "Mỗi khoá API"],
  image_edits: ["Pictures of an edit are sent as", "Ảnh cần sửa được gửi dạng"],
  max_tokens_field: ["Field that caps output", "Trường giới hạn đầu ra"],
  max_output: ["Maximum output tokens", "Token đầu ra tối đa"],
  system_role: ["Role of instructions", "Vai trò của chỉ dẫn"],
  text_parts: ["Lists of text parts", "Danh sách đoạn văn bản"],
  sampling: ["Sampling", "Sampling"],
  temp_top_p_exclusive: [
    "Refuses temperature together with top-p",
    "Không nhận temperature cùng top-p",
  ],
  thinking: ["How thinking is asked for", "Cách yêu cầu thinking"],
  reasoning_field: ["Field for reasoning", "Trường cho reasoning"],
  efforts: ["Effort levels", "Các mức effort"],
  thinking_budget_min: [
    "Smallest thinking budget, in tokens",
    "Ngân sách thinking nhỏ nhất (token)",
  ],
  thinking_budget_max: [
    "Largest thinking budget, in tokens",
    "Ngân sách thinking lớn nhất (token)",
  ],
  thinking_off: ["How thinking is switched off", "Cách tắt thinking"],
  thinking_switch: ["Switch for thinking", "Công tắc thinking"],
  effort_with_tools: ["Effort with tools", "Effort khi có tool"],
  structured: ["Structured output", "Đầu ra có cấu trúc"],
  strict_tools: ["Strict tools", "Tool strict"],
  tool_choice_required: ["Forced tool calls", "Bắt buộc gọi tool"],
  parallel_flag: ["Parallel calls can be switched off", "Tắt được gọi song song"],
  repair_calls: ["Repair tool calls", "Sửa lời gọi tool"],
  mixed_tools: ["Hosted tools beside functions", "Tool của nhà cung cấp cùng function"],
  custom_tools: ["Free-text tools", "Tool nhận văn bản tự do"],
  tool_id: ["Form of tool call ids", "Dạng id của lời gọi tool"],
  tool_name_max: ["Longest tool name", "Tên tool dài nhất"],
  tool_name_start: ["First character of tool names", "Ký tự đầu của tên tool"],
  images: ["Images", "Hình ảnh"],
  choices: ["Several answers per call", "Nhiều câu trả lời mỗi lượt gọi"],
  audio: ["Audio input", "Âm thanh vào"],
  files: ["Documents (PDF)", "Tài liệu (PDF)"],
  stop_max: ["Most stop sequences", "Số chuỗi dừng tối đa"],
  include_usage: ["Reports usage at the end of a stream", "Báo mức dùng khi hết streaming"],
  mid_system: ["System messages in between", "Tin nhắn system ở giữa"],
  prefill: ["Trailing assistant message", "Tin nhắn assistant ở cuối"],
  cache_marks: ["Cache marks", "Dấu cache"],
  auto_cache: ["Place cache marks automatically", "Tự đặt dấu cache"],
  billing_line: ["Reads the billing line of Claude Code", "Đọc dòng billing của Claude Code"],
  reasoning_replay: ["Earlier reasoning goes back as", "Gửi lại reasoning trước đó dạng"],
  think_tags: ["Thinking inside the text", "Thinking trong văn bản"],
  reasoning_signer: ["Signer of reasoning", "Bên ký reasoning"],
  tool_call_content: ["Content beside tool calls", "Nội dung cạnh lời gọi tool"],
  empty_tool_result: ["Text for an empty tool result", "Văn bản cho kết quả tool rỗng"],
  shared_fields: ["Shared fields that it takes", "Các trường chung nhận được"],
  extra_fields: ["Extra fields, separated by commas", "Trường thêm, cách nhau bằng dấu phẩy"],
  ...recordOf(countedTools, (tool) => [tool, tool] as const),
});

type Label = keyof typeof fieldLabels["en"];

/** Does not compile with a name that has no label. */
type Labelled<Name extends Label> = Name;

/** The members that have a field, or a group of fields. */
export type FieldName = Label | Labelled<SchemaMember>;

/** Texts of fields besides their labels. */
export const fieldTexts = defineTexts({
  both: {
    units: {
      token: ["tokens", "token"],
      request: ["call", "lượt gọi"],
      image: ["image", "ảnh"],
      search: ["search", "lượt tìm"],
      second: ["minute of audio", "phút âm thanh"],
      video: ["video", "video"],
    },
    factors: {
      tiers: { name: ["Tier", "Hạng"], value: ["Factor", "Hệ số"] },
      currencies: {
        name: ["Currency, such as USD", "Tiền tệ, ví dụ USD"],
        value: ["VND for one", "Một đơn vị bằng bao nhiêu VND"],
      },
    },
    byDefault: ["by default", "mặc định"],
    addRow: ["Add another", "Thêm dòng"],
    addTier: ["Add a tier", "Thêm mức giá"],
    showFields: ["Show its fields", "Hiện các ô của loại này"],
    ownRules: ["own rules", "quy tắc riêng"],
    noCost: ["not known", "chưa rõ"],
    remove: ["Remove", "Xoá"],
  },
  en: {
    byDefaultOf: (value: string) => `by default (${value})`,
    ruleProfile: (name: string) => `profile ${name}`,
  },
  vi: {
    byDefaultOf: (value) => `mặc định (${value})`,
    ruleProfile: (name) => `mẫu ${name}`,
  },
});

/** Whether a member has a label. */
export function isFieldName(name: string): name is FieldName {
  return Object.hasOwn(fieldLabels.en, name);
}
