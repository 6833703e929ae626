/** Code in tabs. The tabs are radio buttons, so they work without script. */
import { CodeBlock } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";

/** One tab. */
export interface CodeTab {
  readonly name: string;
  readonly code: string;
  /** The language of the code, where it is not the name of the tab. */
  readonly language?: string;
}

/** The tabs; the first is chosen. At most six, which is what the style sheet knows. */
export function CodeTabs({ tabs, label, locale }: {
  tabs: readonly CodeTab[];
  label: string;
  locale: Locale;
}) {
  return (
    <div class="tabs" role="radiogroup" aria-label={label}>
      {tabs.map(({ name }, index) => (
        <>
          <input type="radio" name="code-tab" id={`tab-${index}`} checked={index === 0} />
          <label for={`tab-${index}`}>{name}</label>
        </>
      ))}
      {tabs.map(({ name, code, language = name }) => (
        <div class="tab-panel">
          <CodeBlock code={code} name={language} what={name} locale={locale} />
        </div>
      ))}
    </div>
  );
}
