/** The landing page of visitors who are not signed in. */
import type { Context } from "hono";
import type { DashboardDeps } from "../deps.ts";
import { Badge, CodeBlock } from "../components/mod.ts";
import { defineTexts } from "../i18n.ts";
import { renderPage } from "../frame/layout.tsx";
import type { DashboardEnv } from "../visitor/visitor.ts";

const texts = defineTexts({
  en: {
    title: "Model Gateway: one key for every model",
    headline: ["One address.", "One key.", "Every model."],
    lead:
      "Text, images, speech and video from many providers behind the two API styles you already use. Paid from one prepaid wallet in VND, by the call.",
    start: "Create an account",
    prices: "See models and prices",
    change: "Change two lines, keep your SDK",
    sdk: {
      title: "Your SDK stays",
      text:
        "Messages style and Chat Completions style, tools and streaming included. Any chat model through either one.",
    },
    transfer: {
      title: "Pay by bank transfer",
      text:
        "Scan a QR, and your wallet is filled in moments. No card, no monthly fee, and the balance never expires.",
    },
    prepaid: {
      title: "Pay by the call",
      text: "From a prepaid wallet. No card, no monthly fee, and the balance never expires.",
    },
    receipts: {
      title: "Every đồng accounted for",
      text: "Each call has a receipt with tokens, price and latency. Failed calls cost nothing.",
    },
    invoices: "VAT invoice on request.",
    privacy: {
      title: "Your prompts stay yours",
      text: "Only metadata is kept. Prompts and answers are never stored and never logged.",
    },
    models: (count: number) => `${count} models`,
  },
  vi: {
    title: "Model Gateway: một khoá API cho mọi mô hình",
    headline: ["Một địa chỉ.", "Một khoá API.", "Mọi mô hình."],
    lead:
      "Văn bản, hình ảnh, giọng nói và video từ nhiều nhà cung cấp, qua đúng hai kiểu API bạn đang dùng. Trả từ một ví trả trước bằng đồng, theo từng lượt gọi.",
    start: "Tạo tài khoản",
    prices: "Xem mô hình và giá",
    change: "Đổi hai dòng, giữ nguyên SDK",
    sdk: {
      title: "Giữ nguyên SDK",
      text:
        "Kiểu Messages và kiểu Chat Completions, gồm cả công cụ và streaming. Mô hình hội thoại nào cũng gọi được qua cả hai.",
    },
    transfer: {
      title: "Trả bằng chuyển khoản",
      text:
        "Quét mã QR, tiền vào ví trong chốc lát. Không cần thẻ, không phí tháng, số dư không hết hạn.",
    },
    prepaid: {
      title: "Trả theo lượt gọi",
      text: "Từ một ví trả trước. Không cần thẻ, không phí tháng, số dư không hết hạn.",
    },
    receipts: {
      title: "Rõ từng đồng",
      text: "Mỗi lượt gọi có biên nhận ghi token, đơn giá và độ trễ. Lượt gọi lỗi không mất tiền.",
    },
    invoices: "Có hoá đơn GTGT khi yêu cầu.",
    privacy: {
      title: "Lời của bạn là của bạn",
      text:
        "Chỉ lưu thông tin về lượt gọi. Câu hỏi và câu trả lời không bao giờ được lưu hay ghi lại.",
    },
    models: (count) => `${count} mô hình`,
  },
});

/** A sentence of the headline wraps as a whole. */
function sentence(text: string) {
  return (
    <>
      <span>{text}</span>
      {" "}
    </>
  );
}

/** Shows the landing page. */
export function landingPage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = texts[locale];
  const code = [
    "from openai import OpenAI",
    "",
    "client = OpenAI(",
    `    base_url="${deps.baseUrl}/v1",`,
    '    api_key="sk-…",',
    ")",
    "answer = client.chat.completions.create(",
    `    model="${deps.catalog.defaultModel.id}",`,
    '    messages=[{"role": "user", "content": "Xin chào!"}],',
    ")",
  ].join("\n");
  const { bankTransfer, invoices } = deps.offers;
  const points = [
    t.sdk,
    bankTransfer ? t.transfer : t.prepaid,
    invoices ? { ...t.receipts, text: `${t.receipts.text} ${t.invoices}` } : t.receipts,
    t.privacy,
  ];
  return renderPage(
    c,
    { title: t.title, bare: true },
    <div class="landing">
      <div class="hero">
        <div>
          <h1>{t.headline.map(sentence)}</h1>
          <p class="lead">{t.lead}</p>
          <div class="actions">
            <a class="button" href="/sign-up">{t.start}</a>
            <a href="/models" class="button outline secondary">{t.prices}</a>
          </div>
        </div>
        <div>
          <p class="hero-caption">
            {t.change} <Badge tone="good">{t.models(deps.catalog.models.length)}</Badge>
          </p>
          <CodeBlock code={code} what="Python" locale={locale} />
        </div>
      </div>
      <ul class="points">
        {points.map((point) => (
          <li class="card">
            <h2>{point.title}</h2>
            <p>{point.text}</p>
          </li>
        ))}
      </ul>
    </div>,
  );
}
