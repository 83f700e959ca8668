import { referenceTable } from "./table.js";

const block = /(<!-- configuration:start -->)[\s\S]*?(<!-- configuration:end -->)/;

/** The README with the current table between its two marks; unchanged where it has none. */
export function withReference(readme: string): string {
  const table = `<!-- prettier-ignore-start -->\n\n${referenceTable()}\n\n<!-- prettier-ignore-end -->`;
  return readme.replace(block, (_, start: string, end: string) => `${start}\n\n${table}\n\n${end}`);
}
