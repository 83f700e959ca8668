import { checkServerIdentity, type PeerCertificate } from "node:tls";

const dayMs = 86_400_000;
const soonMs = 14 * dayMs;

export interface CertificateFacts {
  /** Epoch ms; NaN where the certificate's text cannot be read. */
  readonly fromAt: number;
  readonly untilAt: number;
  /** Names it was made for, as a sentence shows them. */
  readonly names: string;
  readonly isForHost: boolean;
  readonly isSelfSigned: boolean;
}

export interface CertificateTrouble {
  readonly what: string;
  readonly remedy: string;
}

export function factsOf(certificate: PeerCertificate, host: string): CertificateFacts {
  const { subject, issuer, subjectaltname, valid_from, valid_to } = certificate;
  return {
    fromAt: Date.parse(valid_from),
    untilAt: Date.parse(valid_to),
    names: subjectaltname ?? [subject.CN].flat().join(", "),
    isForHost: checkServerIdentity(host, certificate) === undefined,
    isSelfSigned: JSON.stringify(subject) === JSON.stringify(issuer),
  };
}

/** Everything that is wrong with a certificate that was refused; `key` is the configuration's key of the address. */
export function troublesOf(
  facts: CertificateFacts,
  host: string,
  now: number,
  key: string,
): CertificateTrouble[] {
  const troubles: CertificateTrouble[] = [];
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  if (facts.untilAt < now)
    troubles.push({
      what: `the certificate expired on ${day(facts.untilAt)}`,
      remedy: "its operator must renew it (if that day is not over yet, set this computer's clock)",
    });
  if (facts.fromAt > now)
    troubles.push({
      what: `the certificate is not valid before ${day(facts.fromAt)}`,
      remedy: "set this computer's clock",
    });
  if (!facts.isForHost)
    troubles.push({
      what: `the certificate is for another name (${facts.names}) than ${host}`,
      remedy: `check the host name in ${key}`,
    });
  if (facts.isSelfSigned)
    troubles.push({
      what: "the certificate is self-signed",
      remedy:
        "if this is the right host, trust its certificate with the environment variable NODE_EXTRA_CA_CERTS; else its operator must get one from an authority",
    });
  return troubles;
}

/** Days until a good certificate ends, when that is soon; else null. */
export function endsSoon({ untilAt }: CertificateFacts, now: number): number | null {
  const left = untilAt - now;
  return left < soonMs ? Math.max(0, Math.floor(left / dayMs)) : null;
}
