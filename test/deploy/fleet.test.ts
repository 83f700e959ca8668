import { cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { loadFleet, ownAccounts } from "../../src/config/fleet.js";
import { formatProblem } from "../../src/settings/problem.js";
import { hashPassword } from "../../src/runtime/passwords.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { composeProblems, liberties, servicesOf } from "./support/compose-rules.js";
import { inProject, textOf } from "./support/project.js";

/* The schemas of others are asked by .ci/fleet-check. */

const fleet = "deploy/fleet";

/** What stands in a file of the manifests, by kind. */
async function manifests(): Promise<Readonly<Record<string, unknown>>> {
  const documents = parseAllDocuments(await textOf(`${fleet}/kubernetes/members.yaml`));
  return Object.fromEntries(
    documents.map((one) => {
      const value = one.toJS() as { readonly kind: string };
      return [value.kind, value];
    }),
  );
}

/** Problems and warnings of the files, once secrets are there. */
async function problemsOf(folder: string): Promise<readonly string[]> {
  const files = await loadFleet(join(folder, "fleet.yaml"), { env: {}, dataDir: join(folder, "data") });
  expect([...ownAccounts(files).keys()]).toEqual(["north"]);
  return [...files.problems, ...files.warnings].map(formatProblem);
}

const secrets = async () =>
  `mqtt_password: p-1\nnats: "bridge:p-2"\nanna: "${await hashPassword("a long enough password")}"\n`;
const secret = { mode: 0o600 } as const;

describe("Compose", () => {
  it("has keys of the Compose specification only, and gives no part a liberty that it does not need", async () => {
    const compose: unknown = parse(await textOf(`${fleet}/compose/compose.yaml`), { merge: true });
    expect(composeProblems(compose)).toEqual([]);
    const services = servicesOf(compose);
    expect(Object.keys(services)).toEqual(["nats1", "nats2", "nats3", "mosquitto", "member1", "member2"]);
    for (const [name, service] of Object.entries(services))
      expect([name, liberties(service)]).toEqual([name, name.startsWith("nats") ? ["it runs as root"] : []]);
    for (const name of ["member1", "member2"])
      expect(services[name]?.healthcheck?.test.join(" ")).toContain("/livez");
  });

  it("comes with files that pass `check`", async () => {
    const folder = await tempFolder();
    await mkdir(join(folder, "accounts"), { recursive: true });
    await cp(inProject(`${fleet}/compose/fleet.example.yaml`), join(folder, "fleet.yaml"));
    await cp(inProject(`${fleet}/compose/north.example.yaml`), join(folder, "accounts/north.yaml"));
    await writeFile(join(folder, "secrets.yaml"), await secrets(), secret);
    await writeFile(join(folder, "accounts/secrets.yaml"), "north_token: t-1\n", secret);
    expect(await problemsOf(folder)).toEqual([]);
  });
});

describe("the manifests for Kubernetes", () => {
  it("restart a member that does not answer, and none for its broker, platform or NATS", async () => {
    const { StatefulSet } = await manifests();
    const asks = (path: string) => ({ httpGet: { path, port: "http" } });
    expect(StatefulSet).toMatchObject({
      spec: {
        template: {
          spec: {
            containers: [
              {
                livenessProbe: asks("/livez"),
                startupProbe: asks("/livez"),
                readinessProbe: asks("/readyz"),
                securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
              },
            ],
          },
        },
      },
    });
  });

  it("let one member go at a time", async () => {
    const { PodDisruptionBudget, StatefulSet } = await manifests();
    expect(PodDisruptionBudget).toMatchObject({ spec: { maxUnavailable: 1 } });
    const { selector } = (PodDisruptionBudget as { spec: { selector: object } }).spec;
    expect(StatefulSet).toMatchObject({ spec: { selector } });
  });

  it("come with files that pass `check` as Kubernetes lays them: links to links, readable by the group", async () => {
    const root = await tempFolder();
    const lay = async (name: string, files: Readonly<Record<string, string>>) => {
      await mkdir(join(root, name, "..now"), { recursive: true });
      await symlink("..now", join(root, name, "..data"));
      for (const [file, text] of Object.entries(files)) {
        await writeFile(join(root, name, "..now", file), text, { mode: 0o440 });
        await symlink(`..data/${file}`, join(root, name, file));
      }
    };
    const read = (file: string) => readFile(inProject(`${fleet}/kubernetes/${file}`), "utf8");
    await lay("fleet", { "fleet.yaml": await read("fleet.yaml"), "secrets.yaml": await secrets() });
    await lay("accounts", {
      "north.yaml": await read("north.yaml"),
      "secrets.yaml": await read("account-secrets.yaml"),
    });
    expect(await problemsOf(join(root, "fleet"))).toEqual([]);
  });

  it("name the secrets that the files want", async () => {
    const given: unknown = parse(await textOf(`${fleet}/kubernetes/secrets.yaml`));
    expect(Object.keys(given as object)).toEqual(["mqtt_password", "anna", "nats"]);
  });
});
