import type { Clock } from "../../runtime/clock.js";
import type { Logger } from "../../runtime/log.js";
import type { Caller } from "../caller.js";
import type { Tally } from "../counters.js";
import { readSignIn, type SignInAnswer } from "../decode/sign-in.js";
import type { Files } from "../files.js";
import type { LinkBook } from "../link.js";
import { operations } from "../operations.js";
import type { PlatformSettings } from "../settings.js";
import type { ShapeReports } from "../shape-reports.js";
import type { ClockSkew, ReadTime } from "../time.js";
import { type CredentialSource, plainHeaders, staticToken } from "./credential.js";
import { SessionStore } from "./session-store.js";
import { SignIn } from "./sign-in.js";
import { TokenFile } from "./token-file.js";

export interface SourcePorts {
  readonly caller: Caller;
  readonly link: LinkBook;
  readonly skew: ClockSkew;
  readonly readTime: ReadTime;
  readonly reports: ShapeReports;
  readonly clock: Clock;
  readonly log: Logger;
  readonly files: Files;
  readonly dataDir: string;
  readonly tally: Tally;
}

type SignInSettings = Extract<PlatformSettings["credential"], { type: "sign_in" }>;

/** The configured source of the token. */
export function credentialSource(settings: PlatformSettings, ports: SourcePorts): CredentialSource {
  const { credential } = settings;
  const { clock, log, files, link } = ports;
  const onRenewed = () => {
    link.credentialRenewed();
  };
  const onRefused = () => {
    link.credentialMissing();
  };
  switch (credential.type) {
    case "token":
      return staticToken(credential.token);
    case "token_file":
      return new TokenFile(credential.path, { files, clock, log, onRenewed, onMissing: onRefused });
    case "sign_in": {
      const account = JSON.stringify([settings.businessUrl, credential.body]);
      const store = new SessionStore(ports.dataDir, account, files, log);
      const post = (signal: AbortSignal) => signIn(credential, settings, ports, signal);
      const onContested = () => {
        ports.tally.contested += 1;
      };
      return new SignIn(credential.body, { store, clock, log, post, onRenewed, onRefused, onContested });
    }
  }
}

/** The one call without a credential. */
async function signIn(
  { body, tokenPath }: SignInSettings,
  { shapes }: PlatformSettings,
  { caller, skew, readTime, reports, clock }: SourcePorts,
  signal: AbortSignal,
): Promise<SignInAnswer | null> {
  const operation = operations.signIn;
  const call = { operation, path: operation.path, body: JSON.stringify(body), urgent: false, patient: true };
  const { body: answer } = await caller.once({ ...call, signal }, [
    ...plainHeaders,
    "content-type",
    "application/json",
  ]);
  const platformNow = clock.now() + (skew.skewMs() ?? 0);
  const path = tokenPath ?? shapes[operation.name]?.value;
  const found = readSignIn(answer, path, platformNow, (value) => readTime(value, platformNow));
  if (found === null) reports.of(operation)("a sign-in answer without a token", answer);
  return found;
}
