import { z } from "zod";
import { languages } from "../language/known.js";
import type { RestoreAccount } from "../page/settings-source.js";
import { bodyOf, badRequest, failure, headerSaid, json, notFound } from "./answer.js";
import type { Route } from "./route.js";

/*
 * An account of a fleet comes back from a backup. A request has five seconds and its socket a pace, so the file comes in pieces, each with
 * what there is to say in a header, as JSON in the letters of ASCII.
 */

const said = z.object({
  id: z.string().regex(/^[\w-]{8,64}$/),
  at: z.int().min(0),
  end: z
    .object({
      password: z.string().max(1_000).default(""),
      account: z.string().max(64).default(""),
      language: z.enum(languages).default("en"),
    })
    .optional(),
});

const mostBytesOfPiece = 512 * 1024;
/** As much as `restore` reads. */
const mostBytes = 512 * 1024 * 1024;

export const restoreRoute = (restore: RestoreAccount): Route => ({
  method: "POST",
  role: "admin",
  answer: async ({ request, visitor, port }) => {
    if (!port.listener().settings) return notFound("settings here");
    if (visitor.accounts !== undefined) return failure(403, "accounts", forAll);
    const { data } = said.safeParse(headerSaid(request.headers["x-restore"]));
    if (data === undefined)
      return badRequest("x-restore: expected JSON with id and at, in the letters of a URL.");
    const bytes = await bodyOf(request, mostBytesOfPiece);
    if (!Buffer.isBuffer(bytes)) return bytes;
    const { id, at, end } = data;
    if (at + bytes.length > mostBytes)
      return failure(413, "too_large", `A backup has at most ${mostBytes} bytes.`);
    const { password = "", account = "" } = end ?? {};
    const done = await restore({
      ...{ id, at, bytes },
      end: end === undefined ? null : { ...end, password: password || null, account: account || null },
    });
    if ("isBusy" in done) return failure(429, "restore_runs", runs, { "retry-after": "10" });
    if ("wrong" in done) return badRequest(done.wrong);
    return "lines" in done || !done.isMissing ? json(done) : json(done, 409);
  },
});

const forAll = "An account is restored by an admin of all accounts of the fleet.";
const runs = "A backup is being restored already.";
