/**
 * The words of a text for the search. Chinese has no blanks between words, so each two neighbours of its signs are one;
 * a whole sentence would be found by its beginning alone. The site's pages get this as text, so it uses nothing from outside.
 */
export const searchWords = (text) =>
  text
    .split(/[\n\r\p{Z}\p{P}]+/u)
    .flatMap((word) => word.match(/\p{Script=Han}+|\P{Script=Han}+/gu) ?? [])
    .flatMap((run) =>
      /^\p{Script=Han}{2}/u.test(run)
        ? Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2))
        : [run],
    );
