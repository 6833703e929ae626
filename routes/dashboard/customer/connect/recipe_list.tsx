/** Recipes as a list that opens one at a time, which needs no script. */
import { CodeBlock } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import { type RecipeFacts, recipes, sdkRecipes } from "./recipes.ts";

/** The recipes of all tools, after those of SDKs if they are asked for; the first is open. */
export function RecipeList({ facts, withSdks, locale }: {
  facts: RecipeFacts;
  withSdks?: boolean;
  locale: Locale;
}) {
  const list = [...withSdks === true ? sdkRecipes(facts) : [], ...recipes(facts)];
  return (
    <div class="recipes">
      {list.map(({ name, text, code }, index) => (
        <details name="recipe" open={index === 0}>
          <summary>{name}</summary>
          <p class="muted">{text[locale]}</p>
          {code.map((part) => (
            <div class="snippet">
              <h3>{part.name}</h3>
              <CodeBlock code={part.code} what={`${name}: ${part.name}`} locale={locale} />
            </div>
          ))}
        </details>
      ))}
    </div>
  );
}
