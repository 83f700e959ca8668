import { lazy } from "../runtime/lazy.js";
import type { Core } from "../feature/core.js";
import type { Feature } from "../feature/feature.js";
import { privateAs } from "../runtime/redaction.js";
import { plainPasswords, soundUsers } from "../settings/users.js";
import { withDefault } from "../settings/values.js";
import type { Shown } from "./part.js";
import { fleetListener, type HttpSection, httpSection, openDoubts, usablePage } from "./section.js";

const keys = {
  http: withDefault(httpSection, {}, "Health, metrics and the page; `http: false` turns it off."),
};

const code = lazy(() => import("./part.js"));

/** Health checks, metrics and the page. */
export const http = {
  keys,
  /** The section for one page of all accounts of a fleet. */
  ofFleet: fleetListener,
  /** The page's address as other machines reach it; undefined where none is known. */
  addressOf: async (section: HttpSection) =>
    section === false ? undefined : (await import("./access.js")).reachableAt(section),
  /** Where a person finds the page, and who may command there. */
  pageAddress: () => import("./page-address.js"),
  /** The answers of a cluster member while another one runs the account. */
  standby: () => import("./standby-site.js"),
  /** The page that makes the first configuration. */
  setup: () => import("./setup-site.js"),
  load: async (configuration) => {
    const { loadOwner, loadPage } = await code();
    await Promise.all([loadOwner(), configuration.http === false ? null : loadPage()]);
  },
  /** Loads the page's code for a bridge that a page of several accounts shows. */
  loadPage: async () => (await code()).loadPage(),
  checks: async () => (await import("./doctor.js")).pageChecks,
  /** Serves what the core and all other features show, to browsers and to the command line of the same user. */
  serve: async (core: Core, section: HttpSection, shown: Shown) =>
    (await code()).servePage(core, section, shown),
  errors: (root) => [...soundUsers(root, "http"), ...usablePage(root)],
  doubts: (configuration) =>
    configuration.http === false
      ? []
      : [...plainPasswords("http", configuration.http.users), ...openDoubts(configuration.http)],
  privateTexts: (configuration) => {
    if (configuration.http === false) return [];
    const { host, allowed_hosts: names, ingress, users } = configuration.http;
    const usernames = users.map(({ username }) => username);
    return [...privateAs("host", [host, ...names, ingress.address]), ...privateAs("user", usernames)];
  },
} satisfies Feature<typeof keys> &
  Readonly<
    Record<"ofFleet" | "addressOf" | "pageAddress" | "standby" | "setup" | "serve" | "loadPage", unknown>
  >;
