// Runs every command of the documents for users as it stands there, in a folder and a network of its own: `.ci/commands-check`
// calls it. What is not run says why.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const main = join(root, "dist/main.js");

/** Why a command is not run here. */
const notRun = [
  [
    /^docker /,
    "it needs Docker; .ci/dockerfile-check makes and runs the images, test/deploy reads the Compose files",
  ],
  [/^(?:systemd-\S+|ln) /, "it seals secrets with the key of this computer, and no check does"],
  [
    /^(?:apt-get|touch|chmod|chown|install|mosquitto_passwd) /,
    "changes the computer; test/deploy/mosquitto.e2e.ts has the same files",
  ],
  [/^sed -E /, "test/deploy/mosquitto.e2e.ts runs it"],
  [
    /^(?:sudo|systemctl|journalctl|timedatectl|node --version)|\| sudo tee /,
    "changes the computer; .ci/systemd-check runs those of a service",
  ],
  [/^npm /, ".ci/run and .ci/package-check run it"],
  [/^ssh /, "it needs a second computer"],
  [/^(?:gh|git|diff|sha256sum|bash build\/)/, "it needs a release; .ci/release-check makes one"],
  [/^bash deploy\//, ".ci/dockerfile-check runs it"],
  [/^(?:mkdir|mv|cp) /, "it moves files of the reader"],
  [/^greenhouse2mqtt (?:run|simulate|demo)\b/, "the check itself has started it"],
  [/^greenhouse2mqtt init/, "it asks a person, or writes to /etc; test/cli/init.test.ts"],
  [/^greenhouse2mqtt .*(?:--watch|--listen)/, "it waits for a person; test/setup"],
  [/^greenhouse2mqtt .*fleet/, "it needs a fleet; test/fleet"],
  [/^greenhouse2mqtt journal (?:import|export)/, "it needs a cluster; test/cluster"],
  [/^greenhouse2mqtt notify/, "it sends to people; test/notify"],
  [/^greenhouse2mqtt alarms --acknowledge/, "it needs an alarm; test/end-to-end/storm.test.ts"],
  [/^greenhouse2mqtt --version$/, ".ci/package-check runs it"],
];

/** Commands that end otherwise than with 0, as the page says. */
const ends = [
  [/left_skylight open --by ben$/, 3],
  [/^greenhouse2mqtt cleanup$/, 1],
  // A bridge is there, and nothing is overwritten; test/backup restores where there is none.
  [/^greenhouse2mqtt restore/, 2],
];

const isCommand =
  /^(?:sudo|npm|node|mkdir|mv|cp|ln|echo|sed|touch|chmod|chown|install|apt-get|docker|ssh|curl|gh|git|diff|bash|sha256sum|systemctl|systemd-\S+|journalctl|timedatectl|greenhouse2mqtt|mosquitto_\w+)(?: |$)/;

/** The simulated platform is made to misbehave by its page, so that comes last. */
const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md") && name !== "simulator.md")
    .map((name) => `docs/${name}`),
  "docs/simulator.md",
  ...readdirSync(join(root, "deploy"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `deploy/${name}`),
];

function commandsOf(page) {
  const text = readFileSync(join(root, page), "utf8");
  const blocks = [...text.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)].filter(
    ([, language]) => language === "",
  );
  return blocks.flatMap(([, , code]) => {
    const lines = code
      .replace(/\\\n\s*/g, "")
      .split("\n")
      .map((line) => line.trim());
    const isSession = lines.some((line) => line.startsWith("$ "));
    return lines
      .filter((line) => !isSession || line.startsWith("$ "))
      .map((line) => line.replace(/^\$ /, ""))
      .filter((line) => isCommand.test(line));
  });
}

