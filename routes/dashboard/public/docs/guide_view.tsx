/** Renders guides. */
import { CodeBlock, type Column, DataTable } from "../../components/mod.ts";
import { mayVisit } from "../../page/page_acts.ts";
import type { SignedIn } from "../../page/visitor.ts";
import type { Locale } from "../../text/i18n.ts";
import { type GuideSection, type GuideText, type Inline, inlines } from "./guides/guide.ts";

/** Reader of the guide; absent: a visitor, or somebody whose role does not matter. */
type Reader = Pick<SignedIn, "role"> | undefined;

function piece(inline: Inline, reader: Reader) {
  switch (inline.kind) {
    case "text":
      return inline.text;
    case "code":
      return <code>{inline.text}</code>;
    case "strong":
      return <strong>{inline.text}</strong>;
    case "link":
      // What the role may not do is said, and not offered.
      return mayVisit(reader, inline.href) ? <a href={inline.href}>{inline.text}</a> : inline.text;
  }
}

/** A text with code and links. */
export function Marked({ text, reader }: { text: string; reader?: Reader }) {
  return <>{inlines(text).map((one) => piece(one, reader))}</>;
}

function SectionTable({ rows: [head = [], ...rows], label, reader, hasCodes = false }: {
  rows: readonly (readonly string[])[];
  label: string;
  reader: Reader;
  hasCodes?: boolean | undefined;
}) {
  const columns = head.map((text, place): Column<readonly string[]> => ({
    head: text,
    cell: (row) =>
      hasCodes && place === 0
        ? <code id={row[0]}>{row[0]}</code>
        : <Marked text={row[place] ?? ""} reader={reader} />,
  }));
  return <DataTable label={label} columns={columns} rows={rows} />;
}

function Section({ section, reader, locale }: {
  section: GuideSection;
  reader: Reader;
  locale: Locale;
}) {
  return (
    <section>
      <h2>{section.title}</h2>
      {section.text.map((paragraph) => (
        <p>
          <Marked text={paragraph} reader={reader} />
        </p>
      ))}
      {section.table !== undefined && (
        <SectionTable
          rows={section.table}
          label={section.title}
          reader={reader}
          hasCodes={section.hasCodes}
        />
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
export function GuideView({ guide, reader, locale }: {
  guide: GuideText;
  reader: Reader;
  locale: Locale;
}) {
  return (
    <div class="guide">
      {guide.sections.map((section) => Section({ section, reader, locale }))}
    </div>
  );
}
