import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { inspectCluster } from "../../src/cluster/inspect.js";

const info = `INFO {"server_id":"S","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576,"jetstream":true}\r\n`;

type Answers = Readonly<Record<"account" | "streams", object | null>>;

/** A server that greets, and answers requests to JetStream with these; null: not at all. */
async function greeting({ account, streams }: Answers): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let sid = "";
    socket.write(info);
    socket.setEncoding("latin1").on("data", (text) => {
      for (const line of String(text).split("\r\n")) {
        const [word, subject = "", reply = ""] = line.split(" ");
        if (word === "PING") socket.write("PONG\r\n");
        if (word === "SUB") sid = reply;
        const answer = subject === "$JS.API.INFO" ? account : streams;
        if (word !== "PUB" || answer === null) continue;
        const body = JSON.stringify({ type: "answer", ...answer });
        socket.write(`MSG ${reply} ${sid} ${body.length}\r\n${body}\r\n`);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `nats://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const refused = (code: number) => ({ error: { code: 500, err_code: code, description: "refused" } });
const known = { api: {}, limits: {} };
const noStream = refused(10_059);
const alone = "it answers, but has lost the other servers";

const looked = async (...answers: readonly Answers[]) =>
  inspectCluster(
    { nats: await Promise.all(answers.map(greeting)), name: "test", replicas: 1 },
    { account: "north", identity: "north" },
  );

it.each<[string, object | null, string | null]>([
  ["answers nothing more", null, alone],
  ["says that nobody leads", refused(10_008), alone],
  ["refuses for another reason", refused(10_050), "refused"],
  ["knows of no stream yet", known, null],
])("a server that greets and %s is looked through", async (_, account, problem) => {
  const { servers, journal, owner } = await looked({ account, streams: noStream });
  expect(servers.map((one) => one.problem && String(one.problem))).toEqual([problem]);
  expect([journal, owner]).toEqual([null, null]);
});

it("that no member has started is no server's silence, and another server is asked", async () => {
  await expect(looked({ account: known, streams: refused(10_050) })).rejects.toThrow("refused");
  const { owner } = await looked(
    { account: known, streams: refused(10_050) },
    { account: known, streams: noStream },
  );
  expect(owner).toBeNull();
});
