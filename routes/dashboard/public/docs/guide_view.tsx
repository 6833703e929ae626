/** Renders guides. */
import { CodeBlock, type Column, DataTable } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import { type GuideSection, type GuideText, type Inline, inlines } from "./guides/guide.ts";

function piece(inline: Inline) {
  switch (inline.kind) {
    case "text":
      return inline.text;
    case "code":
      return <code>{inline.text}</code>;
    case "strong":
      return <strong>{inline.text}</strong>;
    case "link":
      return <a href={inline.href}>{inline.text}</a>;
  }
}

/** A text with code and links. */
export function Marked({ text }: { text: string }) {
  return <>{inlines(text).map(piece)}</>;
}

function SectionTable({ rows: [head = [], ...rows], label, hasCodes = false }: {
  rows: readonly (readonly string[])[];
  label: string;
  hasCodes?: boolean | undefined;
}) {
  const columns = head.map((text, place): Column<readonly string[]> => ({
    head: text,
    cell: (row) =>
      hasCodes && place === 0
        ? <code id={row[0]}>{row[0]}</code>
        : <Marked text={row[place] ?? ""} />,
  }));
  return <DataTable label={label} columns={columns} rows={rows} />;
}

function Section({ section, locale }: { section: GuideSection; locale: Locale }) {
  return (
    <section>
      <h2>{section.title}</h2>
      {section.text.map((paragraph) => (
        <p>
          <Marked text={paragraph} />
        </p>
      ))}
      {section.table !== undefined && (
        <SectionTable rows={section.table} label={section.title} hasCodes={section.hasCodes} />
      )}
      {section.code?.map(({ name, code }) => (
        <div class="snippet">
          <h3>{name}</h3>
          <CodeBlock code={code} name={name} what={`${section.title}: ${name}`} locale={locale} />
        </div>
      ))}
    </section>
  );
}

/** The sections of a guide. */
export function GuideView({ guide, locale }: { guide: GuideText; locale: Locale }) {
  return (
    <div class="guide">
      {guide.sections.map((section) => Section({ section, locale }))}
    </div>
  );
}
