import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls, type PeerCertificate, type TLSSocket } from "node:tls";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
}

export function endpointOf(address: string): Endpoint {
  const { protocol, hostname, port } = new URL(address);
  const secure = protocol === "https:" || protocol === "wss:" || protocol === "mqtts:";
  const host = hostname.replace(/^\[|\]$/g, "");
  return { host, port: port === "" ? (secure ? 443 : 80) : Number(port), secure };
}

export type Connected =
  | { readonly ok: true; readonly certificate: PeerCertificate | null; readonly protocol: string | null }
  | { readonly ok: false; readonly error: unknown };

/** Opens one connection and closes it; nothing is sent over it. `verify: false` only to look at a refused certificate. */
export function tryConnection(
  { host, port, secure }: Endpoint,
  verify: boolean,
  signal: AbortSignal,
): Promise<Connected> {
  return new Promise((resolve) => {
    const socket: Socket | TLSSocket = secure
      ? connectTls({
          host,
          port,
          rejectUnauthorized: verify,
          ...(isIP(host) === 0 ? { servername: host } : {}),
        })
      : connectTcp({ host, port });
    const end = (result: Connected) => {
      signal.removeEventListener("abort", stop);
      resolve(result);
      socket.destroy();
    };
    const stop = () => {
      end({ ok: false, error: Object.assign(new Error("out of time"), { code: "ETIMEDOUT" }) });
    };
    signal.addEventListener("abort", stop, { once: true });
    socket.on("error", (error) => {
      end({ ok: false, error });
    });
    socket.once(secure ? "secureConnect" : "connect", () => {
      const isTls = "getPeerCertificate" in socket;
      end({
        ok: true,
        certificate: isTls ? socket.getPeerCertificate() : null,
        protocol: isTls ? socket.getProtocol() : null,
      });
    });
    if (signal.aborted) stop();
  });
}
