/** The frame of the documentation: its contents beside the page. */
import type { Context } from "hono";
import type { Child } from "hono/jsx";
import { type Tag, tags } from "../../../openapi/operation.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { GuideFacts } from "./guides/guide.ts";
import { guides } from "./guides/guides.ts";
import { defineTexts } from "../../text/i18n.ts";

// Texts of the frame of the documentation.

export const docsTexts = defineTexts({
  both: {
    title: ["Documentation", "Tài liệu"],
    guides: ["Guides", "Hướng dẫn"],
    reference: ["API reference", "Tham chiếu API"],
    tags: {
      Chat: ["Chat", "Chat"],
      Models: ["Models", "Mô hình"],
      Text: ["Text", "Văn bản"],
      Media: ["Media", "Hình ảnh và âm thanh"],
      Videos: ["Videos", "Video"],
      Organisation: ["Organisation", "Tổ chức"],
      Applications: ["Applications", "Ứng dụng"],
      Account: ["Account", "Tài khoản"],
    },
    tools: ["Agents and tools", "Trợ lý và công cụ"],
    sdks: ["SDKs", "SDK"],
    machine: ["For machines", "Cho máy đọc"],
    openApi: ["OpenAPI 3.1 document", "Tài liệu OpenAPI 3.1"],
    llms: ["Everything as plain text", "Tất cả dưới dạng văn bản thuần"],
    parameters: ["Parameters", "Tham số"],
    body: ["Body", "Nội dung gửi"],
    answers: ["Answers", "Trả về"],
    field: ["Field", "Trường"],
    type: ["Type", "Kiểu"],
    meaning: ["Meaning", "Ý nghĩa"],
    required: ["required", "bắt buộc"],
    members: ["Members", "Thành phần"],
    status: ["Status", "Trạng thái"],
    example: ["Example", "Ví dụ"],
  },
  en: {
    lead: "Guides, settings of tools, and every endpoint.",
    description: "Guides, recipes for coding agents and SDKs, and the API reference.",
    referenceLead: (server: string) => `All paths are below ${server}.`,
    toolsLead: "Claude Code, Codex, opencode, Cursor, n8n and others.",
    keys: {
      api: "",
      management: "Takes a management key of an organisation.",
      either: "Takes an API key, or a management key of an organisation.",
      none: "No key is needed.",
    },
    pages: (count: number) => `${count} endpoints`,
  },
  vi: {
    lead: "Hướng dẫn, cấu hình công cụ, và mọi endpoint.",
    description: "Hướng dẫn, cấu hình cho trợ lý lập trình và SDK, và tham chiếu API.",
    referenceLead: (server) => `Mọi đường dẫn nằm dưới ${server}. Tham chiếu viết bằng tiếng Anh.`,
    toolsLead: "Claude Code, Codex, opencode, Cursor, n8n và những công cụ khác.",
    keys: {
      api: "",
      management: "Dùng khoá quản trị của tổ chức.",
      either: "Dùng khoá API, hoặc khoá quản trị của tổ chức.",
      none: "Không cần khoá API.",
    },
    pages: (count) => `${count} endpoint`,
  },
});

function isTag(name: string): name is Tag {
  return Object.hasOwn(tags, name);
}

/** The groups of the reference, in their order. */
export const tagNames: readonly Tag[] = Object.keys(tags).filter(isTag);

/** Returns what guides name of a service. */
export function factsOf({ baseUrl, catalog }: DashboardDeps): GuideFacts {
  return { baseUrl, model: catalog.defaultModel.id };
}

/** The path of a group of the reference. */
export function tagPath(tag: string): string {
  return `/docs/api/${tag.toLowerCase()}`;
}

/** The path of one operation of the reference. */
export function operationPath(tag: string, id: string): string {
  return `${tagPath(tag)}/${id}`;
}

interface DocsPage {
  readonly title: string;
  readonly lead: string;
  readonly description: string;
}

/** Renders a page of the documentation. */
export function renderDocs(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  page: DocsPage,
  body: Child,
) {
  const { locale } = c.get("visitor");
  const t = docsTexts[locale];
  const here = c.req.path;
  const link = (href: string, text: string) => (
    <li>
      <a href={href} aria-current={href === here ? "page" : undefined}>{text}</a>
    </li>
  );
  return renderPage(
    c,
    { ...page, styles: ["docs.css"] },
    <div class="docs">
      <nav class="docs-contents" aria-label={t.title}>
        <h2>{t.guides}</h2>
        <ul>
          {guides.map(({ slug, texts }) =>
            link(`/docs/${slug}`, texts(factsOf(deps))[locale].title)
          )}
          {link("/docs/tools", t.tools)}
        </ul>
        <h2>{t.reference}</h2>
        <ul>{tagNames.map((tag) => link(tagPath(tag), t.tags[tag]))}</ul>
      </nav>
      <div class="docs-page">{body}</div>
    </div>,
  );
}
