import { IntlMessageFormat } from "intl-messageformat";
import { Sentence, type Text, type Value } from "./text.js";

/** A text as the person reads it. */
export type Tell = (text: Text) => string;

/** The words of a language, each by the template of the English sentence, in the syntax of ICU messages. */
export type Words = Readonly<Record<string, string>>;

/** Says sentences in a language; what it has no words for stays English. */
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