const configuration = `platform:
  business_url: http://127.0.0.1:8090
  realtime_url: http://127.0.0.1:8090
  token: !env GREENHOUSE_TOKEN
mqtt: { url: mqtt://127.0.0.1:1883 }
data_dir: ./data
controllers:
  GH-0001:
    actuators:
      left_skylight: { kind: skylight, address: 101, travel_time: 3s }
      right_skylight: { kind: skylight, address: 103, travel_time: 3s }
      roof_fans: { kind: fan_wet_curtain, address: 140 }
      valve_1: { kind: irrigation, address: 210 }
      grow_light: { kind: light, address: 220 }
    parameters:
      ec_target: { address: 501, scale: 0.01, decimals: 2, writable: { min: 0, max: 5, step: 0.1 } }
groups: { skylights: { members: [GH-0001/left_skylight, GH-0001/right_skylight] } }
scenes: { night: { commands: { group/skylights: close, GH-0001/grow_light: off } } }
`;

const home = mkdtempSync(join(tmpdir(), "greenhouse2mqtt-commands-"));
const bin = join(home, "bin");
mkdirSync(bin);
writeFileSync(join(bin, "greenhouse2mqtt"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`, {
  mode: 0o755,
});
writeFileSync(join(home, "config.yaml"), configuration, { mode: 0o600 });
writeFileSync(join(home, "password.txt"), "correct horse battery staple\n", { mode: 0o600 });
writeFileSync(join(home, "mosquitto.conf"), "listener 1883 127.0.0.1\nallow_anonymous true\n");
const env = {
  ...process.env,
  PATH: `${bin}:${process.env.PATH}`,
  HOME: home,
  LANG: "C.UTF-8",
  GREENHOUSE_TOKEN: "simulator",
};
const shell = (line, seconds) =>
  spawnSync("timeout", [String(seconds), "bash", "-c", line], { cwd: home, env, encoding: "utf8" });

const started = [
  ["mosquitto", ["-c", "mosquitto.conf"]],
  ["greenhouse2mqtt", ["simulate", "--controllers", "3", "--language", "en", "--speed", "60"]],
  ["greenhouse2mqtt", ["run", "--log-level", "warn"]],
].map(([command, options]) => spawn(command, options, { cwd: home, env, stdio: "ignore" }));

function untilReady() {
  for (let tries = 0; tries < 60; tries++)
    if (shell("mosquitto_sub -t greenhouse/bridge/state -C 1 -W 1 | grep -q online", 3).status === 0) return;
  throw new Error("the bridge is not online within a minute");
}

function outcomeOf(line) {
  const [, reason] = notRun.find(([pattern]) => pattern.test(line)) ?? [];
  if (reason !== undefined) return { isWrong: false, said: `not run: ${reason}` };
  const [, expected = 0] = ends.find(([pattern]) => pattern.test(line)) ?? [];
  const [, file] = / -o (\S+)/.exec(line) ?? [];
  if (file !== undefined) rmSync(join(home, file), { force: true });
  const listens = line.startsWith("mosquitto_sub");
  const { status, stderr } = shell(line, listens ? 4 : 300);
  // A listener is ended by us; one with -W by itself.
  const isWrong = listens ? ![0, 27, 124].includes(status) : status !== expected;
  return { isWrong, said: isWrong ? `ended with ${status}: ${stderr.trim().split("\n").at(-1)}` : "ok" };
}

let wrong = 0;
let run = 0;
try {
  untilReady();
  for (const page of pages)
    for (const line of commandsOf(page)) {
      const { isWrong, said } = outcomeOf(line);
      wrong += Number(isWrong);
      run += Number(said === "ok");
      console.log(`${isWrong ? "WRONG " : ""}${page}: ${line}\n  ${said}`);
    }
} finally {
  // One that ends still writes into the folder.
  const running = started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  const gone = running.map((one) => once(one, "exit"));
  for (const one of running) one.kill();
  await Promise.all(gone);
  rmSync(home, { recursive: true, force: true });
}
console.log(`${run} commands of the documents ran, ${wrong} ended otherwise than they should`);
if (wrong > 0 || run < 30) process.exitCode = 1;
