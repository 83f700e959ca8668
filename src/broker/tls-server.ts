import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import type { Logger } from "../runtime/logger.js";
import { pem } from "../runtime/pem.js";
import type { BrokerSettings } from "./settings.js";
import { BrokerStartError } from "./start-error.js";

type Files = Pick<NonNullable<BrokerSettings["tls"]>, "cert" | "key">;

export interface TlsServer {
  readonly server: tls.Server;
  /** Never rejects: what cannot be used is logged, and the certificate in use stays. */
  readonly renewCertificate: (log: Logger) => Promise<void>;
}

/** Rejects with a BrokerStartError. */
export async function tlsServer(
  files: Files,
  handshakeTimeoutMs: number,
  stream: (stream: Duplex) => void,
): Promise<TlsServer> {
  let inUse = await readCertificate(files).catch((error: unknown) => {
    const message = `the certificate or key cannot be used: ${reasonOf(error)}`;
    throw new BrokerStartError("broker.tls", message, { cause: error });
  });
  const options = { ...inUse, handshakeTimeout: handshakeTimeoutMs, noDelay: true };
  const server = tls.createServer(options, (socket) => {
    stream(socket);
  });
  // Failed handshakes are the client's affair.
  server.on("tlsClientError", () => undefined);
  const renewCertificate = async (log: Logger) => {
    try {
      const read = await readCertificate(files);
      if (read.cert === inUse.cert && read.key === inUse.key) return;
      server.setSecureContext(read);
      inUse = read;
      const { validTo } = new X509Certificate(read.cert);
      log.info({ validTo }, "broker.tls: certificate and key read again; new connections get them");
    } catch (error) {
      const what = "broker.tls: the certificate in use stays, because the files cannot be used";
      log.error(`${what}: ${reasonOf(error)}; put this right, then reload again`);
    }
  };
  return { server, renewCertificate };
}

/**
 * Looked at closely, and before a server gets to see it: a renewal may be caught half done, and of an empty file Node
 * makes a server without any certificate.
 */
async function readCertificate(files: Files): Promise<Files> {
  const cert = await pem(files.cert, "broker.tls.cert");
  const key = await pem(files.key, "broker.tls.key");
  const names = { cert: nameOf(files.cert, "broker.tls.cert"), key: nameOf(files.key, "broker.tls.key") };
  const certificate = parsed(names.cert, "certificate", () => new X509Certificate(cert));
  const privateKey = parsed(names.key, "usable key", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error(`${names.key} is not the key of ${names.cert}`);
  // The rest of the chain.
  parsed(names.cert, "usable certificate", () => tls.createSecureContext({ cert, key }));
  return { cert, key };
}

function parsed<T>(name: string, what: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new Error(`${name} is no ${what} in PEM: ${reasonOf(error)}`, { cause: error });
  }
}

/** Never the text itself, which may be a key. */
function nameOf(textOrPath: string, key: string): string {
  return textOrPath.includes("-----BEGIN ") ? key : `${key} (${textOrPath})`;
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
