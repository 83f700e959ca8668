/* Handlers for a promise whose failure nobody could act on or has to know: `await file.close().catch(ignored)`. */

export const ignored = (): undefined => undefined;

export const nullIfFailed = (): null => null;

export const falseIfFailed = (): false => false;
