import { isFields, own } from "./decode/wire.js";

/** What went wrong below HTTP, in words, and what to do about it. */
export interface Trouble {
  readonly what: string;
  readonly remedy: string;
}

const certificate = (what: string): Trouble => ({
  what,
  remedy:
    "if this is the right host, its operator must renew or complete its certificate; a private authority is trusted with NODE_EXTRA_CA_CERTS",
});
const network = (what: string): Trouble => ({
  what,
  remedy: "check this machine's network and router; it is tried again by itself",
});
const noTls: Trouble = {
  what: "that port does not speak TLS",
  remedy: "check scheme and port of {key}",
};
const cut: Trouble = {
  what: "the connection ended before the whole answer had come",
  remedy: "nothing to do unless it happens often: then check the network on the way",
};

const troubles: ReadonlyMap<string, Trouble> = new Map([
  ["ENOTFOUND", { what: "the host name does not exist", remedy: "check {key} and this machine's DNS" }],
  ["EAI_AGAIN", network("the host name could not be looked up (no DNS answer)")],
  [
    "ECONNREFUSED",
    { what: "the host refuses connections on that port", remedy: "check host and port of {key}" },
  ],
  ["UND_ERR_CONNECT_TIMEOUT", network("no connection within the connect time-out")],
  ["ETIMEDOUT", network("no connection: the network did not answer")],
  ["ENETUNREACH", network("no route to the host")],
  ["EHOSTUNREACH", network("no route to the host")],
  ["CERT_HAS_EXPIRED", certificate("the host's certificate has expired (or this machine's clock is wrong)")],
  [
    "CERT_NOT_YET_VALID",
    { what: "the host's certificate is not valid yet", remedy: "set this machine's clock" },
  ],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", certificate("the host's certificate is self-signed")],
  ["SELF_SIGNED_CERT_IN_CHAIN", certificate("the host's certificate comes from an unknown authority")],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", certificate("the host's certificate chain is incomplete")],
  [
    "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
    certificate("the host's certificate comes from an unknown authority"),
  ],
  [
    "ERR_TLS_CERT_ALTNAME_INVALID",
    { what: "the host's certificate is for another name", remedy: "check the host name in {key}" },
  ],
  ["EPROTO", noTls],
  ["ERR_SSL_WRONG_VERSION_NUMBER", noTls],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", noTls],
  ["ECONNRESET", cut],
  ["EPIPE", cut],
  ["UND_ERR_SOCKET", cut],
  ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", cut],
  ["UND_ERR_DESTROYED", { what: "the program is stopping", remedy: "nothing" }],
  [
    "UND_ERR_HEADERS_OVERFLOW",
    { what: "the headers of the answer are too large", remedy: "check that {key} is the platform's address" },
  ],
]);

/** The code of a network error; Node wraps several attempts at one host into an error without a code of its own. */
export function troubleCode(cause: unknown): string {
  if (!isFields(cause)) return "";
  const code = own(cause, "code");
  if (typeof code === "string") return code;
  if (own(cause, "name") === "HTTPParserError") return "HPE_INVALID";
  const { errors } = cause;
  return Array.isArray(errors) ? troubleCode(errors[0]) : "";
}

/** `HPE_…` is the HTTP parser's: whatever answers there is no web server. */
export const isNotHttp = (code: string): boolean =>
  code.startsWith("HPE_") || code === "UND_ERR_HEADERS_OVERFLOW";

export function troubleOf(code: string, sent: boolean): Trouble {
  if (code.startsWith("HPE_"))
    return { what: "the answer is not HTTP", remedy: "check scheme and port of {key}" };
  const known = troubles.get(code);
  if (known === cut && !sent) return { ...network("the connection was closed while it was being opened") };
  return known ?? network(`the connection failed${code === "" ? "" : ` (${code})`}`);
}
