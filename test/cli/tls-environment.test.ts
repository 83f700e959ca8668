import { describe, expect, it } from "vitest";
import { ignoredTlsEnvironment } from "../../src/runtime/sockets.js";

describe("an environment that asks for unverified certificates", () =>
  it.each([
    [{ NODE_TLS_REJECT_UNAUTHORIZED: "0" }, true],
    [{ NODE_TLS_REJECT_UNAUTHORIZED: "1" }, false],
    [{}, false],
  ])("%j is told of: %s, with what to do instead", (environment, isTold) => {
    const told = ignoredTlsEnvironment(environment);
    if (isTold) expect(told).toMatch(/changes nothing.*NODE_EXTRA_CA_CERTS.*mqtt\.tls\.ca/);
    else expect(told).toBeNull();
  }));
