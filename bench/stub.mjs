// The platform as cheaply as HTTP allows: answers consist of prepared text, so that mostly the client is measured.
// Arguments: number of controllers; `each`: that many of its own for each token, which ends with the account's number;
// `push`: channels that stay open and silent. POST /bench/freeze repeats every answer from then on, POST /bench/move
// ends that, and POST /bench/rename renames every controller.
import { createServer } from "node:http";
import { WebSocketServer } from "ws";
import { codeOf, sensors, valueAt } from "./account.mjs";

const controllers = Number(process.argv[2]);
const envelope = (data) => `{"code":200,"message":"success","data":${data}}`;

const isEach = process.argv.includes("each");
let renamed = 0;
const device = (index) =>
  `{"id":${100000 + index},"code":"${codeOf(index)}","name":"${index + 1}号日光温室${".".repeat(renamed % 2)}","deviceTypeId":"C001",` +
  `"stationId":1,"stationName":"示范园","online":true}`;
const listsOf = (first) => {
  const devices = Array.from({ length: controllers }, (_, index) => device(first + index)).join(",");
  return {
    "/api/control/mqtt": envelope(`[${devices}]`),
    "/api/device?dataType=TEXT": envelope(`[${devices}]`),
    "/api/device?dataType=STREAM": envelope("[]"),
  };
};
let listsOfAll = listsOf(0);
const listsFor = ({ token, authorization }) => {
  if (!isEach) return listsOfAll;
  const account = Number(/\d+$/.exec(token ?? authorization ?? "")?.[0] ?? 0);
  return listsOf(account * controllers);
};
const statuses = envelope('[{"name":"一级风机","deviceTypeNumber":16,"status":0}]');

const heads = sensors.map(
  ({ name, factor, unit }, index) =>
    `{"name":"${name}","factor":"${factor}","channel":${index + 1},"unit":"${unit}","value":`,
);
const answersOf = new Map();
let frozenAt = null;
let stamp = { second: 0, text: "" };
let requests = 0;

/** The platform's local time (Asia/Shanghai), computed once a second. */
function localTime() {
  const second = Math.floor((frozenAt ?? Date.now()) / 1000);
  if (second !== stamp.second) {
    const text = new Date((second + 8 * 3600) * 1000).toISOString().slice(0, 19).replace("T", " ");
    stamp = { second, text };
  }
  return stamp.text;
}

function sensorData(code) {
  const answer = (answersOf.get(code) ?? 0) + (frozenAt === null ? 1 : 0);
  answersOf.set(code, answer);
  const tail = `,"dateTime":"${localTime()}"}`;
  return envelope(`[${heads.map((head, n) => head + valueAt(sensors[n], answer) + tail).join(",")}]`);
}

function bodyFor({ url, headers }) {
  requests += 1;
  if (url.startsWith("/api/sensor-data?")) return sensorData(url.slice(url.indexOf("=") + 1));
  if (url.startsWith("/api/device_status?")) return statuses;
  if (url === "/bench/freeze") frozenAt = Date.now();
  if (url === "/bench/move") frozenAt = null;
  if (url === "/bench/rename") {
    renamed += 1;
    listsOfAll = listsOf(0);
  }
  return (
    (url.startsWith("/api/control") || url.startsWith("/api/device?") ? listsFor(headers)[url] : null) ??
    JSON.stringify({ requests })
  );
}

const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
  const body = Buffer.from(bodyFor(request));
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
});
if (process.argv.includes("push")) {
  const channels = new WebSocketServer({ noServer: true });
  server.on("upgrade", (request, socket, head) => channels.handleUpgrade(request, socket, head, () => {}));
}
server.listen(0, "127.0.0.1", () => console.log(`port ${server.address().port}`));
