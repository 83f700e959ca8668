/* Bugs planted into a copy of the built program, each with the rows that must find it. */

export interface PlantedBug {
  readonly name: string;
  /** File below `dist`, a text that occurs in it exactly once, and what takes its place. */
  readonly file: string;
  readonly text: string;
  readonly replacement: string;
  /** Rows and lanes to run, as regular expressions. */
  readonly rows: string;
  readonly lanes: string;
  /** The figure of the report that must not be 0. */
  readonly found: "lostCommands" | "wrongStates" | "badPosts";
}

const lane = "^embedded-5$";

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "an optimistic state: the value sent is published as if it had been read",
    file: "commands/send-step.js",
    text: "        signals.onSettling(facts);\n        return confirmed(",
    replacement: `        ports.store.dispatch(command.code, {
            type: "registers_read", values: new Map([[step.address, step.value]]), startedAt: firstEndedMono,
            readAt: ports.clock.now(), fresh: true, source: "read_back",
        });
        signals.onSettling(facts);
        return confirmed(`,
    rows: "^POST accepted and ignored$",
    lanes: lane,
    found: "wrongStates",
  },
  {
    name: "a type read at once is taken for read from the device",
    file: "bridge/poll-reads.js",
    text: "registersEvent(ports, false, async () =>",
    replacement: 'registersEvent(ports, read.type === "group", async () =>',
    rows: "^a type from the platform's memory$",
    lanes: lane,
    found: "wrongStates",
  },
  {
    name: "a dropped result: one of five outcomes is never published",
    file: "mqtt/outbox.js",
    text: "    send(delivery) {",
    replacement: `    send(delivery) {
        this.turn = (this.turn ?? 0) + (delivery.controllerId === null ? 0 : 1);
        if (delivery.controllerId !== null && this.turn % 5 === 0) return;`,
    rows: "^push garbled$",
    lanes: lane,
    found: "lostCommands",
  },
  {
    name: "a result that meets a dead broker is forgotten",
    file: "mqtt/outbox.js",
    text: "            this.#keep({ ...owed, destinations, isRepeated: true });",
    replacement: "            return;",
    rows: "^broker gone 60 s$",
    lanes: "^mosquitto-5$",
    found: "lostCommands",
  },
  {
    name: "a control value is sent again after a restart",
    file: "commands/recovery.js",
    text: "    const startedMono = ports.clock.monotonic();",
    replacement: `    const startedMono = ports.clock.monotonic();
    await ports.platform.write(command.code, step.address, step.value, quit).catch(() => undefined);`,
    rows: "^kill -9$",
    lanes: "^mosquitto-5$",
    found: "badPosts",
  },
  {
    name: "a blind second POST: what the read shows is not looked at",
    file: "commands/send-step.js",
    text: "    if (readBack !== null && shows(",
    replacement: "    if (false && shows(",
    rows: "^POST reset after it was done$",
    lanes: lane,
    found: "badPosts",
  },
  {
    name: "a command is sent without its record on disk",
    file: "commands/execution.js",
    text: "    const journaled = journalTaken(command, ports);",
    replacement: "    const journaled = Promise.resolve(null);",
    rows: "^push garbled$",
    lanes: lane,
    found: "badPosts",
  },
];
