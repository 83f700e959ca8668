// (g) and (h): how many commands the bridge decides in a second, and whether its memory stays constant, with platform,
// broker and journal in memory. decision-core.mjs runs it in a process of its own.
import { writeFileSync } from "node:fs";
import { codeOf } from "./account.mjs";
import { figure } from "./figures.mjs";
import { here, newFile, start, stop, untilSays } from "./processes.mjs";
import { modules } from "./setup.mjs";

const controllers = 20;
const actuatorsEach = 5;

function configurationFile(dryRun) {
  const file = newFile("config.yaml");
  const one = (address) => ({
    ...{ kind: "circulation_fan", address: String(address) },
    ...{ settle: "0s", min_interval: "0s" },
  });
  const all = Array.from({ length: actuatorsEach }, (_, n) => [`a${n}`, one(101 + n)]);
  const platform = { business_url: "http://127.0.0.1:9", realtime_url: "http://127.0.0.1:9", token: "bench" };
  const configuration = {
    ...{ platform, data_dir: newFile("data"), commands: { dry_run: dryRun } },
    controllers: Object.fromEntries(
      Array.from({ length: controllers }, (_, n) => [codeOf(n), { actuators: Object.fromEntries(all) }]),
    ),
  };
  writeFileSync(file, JSON.stringify(configuration));
  return file;
}

export async function measureDecisions({ decisions, memoryCommands, rounds, wanted, say }) {
  const files = { deciding: configurationFile(true), sending: configurationFile(false) };
  const settings = { modules, files, controllers, actuatorsEach };
  const counts = {
    ...{ decisions, rounds: wanted("g") ? rounds : 0 },
    ...{ memoryCommands: wanted("h") ? memoryCommands : 0 },
  };
  const command = ["--expose-gc", here("./decision-core.mjs"), JSON.stringify({ ...settings, ...counts })];
  const child = start(process.execPath, command);
  const [, text] = await untilSays(child, /result (\{.*\})\n/);
  await stop(child);
  const { deciding, sending, growth } = JSON.parse(text);
  if (deciding) say(`decisions: ${Math.round(deciding.bridge.median)}/s`);
  if (growth) say(`memory over ${memoryCommands} commands: ${growth.bridge.toFixed(2)} MiB`);
  const speed = (name, { bridge, bare }, target = null) =>
    figure("g", name, "1/s", bridge.median, { bare: bare.median, range: bridge, target });
  const target = { of: "value", atLeast: 20_000 };
  const memory = () =>
    figure("h", `heap growth over ${memoryCommands} commands, after the first fifth`, "MiB", growth.bridge, {
      ...{ bare: growth.bare, ratio: null },
      target: { of: "value", atMost: 1 },
    });
  return [
    ...(deciding ? [speed("commands from message to decision", deciding, target)] : []),
    ...(sending ? [speed("commands from message to confirmed result", sending)] : []),
    ...(growth ? [memory()] : []),
  ];
}
