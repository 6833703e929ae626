/** Renders guides. */
import { CodeBlock, TableFrame } from "../../components/mod.ts";
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

function headCell(text: string) {
  return <th scope="col">{text}</th>;
}

function SectionTable({ rows: [head, ...rows], label }: {
  rows: readonly (readonly string[])[];
  label: string;
}) {
  return (
    <TableFrame label={label}>
      <table>
        <thead>
          <tr>{head?.map(headCell)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td>
                  <Marked text={cell} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
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
      {section.table !== undefined && <SectionTable rows={section.table} label={section.title} />}
      {section.code?.map(({ name, code }) => (
        <div class="snippet">
          <h3>{name}</h3>
          <CodeBlock code={code} what={`${section.title}: ${name}`} locale={locale} />
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
