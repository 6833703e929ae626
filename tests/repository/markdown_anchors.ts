/** The anchors that GitHub gives to the headings of a Markdown page. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const prose = markdown.replaceAll(/^```.*?^```/gmsu, "");
  for (const [, heading = ""] of prose.matchAll(/^#{1,6} (.+)$/gmu)) {
    const slug = heading.trim().toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    let anchor = slug;
    for (let twin = 1; anchors.has(anchor); twin++) anchor = `${slug}-${twin}`;
    anchors.add(anchor);
  }
  return anchors;
}
