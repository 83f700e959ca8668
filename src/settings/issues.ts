import type { Text } from "../language/text.js";

/*
 * zod hands on the message of an issue as it is, but declares it a string. These two are the only place that knows it:
 * a sentence goes in with `asMessage`, and `messageOf` reads it back.
 */

/** As an error function of a schema returns it, and as `context.addIssue({ code: "custom", ...asMessage(text) })` takes it. */
export const asMessage = (text: Text): { message: string } => ({ message: text as string });

/** The `error` of a schema that always says the same. */
export const saying = (text: Text) => (): { message: string } => asMessage(text);

export const messageOf = (issue: { readonly message: string }): Text => issue.message;
