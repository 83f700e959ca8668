import { describe, expect, it } from "vitest";
import type { Command, Phase } from "../../src/commands/command.js";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import { CommandPhases } from "../../src/commands/service.js";
import { CommandBoard } from "../../src/http/board.js";

const about = {
  code: "GH-1",
  controllerId: "c",
  target: "actuator",
  targetId: "fan",
  response: null,
} as const;

function scene() {
  const board = new CommandBoard();
  const rule = new CommandPhases(
    "greenhouse",
    { wanted: () => undefined, forget: () => undefined },
    { byId: () => true },
    { soon: () => undefined },
  );
  const command = (id: string, receivedAt: number, via: string | null = null) =>
    ({
      ...about,
      id,
      by: null,
      via,
      wanted: { type: "word", word: "on" },
      receivedAt,
    }) as unknown as Command;
  const phases = (one: Command, ...all: Phase[]) =>
    all.forEach((phase) => board.phase(one, phase, rule.show(one, phase)));
  const result = (
    { id, receivedAt }: Command,
    outcome: CommandResult["outcome"],
    reason: string | null = null,
  ) => {
    const received_at = new Date(receivedAt).toISOString();
    const told = { id, controller: "c", actuator: "fan", outcome, reason, received_at } as CommandResult;
    board.result(told, about);
    return told;
  };
  const shown = () => board.newestOf("c", "actuator", "fan");
  return { board, command, phases, result, shown };
}

describe("what is told of commands", () => {
  it("of a target the newest counts, until an older one has its turn after all", () => {
    const { board, command, phases, shown } = scene();
    const [older, newer] = [command("older", 1), command("newer", 2)];
    phases(older, "waiting");
    phases(newer, "waiting", "checking");
    expect(shown().command?.id).toBe("newer");
    phases(newer, "done");
    phases(older, "checking");
    expect(shown().command).toMatchObject({ id: "older", phase: "checking" });
    expect(board.running().get("c")?.id).toBe("older");
    phases(older, "done");
    expect(board.running().size).toBe(0);
  });

  it("an id that is used again is another command, and has no result yet", () => {
    const { board, command, phases, result } = scene();
    const [first, second] = [command("x", 1), command("x", 2)];
    phases(first, "checking", "done");
    result(first, "confirmed");
    phases(second, "checking");
    expect(board.find("x", null)).toMatchObject({ command: { phase: "checking" }, result: null });
    result(second, "failed");
    expect(board.find("x", null)?.result?.outcome).toBe("failed");
  });

  it("a command is done for who asks by its id only once there is its result", () => {
    const { board, command, phases, result } = scene();
    const one = command("x", 1);
    phases(one, "checking", "confirming", "done");
    expect(board.find("x", null)).toMatchObject({ phase: "confirming", result: null });
    result(one, "confirmed");
    expect(board.find("x", null)).toMatchObject({ phase: "done", result: { outcome: "confirmed" } });
  });

  it("of an id that two senders use each finds the own command, and any other sender the newest", () => {
    const { board, command, phases } = scene();
    phases(command("x", 1, "page:anna"), "checking", "done");
    phases(command("x", 2, "page:ben"), "checking");
    expect(board.find("x", "page:anna")?.command.via).toBe("page:anna");
    expect(board.find("x", "token")?.phase).toBe("checking");
  });

  it("a refusal is the last result, but for the answer to a repeated message", () => {
    const { command, result, shown } = scene();
    result(command("x", 1), "confirmed");
    result(command("x", 2), "refused", "duplicate");
    expect(shown().result?.outcome).toBe("confirmed");
    result(command("y", 3), "refused", "interlock");
    expect(shown().result?.reason).toBe("interlock");
  });

  it("what an earlier run ended takes the place of nothing", () => {
    const { board, command, result, shown } = scene();
    const newest = result(command("new", 2), "confirmed");
    board.restore({ ...newest, outcome: "failed" }, "actuator");
    expect(shown().result?.outcome).toBe("confirmed");
  });

  it("whoever submitted is told of the refusal that was told before he could listen, and of no other", async () => {
    const { board, command, result } = scene();
    result(command("other", 1), "refused", "interlock");
    result(command("own", 2), "refused", "bad_payload");
    expect(await board.refusalOf("own")).toMatchObject({ id: "own", reason: "bad_payload" });
  });
});
