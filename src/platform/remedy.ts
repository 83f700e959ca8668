import type { PlatformErrorFacts } from "../greenhouse/platform-error.js";
import type { BadAnswer } from "./answer.js";
import { type FailureScene, urlKey } from "./failure.js";

/** What came and what to do about it, for one answer that is no success. */
export function remedyOf(answer: BadAnswer, facts: PlatformErrorFacts, scene: FailureScene): string {
  const key = urlKey(scene.operation);
  if (answer.kind === "unauthorized") return `${said(facts)}; ${credentialRemedy(scene)}`;
  if (answer.kind === "throttled") return `${said(facts)}; ${patience(facts)}`;
  switch (answer.what) {
    case "redirect":
      return `${redirected(answer, scene)}; redirects are not followed`;
    case "html":
      return facts.status !== undefined && facts.status >= 500
        ? `HTTP ${facts.status} with a web page; the platform is down or under maintenance, it is tried again by itself`
        : `a web page instead of data (HTTP ${facts.status ?? 200}); a maintenance page, or ${key} is not the platform's address`;
    case "empty":
      return `HTTP ${facts.status ?? 200} without a body; check that ${key} is the platform's address`;
    case "json":
      return `the answer is ${answer.detail ?? "broken JSON"}; check that ${key} is the platform's address`;
    case "encoding":
      return `the answer cannot be unpacked: ${answer.detail ?? "unknown encoding"}; check that ${key} is the platform's address`;
    case "code":
      return `the platform refused: ${said(facts)}`;
    case "status":
      return statusRemedy(facts, key);
  }
}

function statusRemedy(facts: PlatformErrorFacts, key: string): string {
  const status = facts.status ?? 0;
  if (status === 404)
    return `${said(facts)}; the host does not know this path: check ${key} (are the two hosts swapped?)`;
  if (status >= 500) return `${said(facts)}; the platform has a fault, it is tried again by itself`;
  return said(facts);
}

/** "code 500, "device busy", request 8f…", as far as the platform said so. */
function said(facts: PlatformErrorFacts): string {
  const parts = [
    facts.status === undefined || (facts.status === 200 && facts.code !== undefined)
      ? null
      : `HTTP ${facts.status}`,
    facts.code === undefined ? null : `code ${facts.code}`,
    facts.platformMessage === undefined ? null : JSON.stringify(facts.platformMessage),
    facts.requestId === undefined ? null : `request ${facts.requestId}`,
  ];
  return parts.filter((part) => part !== null).join(", ");
}

function credentialRemedy({ operation, credentialKey }: FailureScene): string {
  if (operation.name === "account/sign-in") return "check the account and password in platform.sign_in.body";
  return `the token is missing, wrong or expired (check ${credentialKey}), or the operator must first register this machine's address`;
}

function patience(facts: PlatformErrorFacts): string {
  const { retryAfterMs } = facts;
  const wait = retryAfterMs === undefined ? "" : ` It asks to wait ${Math.ceil(retryAfterMs / 1000)} s.`;
  return `the platform says there are too many requests; lower platform.requests_per_minute or lengthen the polling intervals.${wait}`;
}

function redirected(answer: BadAnswer, { operation, url }: FailureScene): string {
  const key = urlKey(operation);
  if (answer.detail === null) return `a redirect without a usable target; check ${key}`;
  const isUpgrade = url.protocol === "http:" && answer.detail.startsWith("https:");
  return isUpgrade
    ? `the host wants https: set ${key} to ${answer.detail}${url.pathname === "/" ? "" : url.pathname}`
    : `a redirect to ${answer.detail}: if that is the platform, set ${key} to it`;
}
