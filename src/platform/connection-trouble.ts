import { isFields, own } from "./decode/wire.js";

/** What went wrong below HTTP, in words, and what to do about it. */
export interface Trouble {
  readonly what: string;
  readonly remedy: string;
}

const renewIt =
  "if this is the right host, its operator must renew or complete its certificate; a private authority is trusted with NODE_EXTRA_CA_CERTS";
const network = "check this machine's network and router; it is tried again by itself";
const unknownAuthority = "the host's certificate comes from an unknown authority";
const noTls = ["that port does not speak TLS", "check scheme and port of {key}"] as const;
const cut = [
  "the connection ended before the whole answer had come",
  "nothing to do unless it happens often: then check the network on the way",
] as const;

/** What went wrong, and what to do about it. */
const troubles: Readonly<Record<string, readonly [what: string, remedy: string]>> = {
  ENOTFOUND: ["the host name does not exist", "check {key} and this machine's DNS"],
  EAI_AGAIN: ["the host name could not be looked up (no DNS answer)", network],
  ECONNREFUSED: ["the host refuses connections on that port", "check host and port of {key}"],
  UND_ERR_CONNECT_TIMEOUT: ["no connection within the connect time-out", network],
  ETIMEDOUT: ["no connection: the network did not answer", network],
  ENETUNREACH: ["no route to the host", network],
  EHOSTUNREACH: ["no route to the host", network],
  CERT_HAS_EXPIRED: ["the host's certificate has expired (or this machine's clock is wrong)", renewIt],
  CERT_NOT_YET_VALID: ["the host's certificate is not valid yet", "set this machine's clock"],
  DEPTH_ZERO_SELF_SIGNED_CERT: ["the host's certificate is self-signed", renewIt],
  SELF_SIGNED_CERT_IN_CHAIN: [unknownAuthority, renewIt],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ["the host's certificate chain is incomplete", renewIt],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: [unknownAuthority, renewIt],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    "the host's certificate is for another name",
    "check the host name in {key}",
  ],
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ECONNRESET: cut,
  EPIPE: cut,
  UND_ERR_SOCKET: cut,
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: cut,
  UND_ERR_DESTROYED: ["the program is stopping", "nothing"],
  UND_ERR_HEADERS_OVERFLOW: [
    "the headers of the answer are too large",
    "check that {key} is the platform's address",
  ],
};

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

/** `{key}` in the remedy stands for the setting of the host's address. */
export function troubleOf(code: string, sent: boolean): Trouble {
  if (code.startsWith("HPE_"))
    return { what: "the answer is not HTTP", remedy: "check scheme and port of {key}" };
  const known = Object.hasOwn(troubles, code) ? troubles[code] : undefined;
  if (known === cut && !sent)
    return { what: "the connection was closed while it was being opened", remedy: network };
  const [what, remedy] = known ?? [`the connection failed${code === "" ? "" : ` (${code})`}`, network];
  return { what, remedy };
}
