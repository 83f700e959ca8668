import { z } from "zod";
import { expecting, typeFacts } from "./values.js";

/** The parsed address, or null when it is none. */
export function urlOf(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** `http://` or `https://` and a host; the path is kept without a last slash. */
export function webUrl(example: string) {
  const schema = url(["http:", "https:"], example).transform((given) => given.replace(/\/+$/, ""));
  typeFacts.add(schema, { name: "URL" });
  return schema;
}

export function brokerUrl() {
  const schema = url(["mqtt:", "mqtts:", "ws:", "wss:"], "mqtt://localhost:1883");
  typeFacts.add(schema, { name: "URL" });
  return schema;
}

function url(schemes: readonly string[], example: string) {
  const names = schemes.map((scheme) => `${scheme}//`);
  const what = `an address that starts with ${names.join(" or ")}, such as ${example}`;
  return z.string({ error: expecting(what) }).superRefine((given, context) => {
    const parsed = urlOf(given);
    const fail = (message: string) => {
      context.addIssue({ code: "custom", message });
    };
    if (/\s/.test(given) || parsed === null || !schemes.includes(parsed.protocol) || parsed.hostname === "")
      fail(`expected ${what}`);
    else if (parsed.username !== "" || parsed.password !== "")
      fail("expected an address without user and password; give them under keys of their own");
    else if (parsed.search !== "" || parsed.hash !== "") fail('expected an address without "?" and "#"');
  });
}
