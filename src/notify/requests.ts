import { msg } from "../language/text.js";
import type { RequestRow, Running } from "../feature/core.js";
import { flagField, RequestError } from "../mqtt/requests.js";

/* What can be asked for at `bridge/request`: a message to try, and the daily one. */

/** There is no way, so that whoever asks is told so. */
export const tellNobody = (): Running => {
  const nobody = () => {
    throw new RequestError(
      msg`No way is configured under notify.ways, so there is nobody to send a message to.`,
    );
  };
  return { requests: requestsOf(nobody, nobody) };
};

export const requestsOf = (
  test: (signal: AbortSignal) => unknown,
  daily: (isSent: boolean) => unknown,
): readonly RequestRow[] => [
  ["notify_test", "", (_, signal) => test(signal)],
  ["notify_daily", "print", (fields) => daily(!flagField(fields, "print", false))],
];
