// ad hoc
import { spawn } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readFileSync } from "node:fs";
import mqtt from "mqtt";
const [kind, seconds = "8", broker = "mosquitto"] = process.argv.slice(2);
const root = new URL("../..", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "floods-"));
const kids = [];
process.on("exit", () => kids.forEach((k) => k.kill("SIGKILL")));
const start = (cmd, args, cwd = folder) => {
  const c = spawn(cmd, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
  c.out = "";
  c.err = "";
  c.stdout.on("data", (d) => (c.out += d));
  c.stderr.on("data", (d) => (c.err += d));
  kids.push(c);
  return c;
};
const wait = (ms) => new Promise((r) => setTimeout(r, ms));
const base = 15000 + (process.pid % 500) * 10;
const sim = start("node", [
  join(root, "dist/main.js"),
  "simulate",
  "--port",
  String(base),
  "--controllers",
  "24",
]);
if (broker === "mosquitto") {
  writeFileSync(join(folder, "m.conf"), `user root\nlistener ${base + 1} 127.0.0.1\nallow_anonymous true\n`);
  start("mosquitto", ["-c", join(folder, "m.conf")]);
}
await wait(1500);
const codes = Array.from({ length: 24 }, (_, i) => i + 1)
  .filter((n) => n % 8 !== 2)
  .map((n) => `GH-${String(n).padStart(4, "0")}`);
const cfg = {
  platform: {
    business_url: `http://127.0.0.1:${base}`,
    realtime_url: `http://127.0.0.1:${base}`,
    token: "t",
    requests_per_minute: 0,
  },
  ...(broker === "mosquitto"
    ? { mqtt: { url: `mqtt://127.0.0.1:${base + 1}` } }
    : { broker: { port: base + 1, websocket_port: base + 3 } }),
  http: {
    port: base + 2,
    ...(kind.startsWith("mdns")
      ? { host: "vm", users: [{ username: "anna", password: "a-long-password-of-anna", role: "operator" }] }
      : kind === "page-logins"
        ? {
            users: [
              {
                username: "anna",
                password: "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
                role: "operator",
              },
            ],
          }
        : {}),
  },
  data_dir: "./data",
  polling: { controllers: "5m", sensors: "1m", running_status: "5m", actuators: "1m" },
  controllers: Object.fromEntries(
    codes.map((c) => [
      c,
      { actuators: { motor: { kind: "motor", address: "300", values: { open: "00000001" } } } },
    ]),
  ),
};
writeFileSync(join(folder, "config.yaml"), JSON.stringify(cfg), { mode: 0o600 });
const bridge = start("node", [
  join(root, "dist/main.js"),
  "run",
  "-c",
  "config.yaml",
  "--log-level",
  process.env.LEVEL ?? "info",
]);
for (
  let i = 0;
  i < 60 &&
  !(await fetch(`http://127.0.0.1:${base + 2}/readyz`).then(
    (r) => r.ok,
    () => false,
  ));
  i++
)
  await wait(250);
await wait(2000);
const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${base + 1}`);
const cpu = () => {
  const f = readFileSync(`/proc/${bridge.pid}/stat`, "utf8").split(" ");
  return (Number(f[13]) + Number(f[14])) / 100;
};
const rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${bridge.pid}/status`, "utf8"))[1]) / 1024;
const sent = new Map();
let n = 0;
const stops = async (ms) => {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const code = codes[n % codes.length];
    const id = `s${n++}`;
    sent.set(id, { at: Date.now(), code });
    client.publish(
      `greenhouse/${code.toLowerCase()}/actuator/motor/set`,
      JSON.stringify({ command: "stop", id }),
      { qos: 1 },
    );
    await wait(200);
  }
};
await stops(2000);
const from = n,
  cpu0 = cpu(),
  t0 = Date.now();
let most = 0;
const watch = setInterval(() => {
  try {
    most = Math.max(most, rss());
  } catch {}
}, 200);
let flooder = null;
if (kind !== "none")
  flooder = start("node", [
    new URL("flooder.mjs", import.meta.url).pathname,
    kind,
    String(kind.startsWith("broker") ? (kind.startsWith("broker-web") ? base + 3 : base + 1) : base + 2),
    seconds,
    process.argv[5] ?? "2",
  ]);
await wait(500);
await stops(Number(seconds) * 1000 - 500);
const used = (cpu() - cpu0) / ((Date.now() - t0) / 1000);
const to = n;
await wait(6000);
clearInterval(watch);
const posts = await (await fetch(`http://127.0.0.1:${base}/_simulator/posts`)).json();
const lat = [...sent]
  .slice(from, to)
  .map(([id, { at, code }]) => {
    const p = posts.find((x) => x.code === code && x.address === "300" && x.at >= at - 5);
    return p ? p.at - at : Infinity;
  })
  .sort((a, b) => a - b);
const calm = [...sent]
  .slice(0, from)
  .map(([id, { at, code }]) => {
    const p = posts.find((x) => x.code === code && x.address === "300" && x.at >= at - 5);
    return p ? p.at - at : Infinity;
  })
  .sort((a, b) => a - b);
const q = (l, p) => l[Math.min(l.length - 1, Math.floor(l.length * p))];
console.log(
  kind.padEnd(22),
  `calm p50 ${q(calm, 0.5)} | n ${lat.length} p50 ${q(lat, 0.5)} p90 ${q(lat, 0.9)} p99 ${q(lat, 0.99)} max ${lat.at(-1)} lost ${lat.filter((x) => x === Infinity).length} | cpu ${used.toFixed(2)} rss max ${Math.round(most)} | flooder ${flooder?.out.trim()}${flooder?.err.trim().slice(0, 200)}`,
);
const said = bridge.err
  .split("\n")
  .filter((l) => /"level":(40|50)|flood|disconnected/.test(l))
  .slice(0, 12);
if (said.length) console.log("   ", said.join("\n    ").slice(0, 2500));
process.exit(0);
