// node answering-flooder.mjs PORT KIND
// A server for messages to people that says more than any: whoever connects is flooded until it lets go.
import net from "node:net";

const [port = "0", kind = ""] = process.argv.slice(2);
const head = "HTTP/1.1 200 OK\r\n";
const kinds = {
  "mail-lines": ["", "220-more\r\n"],
  "mail-line": ["", "x"],
  "messenger-head": [head, "x-more: a\r\n"],
  "messenger-pieces": [`${head}transfer-encoding: chunked\r\n\r\n`, "1\r\n \r\n"],
};
const said = kinds[kind];
if (said === undefined) {
  console.error(`there is no flood ${kind}; there are ${Object.keys(kinds).join(", ")}`);
  process.exit(2);
}
const [first, again] = said;
const piece = again.repeat(Math.ceil(65_536 / again.length));
const server = net.createServer((socket) => {
  const pour = () => {
    if (socket.destroyed) return;
    if (socket.write(piece)) setImmediate(pour);
    else socket.once("drain", pour);
  };
  socket.on("error", () => undefined).on("data", () => undefined);
  socket.write(first);
  pour();
});
server.listen(Number(port), "127.0.0.1", () => console.log("listening"));
process.stdin.resume().on("end", () => process.exit(0));
