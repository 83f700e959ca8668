/*
 * What a caller says who means to go on whatever became of a promise: `await file.close().catch(ignored)`. Each stands where a
 * failure changes nothing that anybody could do or has to know.
 */

export const ignored = (): undefined => undefined;

export const nullIfFailed = (): null => null;

export const falseIfFailed = (): false => false;
