import { joined, msg } from "../../language/text.js";
import { z } from "zod";
import { expecting, named, optional, required, section, urlOf, writtenText } from "../../settings/values.js";
import { askedMs, jsonFields, reasonIn, sent } from "../answers.js";
import type { Sent } from "../plan.js";
import { post, secretExample, service } from "../service.js";

const headers = () => {
  const name = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, {
    error: expecting(msg`the name of a header`),
  });
  const value = writtenText(msg`the text of a header`, /^[ -~]{1,1000}$/);
  return named(z.record(name, value, { error: expecting(msg`a section of headers`) }), "map of texts");
};

const hookUrl = () => {
  const error = expecting(msg`an address that starts with http:// or https://`);
  const pattern = /^https?:\/\/[^\s/@]+(?:\/[!-~]*)?$/;
  return named(
    z
      .string({ error })
      .regex(pattern, { error })
      .refine((given) => urlOf(given) !== null, { error }),
    "URL",
  );
};

export const webhook = service({
  key: optional(
    section({
      url: required(
        hookUrl(),
        "Gets each message as a POST of JSON; any answer from 200 to 299 is well.",
        secretExample("webhook_url"),
      ),
      headers: optional(headers(), "Further headers, such as one with a token.", {
        example: "{ Authorization: !secret webhook_token }",
        off: true,
        secret: true,
      }),
    }),
    "Or a POST to any address.",
    { off: true },
  ),
  messenger: ({ url, headers }) => ({
    name: "webhook",
    url,
    private: {},
    secrets: secretParts(url, headers),
    request: ({ kind, severity, title, text, alarms, over, missed, at }) =>
      post(url, { kind, severity, title, text, at, alarms, over, missed }, headers),
    judge: judgeHook,
  }),
});

/** Many services answer 200 and say in JSON that they failed: `{"ok": false}`, or a robot's code. */
function judgeHook(body: string): Sent {
  const fields = jsonFields(body) ?? {};
  const { ok, success, status, errcode, code } = fields;
  const isCode = (value: unknown): value is number => typeof value === "number" && value !== 0;
  // In an answer with only `code` the code may be that of HTTP.
  const isOdd = isCode(code) && !(code >= 200 && code < 300) && reasonIn(fields) !== null;
  const isNo = ok === false || success === false || /^(?:error|fail(?:ed|ure)?)$/i.test(String(status));
  if (!isNo && !isCode(errcode) && !isOdd) return sent;
  const number = [errcode, code].find(isCode);
  const words = [...(number === undefined ? [] : [String(number)]), reasonIn(fields) ?? msg`no reason given`];
  const problem = msg`it answers that it did not take it (${joined(words, ": ")})`;
  return { ok: false, problem, isRefused: true, retryAfterMs: askedMs(body) };
}

const shortestPart = 8;

/** Parts of an address or header that may authorise a message by themselves. */
function secretParts(url: string, headers: Readonly<Record<string, string>> = {}): readonly string[] {
  const { pathname, search } = new URL(url);
  const words = [pathname + search, pathname, ...`${pathname}${search}`.split(/[/?&=]/)];
  const values = Object.values(headers).flatMap((value) => value.split(" "));
  return [...words, ...values].filter(({ length }) => length >= shortestPart);
}
