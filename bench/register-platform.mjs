// A platform that answers every command at once, in this process, so that one clock measures all arrivals.
import { createServer } from "node:http";
import { sensors, valueAt } from "./account.mjs";

const envelope = (data) => `{"code":200,"message":"success","requestId":"r","data":${data}}`;

/**
 * Starts it for these controllers. `posted` is called with {code, address, value, at} as each POST arrives; `at` is
 * performance.now(). POSTs to the controller `silent` are neither carried out nor answered. `counted`, if set, is
 * called at each read of an address from 500 on, which shows a new number each time. From `pause` to `resume` nothing
 * listens. `hasSensors`: each has the twelve of the account; from `isCold` on each shows the least of its values.
 */
export async function startRegisterPlatform(...codes) {
  const registers = new Map();
  const devices = codes.map((code) => ({ code, name: code, deviceTypeId: "C001", online: true }));
  const list = envelope(JSON.stringify(devices));
  const platform = {
    ...{ url: "", posts: 0, silent: null, counted: null, hasSensors: false, isCold: false },
    ...{ posted: () => undefined, stop: () => undefined },
  };
  let reads = 0;
  const keyOf = (code, address) => `${code}/${address}`;

  const measured = () => {
    reads += 1;
    const dateTime = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 19).replace("T", " ");
    return sensors.map(({ name, factor, unit, ...sensor }, index) => ({
      ...{
        name,
        factor,
        unit,
        channel: index + 1,
        value: valueAt(sensor, platform.isCold ? 0 : 1 + (reads % 90)),
        dateTime,
      },
    }));
  };

  const bodyFor = (url) => {
    const { pathname, searchParams } = new URL(url, "http://platform");
    if (pathname === "/api/mqtt-client-status") return envelope('{"status":1}');
    if (pathname === "/api/get-value") {
      const address = searchParams.get("address");
      if (Number(address) >= 500) {
        reads += 1;
        platform.counted?.(address, reads);
        return envelope(JSON.stringify({ [address]: String(reads) }));
      }
      return envelope(
        JSON.stringify({
          [address]: registers.get(keyOf(searchParams.get("deviceCode"), address)) ?? "1001",
        }),
      );
    }
    if (pathname === "/api/sensor-data" && platform.hasSensors) return envelope(JSON.stringify(measured()));
    return pathname === "/api/control/mqtt" || pathname === "/api/device" ? list : envelope("[]");
  };
  const send = (response, body) => {
    response.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    });
    response.end(body);
  };
  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    const at = performance.now();
    if (request.method === "GET") return send(response, bodyFor(request.url));
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const { deviceCode: code, address, value } = JSON.parse(Buffer.concat(chunks).toString());
      if (code !== platform.silent) {
        registers.set(keyOf(code, address), value);
        platform.posts += 1;
        send(response, envelope("null"));
      }
      platform.posted({ code, address: String(address), value, at });
    });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  platform.url = `http://127.0.0.1:${server.address().port}`;
  const { port } = server.address();
  platform.pause = () => {
    server.closeAllConnections();
    server.close();
  };
  platform.resume = () => server.listen(port, "127.0.0.1");
  platform.stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return platform;
}
