import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

/* What a bridge needs around it: a simulated platform, and Mosquitto with the access list of deploy/. */

const password = "a-password-of-the-check";
const set = "greenhouse/gh-0001/actuator/left_skylight/set";
const result = "greenhouse/gh-0001/actuator/left_skylight/result";

export async function startSurroundings(pod, stage, work) {
  const folder = join(work, "around");
  mkdirSync(folder, { recursive: true });
  const broker = await startMosquitto(pod, folder);
  // The image's own program is the platform too.
  const arguments_ = ["simulate", "--port", "8090", "--speed", "10", "--controllers", "2"];
  const main = ["chroot", stage.root, "node", "/app/dist/main.js"];
  const platform = pod.start([...main, ...arguments_]);
  await platform.printed(/left_skylight/);
  const { url, token, actuator } = platformOf(platform.output());
  const client = (user) => ["-h", "127.0.0.1", "-u", user, "-P", password];
  return {
    files: {
      "config.yaml": JSON.stringify(configurationFor(url), null, 1)
        .replace('"SECRET_TOKEN"', "!secret platform_token")
        .replace('"SECRET_PASSWORD"', "!secret mqtt_password"),
      "secrets.yaml": `platform_token: ${JSON.stringify(token)}\nmqtt_password: ${password}\n`,
    },
    options: {
      ...{ business_url: url, realtime_url: url, token, language: "zh", read_only: false, log_level: "info" },
      sign_in: [],
      actuators: [{ controller: "GH-0001", id: "left_skylight", kind: "skylight", ...actuator }],
    },
    supervisorToken: "of-the-supervisor",
    supervisor: () => startSupervisor(pod, folder),
    online: async () => {
      const watch = pod.start(["mosquitto_sub", ...client("dashboard"), "-t", "greenhouse/bridge/state"]);
      await watch.printed(/^online$/m);
    },
    move: async () => {
      const watch = pod.start([
        "mosquitto_sub",
        ...client("dashboard"),
        "-v",
        "-t",
        result,
        "-t",
        "greenhouse/+/availability",
      ]);
      await watch.printed(/gh-0001\/availability online/);
      pod.run(["mosquitto_pub", ...client("operator"), "-q", "1", "-t", set, "-m", "45"]);
      const [, json] = await watch.printed(/left_skylight\/result (\{.*\})\n/, 60_000);
      return JSON.parse(json);
    },
    loseBroker: async () => {
      broker.child.kill("SIGKILL");
      await broker.ended;
    },
  };
}

async function startMosquitto(pod, folder) {
  for (const user of ["bridge", "homeassistant", "operator", "dashboard"]) {
    const file = join(folder, "passwords");
    spawnSync("sh", ["-c", `touch ${file} && mosquitto_passwd -b ${file} ${user} ${password}`]);
  }
  const settings = readFileSync("deploy/compose/mosquitto/mosquitto.conf", "utf8")
    .replace("/mosquitto/config/passwords", join(folder, "passwords"))
    .replace("/mosquitto/config/acl", "deploy/mosquitto/acl")
    .replace("persistence true", "persistence false");
  const file = join(folder, "mosquitto.conf");
  writeFileSync(file, `user root\n${settings}`);
  const broker = pod.start(["mosquitto", "-c", file]);
  await broker.printed(/ running/);
  return broker;
}

function platformOf(lines) {
  const { platform, controllers } = parse(lines.slice(lines.indexOf("platform:")));
  const { address, travel_time } = controllers["GH-0001"].actuators.left_skylight;
  return {
    url: platform.business_url,
    token: platform.token,
    actuator: { address: String(address), travel_time },
  };
}

const configurationFor = (url) => ({
  platform: { business_url: url, realtime_url: url, token: "SECRET_TOKEN" },
  mqtt: { url: "mqtt://127.0.0.1:1883", username: "bridge", password: "SECRET_PASSWORD" },
  controllers: {
    "GH-0001": { actuators: { left_skylight: { kind: "skylight", address: "101", travel_time: "30s" } } },
  },
});

/** Answers as Home Assistant's Supervisor does to an app that asks for the MQTT service. */
async function startSupervisor(pod, folder) {
  const data = { host: "127.0.0.1", port: 1883, ssl: false, username: "bridge", password, protocol: "3.1.1" };
  const file = join(folder, "supervisor.mjs");
  writeFileSync(
    file,
    `import { createServer } from "node:http";
createServer((request, response) => {
  const isKnown = request.url === "/services/mqtt" && request.headers.authorization === "Bearer of-the-supervisor";
  response.writeHead(isKnown ? 200 : 403).end(JSON.stringify(isKnown ? { result: "ok", data: ${JSON.stringify(data)} } : {}));
}).listen(8080, "127.0.0.1", () => console.log("listening"));
`,
  );
  const server = pod.start(["node", file]);
  await server.printed(/listening/);
  return "http://127.0.0.1:8080";
}
