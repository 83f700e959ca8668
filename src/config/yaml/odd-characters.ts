import { msg, type Text } from "../../language/text.js";
/*
 * Characters that look like another one, or like none: a Chinese keyboard writes `：` for a colon, a word processor `“`
 * for a quote, and text copied from a page or chat has blanks that YAML takes for letters. In a name they may be
 * intended.
 */

/** A range of code points: what they are, and what to do. `as`: what to write in YAML instead; null for nothing. */
interface Look {
  readonly from: number;
  readonly to: number;
  readonly what: Text;
  readonly as: Text | null;
}

const look = (from: number, to: number, what: Text, as: Text | null = null): Look => ({
  from,
  to,
  what,
  as,
});

const blank = msg`an ordinary blank`;

/** ASCII as Chinese texts write it. */
const fullWidth = Array.from({ length: 94 }, (_, at) =>
  look(0xff01 + at, 0xff01 + at, msg`a full-width character`, String.fromCodePoint(0x21 + at)),
);

const looks: readonly Look[] = [
  look(0x00, 0x08, msg`a control character`),
  look(0x0b, 0x0c, msg`a control character`),
  look(0x0e, 0x1f, msg`a control character`),
  look(0x7f, 0x9f, msg`a control character`),
  look(0xa0, 0xa0, msg`a no-break space`, blank),
  look(0xad, 0xad, msg`a soft hyphen`),
  look(0x34f, 0x34f, msg`a character without width`),
  look(0x61c, 0x61c, msg`a mark of writing direction`),
  look(0x115f, 0x1160, msg`another kind of blank`, blank),
  look(0x1680, 0x1680, msg`another kind of blank`, blank),
  look(0x17b4, 0x17b5, msg`a character without width`),
  look(0x180b, 0x180f, msg`a character without width`),
  look(0x2000, 0x200a, msg`another kind of blank`, blank),
  look(0x200b, 0x200d, msg`a character without width`),
  look(0x200e, 0x200f, msg`a mark of writing direction`),
  look(0x2028, 0x2029, msg`a line separator`),
  look(0x202a, 0x202e, msg`a mark of writing direction`),
  look(0x202f, 0x202f, msg`a narrow no-break space`, blank),
  look(0x205f, 0x205f, msg`another kind of blank`, blank),
  look(0x2060, 0x2065, msg`a character without width`),
  look(0x2066, 0x2069, msg`a mark of writing direction`),
  look(0x206a, 0x206f, msg`a character without width`),
  look(0x2800, 0x2800, msg`another kind of blank`, blank),
  look(0x3000, 0x3000, msg`an ideographic space`, blank),
  look(0x3164, 0x3164, msg`another kind of blank`, blank),
  look(0xffa0, 0xffa0, msg`another kind of blank`, blank),
  look(0xfff9, 0xfffb, msg`a character without width`),
  look(0xe0000, 0xe0fff, msg`a character without width`),
  look(0xfeff, 0xfeff, msg`a byte order mark`),
  look(0x2018, 0x201b, msg`a typographic quote`, "'"),
  look(0x201c, 0x201f, msg`a typographic quote`, '"'),
  look(0x300c, 0x300f, msg`a corner bracket`, '"'),
  look(0xff02, 0xff02, msg`a full-width quote`, '"'),
  look(0xff07, 0xff07, msg`a full-width quote`, "'"),
  look(0x3001, 0x3001, msg`an ideographic comma`, ","),
  look(0x3002, 0x3002, msg`an ideographic full stop`, "."),
  look(0xff0c, 0xff0c, msg`a full-width comma`, ","),
  look(0xff1a, 0xff1a, msg`a full-width colon`, ":"),
  look(0xff01, 0xff01, msg`a full-width exclamation mark`, "!"),
  look(0xff03, 0xff03, msg`a full-width number sign`, "#"),
  look(0xff0d, 0xff0d, msg`a full-width hyphen`, "-"),
  look(0x2010, 0x2015, msg`a dash`, "-"),
  look(0x2212, 0x2212, msg`a minus sign`, "-"),
  look(0xff3b, 0xff3b, msg`a full-width bracket`, "["),
  look(0xff3d, 0xff3d, msg`a full-width bracket`, "]"),
  look(0xff5b, 0xff5b, msg`a full-width bracket`, "{"),
  look(0xff5d, 0xff5d, msg`a full-width bracket`, "}"),
  ...fullWidth,
];

const classOf = (wanted: (one: Look) => boolean): string =>
  looks
    .filter(wanted)
    .map(({ from, to }) => `\\u{${from.toString(16)}}-\\u{${to.toString(16)}}`)
    .join("");

const any = new RegExp(`[${classOf(() => true)}]`, "u");
const blanks = classOf(({ as }) => as === blank);
/** Characters that are invisible everywhere. */
const unseen = classOf(({ as }) => as === null);
/** Nobody writes these on purpose into a text without quotes. */
const astray = new RegExp(`[${unseen}]|^[${blanks}]|[${blanks}]$|\\u00a0`, "u");

export interface Odd {
  /** The offset of the character in the text. */
  readonly offset: number;
  /** `U+FF1A (a full-width colon) stands here; write :` */
  readonly message: Text;
}

/** The first character of a text that looks like another one or like none. */
export const oddIn = (text: string): Odd | null => at(text, any.exec(text));

/** The first one that is hardly intended in a text without quotes. */
export const strayIn = (text: string): Odd | null => at(text, astray.exec(text));

function at(text: string, found: RegExpExecArray | null): Odd | null {
  const code = found === null ? undefined : text.codePointAt(found.index);
  const known = looks.find(({ from, to }) => code !== undefined && code >= from && code <= to);
  if (found === null || code === undefined || known === undefined) return null;
  const { what, as } = known;
  const digits = code.toString(16).toUpperCase().padStart(4, "0");
  const remedy = as === null ? msg`delete it` : msg`write ${as}`;
  return { offset: found.index, message: msg`U+${digits} (${what}) stands here; ${remedy}` };
}

/** Quoted texts and comments, in which every character may stand. */
const elsewhere = /"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?:^|[ \t])#.*$/g;

/**
 * The character that may be to blame for a YAML error at `offset`: the first odd one in that line, else in the last
 * line above that is not blank. A tab at the beginning of a line counts as well.
 */
export function culprit(text: string, offset: number): Odd | null {
  let from = text.lastIndexOf("\n", offset - 1) + 1;
  for (let looked = 0; looked < 2;) {
    const end = text.indexOf("\n", from);
    const line = text.slice(from, end === -1 ? undefined : end);
    const tab = /^ *\t/.exec(line);
    if (tab !== null)
      return {
        offset: from + tab[0].length - 1,
        message: msg`U+0009 (a tab) stands here; write blanks`,
      };
    const found = oddIn(line.replace(elsewhere, (hidden) => " ".repeat(hidden.length)));
    if (found !== null) return { ...found, offset: from + found.offset };
    if (line.trim() !== "") looked += 1;
    if (from === 0) return null;
    from = text.lastIndexOf("\n", from - 2) + 1;
  }
  return null;
}
