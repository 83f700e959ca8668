import { IntlMessageFormat } from "intl-messageformat";
import { Sentence, type Text, type Value } from "./text.js";

/** Says a text in a person's language. */
export type Tell = (text: Text) => string;

/** The words of a language by the template of the English sentence, in ICU message syntax. */
export type Words = Readonly<Record<string, string>>;

/** Says sentences in a language; a sentence without words stays English. */
export function tellBy(words: Words, locale: string, ofString = (text: string) => text): Tell {
  const formats = new Map<string, IntlMessageFormat>();
  const formatOf = (template: string): IntlMessageFormat | null => {
    const known = formats.get(template);
    if (known !== undefined || words[template] === undefined) return known ?? null;
    const format = new IntlMessageFormat(words[template], locale, undefined, { ignoreTag: true });
    formats.set(template, format);
    return format;
  };
  const valueOf = (value: Value): string | number => (typeof value === "number" ? value : tell(value));
  const sentence = ({ template, parts, values, named, change }: Sentence): string => {
    if (change !== null) return change(sentence(new Sentence(parts, values, template, named)));
    const said = values.map(valueOf);
    const format = template === null ? null : formatOf(template);
    if (format === null) return parts.reduce((text, part, at) => `${text}${String(said[at - 1])}${part}`);
    const given =
      named === null
        ? said.map((value, at) => [String(at + 1), value] as const)
        : Object.entries(named).map(([name, value]) => [name, valueOf(value)] as const);
    return String(format.format(Object.fromEntries(given)));
  };
  const tell: Tell = (text) => (typeof text === "string" ? ofString(text) : sentence(text));
  return tell;
}
