import { z } from "zod";
import { expecting } from "../expectation.js";
import { optional, withDefault } from "../fields.js";
import { list, section, text, whole, writtenText } from "../values.js";

const listener = section({
  host: withDefault(
    text("a host name or address", /^[A-Za-z0-9._:[\]%-]{1,253}$/),
    "127.0.0.1",
    "Address to listen at.",
  ),
  port: withDefault(whole(0, 65_535), 8099, "A busy port is a warning, not a reason to stop."),
  token: optional(
    writtenText("a token without blanks", /^[!-~]{1,1000}$/),
    "Asked for anything but the health check.",
    {
      example: "!secret http_token",
      off: true,
      secret: true,
    },
  ),
  allowed_hosts: withDefault(
    list(text("a host name", /^[A-Za-z0-9._:[\]-]{1,253}$/)),
    [],
    "Further names a browser may use for this address.",
  ),
});

/** `false`, or where to listen. */
export const httpSection = z.union([z.literal(false), listener], {
  error: expecting("false or a section of keys with values"),
});
