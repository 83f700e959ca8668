import { msg } from "../language/text.js";
import { type Check, failed, notTried, ok, type Scene, type Verdict } from "../feature/doctor.js";
import { errorCode, isForbidden, textFile } from "../runtime/file-system.js";
import { pageAddressFor } from "./page-address.js";
import { withStoredUsers } from "./first-operator.js";
import type { HttpSection } from "./section.js";

type Looked = Scene<{ readonly http: HttpSection; readonly data_dir: string }>;

export const pageChecks: readonly Check<Looked>[] = [{ id: "page", needs: [], run: pageVerdict }];

export const unreadVerdict = (code: string): Verdict =>
  isForbidden(code)
    ? notTried(
        msg`page-users.json in the data directory is another user's: run this as the user that runs the bridge, with sudo -u`,
      )
    : failed(
        msg`page-users.json in the data directory cannot be read, so nobody can log in to the page`,
        msg`put it back from a copy; or remove it and restart, and make the first operator anew with the code that the bridge then prints`,
      );

/** Reports where the page is and who may command there; opens no connection. */
async function pageVerdict({ configuration: { http, data_dir: dataDir } }: Looked): Promise<Verdict> {
  const file = textFile(dataDir, "page-users.json");
  let code = "";
  const read = () =>
    file.read().catch((error: unknown) => {
      code = errorCode(error);
      throw error;
    });
  const listener = http === false ? false : await withStoredUsers(http, read);
  const pageAddress = listener === false ? null : pageAddressFor(listener, listener.port);
  if (listener !== false && listener.isClosed) return unreadVerdict(code);
  if (pageAddress === null) return ok(msg`no page is served, see http.page`);
  const { url, commanders } = pageAddress;
  return {
    ...ok(msg`while the bridge runs, the page is at ${url}; ${commanders}`),
    foreign: [new URL(url).hostname],
  };
}
