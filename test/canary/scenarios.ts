import { type RefusalName, refusals } from "./hostile-broker.js";
import { type AnswerName, answers } from "./hostile-platform.js";
import { secrets, userHash } from "./secrets.js";

/* What fails in how many ways: a table of credentials, places and commands. */

type Credential = "token" | "token from env" | "token file" | "sign-in" | "signed in";

export interface Scenario {
  readonly name: string;
  /** The words behind the program's name; `bridge` runs the bridge itself. */
  readonly command: readonly string[] | "bridge" | "crash";
  readonly platform?: AnswerName;
  readonly broker?: RefusalName;
  readonly credential: Credential;
  /** Instead of the usual configuration. */
  readonly configuration?: string;
  readonly secretsFile?: string;
  /** What nobody catches in it. */
  readonly crash?: string;
  /** Whoever has configured it wants the address of the video stream, on `info` and in Home Assistant. */
  readonly hasStream?: boolean;
}

const commands: readonly (readonly string[] | "bridge")[] = [
  "bridge",
  ["doctor"],
  ["doctor", "--redact"],
  ["doctor", "--bundle", "bundle.json"],
  ["doctor", "--json", "--record", "recorded"],
  ["discover", "-o", "found.yaml"],
  ["read", "GH-0001", "101"],
  ["get", "device"],
  ["set", "GH-0001", "roof", "open"],
  ["notify", "--test"],
];
const wordsOf = (command: Scenario["command"]) => (typeof command === "string" ? command : command.join(" "));
const names = <Name extends string>(table: Readonly<Record<Name, unknown>>) => Object.keys(table) as Name[];
const credentials: readonly Credential[] = ["token", "token from env", "token file", "sign-in", "signed in"];

/** Each answer with each command; the credential goes round, the bridge meets all of them. */
const platformScenarios = names(answers).flatMap((platform, row) =>
  commands.flatMap((command, column): readonly Scenario[] =>
    (command === "bridge"
      ? credentials
      : [0, 2].map((more) => credentials[(row + column + more) % 5] ?? "token")
    ).map((credential) => ({
      name: `${wordsOf(command)}: ${platform}, ${credential}`,
      ...{ command, platform, credential },
    })),
  ),
);

const brokerScenarios = names(refusals).flatMap((broker) =>
  (
    [
      "bridge",
      ["doctor"],
      ["doctor", "--redact"],
      ["set", "GH-0001", "roof", "open"],
      ["cleanup", "--all"],
    ] as const
  ).map((command): Scenario => ({
    name: `${wordsOf(command)}: ${broker}`,
    command,
    broker,
    credential: "token",
  })),
);

const yaml = (platform: string, more = "") =>
  `platform:\n  business_url: http://127.0.0.1:9\n  realtime_url: http://127.0.0.1:9\n${platform}${more}`;

/** Mistakes with a secret in the place of the mistake. */
const mistakes: Readonly<Record<string, (secret: string) => string>> = {
  "in a number's place": (secret) => yaml(`  token: x\n  concurrency: ${secret}\n`),
  "in a duration's place": (secret) => yaml("  token: x\n", `polling: { sensors: ${secret} }\n`),
  "as a list": (secret) => yaml(`  token: [${secret}, ${secret}]\n`),
  "as an object": (secret) => yaml(`  token: { value: ${secret} }\n`),
  "with an open quote": (secret) => yaml(`  token: "${secret}\n`),
  "twice the same key": (secret) => yaml(`  token: ${secret}\n  token: ${secret}\n`),
  "under a misspelt key": (secret) =>
    yaml(`  tokn: ${secret}\n`, `mqtt: { url: "mqtt://127.0.0.1:9", pasword: ${secret} }\n`),
  "with a wrong tag": (secret) => yaml(`  token: !secrte ${secret}\n`),
  "as the name of an env variable": (secret) => yaml(`  token: !env "${secret}  "\n`, "mqtt: { url: 7 }\n"),
  "in a URL": (secret) =>
    yaml("  token: x\n", `mqtt: { url: "mqtt://user:${secret}@127.0.0.1:9", clean: 1 }\n`),
  "in the platform's URL": (secret) =>
    `platform: { business_url: "http://u:${secret}@x", realtime_url: 7, token: x }\n`,
  "with two credentials": (secret) =>
    yaml(`  token: ${secret}\n  sign_in: { body: { password: ${secret} } }\n`),
  "as a short http token": (secret) => yaml("  token: x\n", `http: { host: 0.0.0.0, token: [${secret}] }\n`),
  "of a user": (secret) =>
    yaml("  token: x\n", `broker: { users: [{ username: a, password: { x: "${secret}" } }] }\n`),
  "of a user as plain text at large": (secret) =>
    yaml("  token: x\n", `broker: { host: 0.0.0.0, users: [{ username: a, pasword: "${secret}" }] }\n`),
  "behind a bad indent": (secret) => yaml(`  token: ${secret}\n   bad: ${secret}\n`),
  "as an alias": (secret) => yaml(`  token: &t ${secret}\n`, "mqtt: { password: *u }\n"),
};
const planted = { ...secrets, userHash };
const configurationScenarios = Object.entries(mistakes).flatMap(([place, text], row) =>
  [0, 3].map((more): Scenario => {
    const [name = "", secret = ""] =
      Object.entries(planted)[(row + more) % Object.keys(planted).length] ?? [];
    const command = [["check"], ["doctor"], ["run"], ["doctor", "--json"]][(row + more) % 4] ?? ["check"];
    return {
      name: `${wordsOf(command)}: ${name} ${place}`,
      ...{ command, credential: "token", configuration: text(secret) },
    };
  }),
);

const secretsFiles: Readonly<Record<string, string>> = {
  "broken secrets.yaml": `token: "${secrets.token}\n`,
  "a list in secrets.yaml": `- ${secrets.token}\n- ${secrets.brokerPassword}\n`,
  "an object in secrets.yaml": `token: { is: ${secrets.token} }\n`,
  "a key twice in secrets.yaml": `token: ${secrets.token}\ntoken: ${secrets.token}\n`,
  "no such name in secrets.yaml": `tokn: ${secrets.token}\n`,
};
const secretsFileScenarios = Object.entries(secretsFiles).map(([name, secretsFile]): Scenario => ({
  name: `check: ${name}`,
  ...{ command: ["check"], credential: "token", secretsFile },
  configuration: yaml("  token: !secret token\n"),
}));

const crashScenarios = (Object.keys(secrets) as (keyof typeof secrets)[])
  .filter((name) => !["signedInToken", "refreshToken", "streamAddress"].includes(name))
  .flatMap((name) =>
    ["in its message", "in its cause", "as what was thrown"].map((place): Scenario => ({
      name: `crash: an error with the ${name} ${place}`,
      command: "crash",
      credential: name === "accountPassword" ? "sign-in" : "token",
      crash: `${place}: ${secrets[name]}`,
    })),
  );

const streamScenarios = (["bridge", ["doctor"], ["doctor", "--bundle", "bundle.json"]] as const).map(
  (command): Scenario => ({
    name: `${wordsOf(command)}: 200 with names, its video stream wanted`,
    ...{ command, platform: "200 with names", credential: "token", hasStream: true },
  }),
);

export const scenarios: readonly Scenario[] = [
  ...streamScenarios,
  ...platformScenarios,
  ...brokerScenarios,
  ...configurationScenarios,
  ...secretsFileScenarios,
  ...crashScenarios,
  { name: `journal: a controller called like a secret`, command: ["journal", "--json"], credential: "token" },
];
