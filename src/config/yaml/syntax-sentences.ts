import type { ErrorCode } from "yaml";

/* Own words for every syntax error: the parser's may repeat parts of the file, and that part may be a password. */
const sentences: Partial<Record<ErrorCode, string>> = {
  BAD_DQ_ESCAPE: 'a backslash in "..." must be doubled, or use single quotes',
  BAD_INDENT: "wrong indentation; keys of one section start in the same column, and every [ and { is closed",
  BAD_SCALAR_START: 'this character cannot start a value here; put the value in "quotes"',
  BLOCK_AS_IMPLICIT_KEY:
    'a section cannot start on the line of its key; if this is one value, put it in "quotes"',
  BLOCK_IN_FLOW: "inside [ ] and { } every value must be on the same line, or in [ ] and { } too",
  MISSING_CHAR: "something is missing here: a closing quote, bracket or comma, or the blank after a colon",
  MULTILINE_IMPLICIT_KEY: "a key must end with a colon on its own line; check the lines around this one",
  MULTIPLE_TAGS: "only one tag may stand before a value",
  TAB_AS_INDENT: "tabs are not allowed as indentation; use blanks",
  TAG_RESOLVE_FAILED: "unknown tag; !env NAME and !secret name are known",
  UNEXPECTED_TOKEN: "this is not expected here; check quotes, brackets and the line above",
  BAD_ALIAS: "aliases (*name) are not allowed; write the value out",
  BAD_DIRECTIVE: "directives (%) are not allowed",
  KEY_OVER_1024_CHARS: "a key is longer than 1024 characters; a quote may be missing",
};

export const syntaxSentence = (code: ErrorCode): string =>
  sentences[code] ?? "this is not valid YAML; check quotes, brackets and indentation around here";
