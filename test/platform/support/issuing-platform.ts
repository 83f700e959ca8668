import { type Answerer, ok, type Reply, type SeenRequest, startFakeHost } from "./hosts.js";

export const refusal: Reply = { status: 403, body: { error: "Forbidden", message: "Access Denied" } };
export const signInPath = "/api/account/sign-in";

/** A platform that issues numbered tokens and takes only those it is told to. */
export async function startPlatform() {
  const state = {
    issued: 0,
    good: new Set<string>(),
    signIn: (): Reply | null => null,
    /** Instead of looking at the token. */
    read: null as Answerer | null,
  };
  const host = await startFakeHost();
  const bearer = ({ headers }: SeenRequest) => headers.authorization?.replace("Bearer ", "") ?? "";
  host.answer((request, response) => {
    if (request.path === signInPath) {
      const refused = state.signIn();
      if (refused !== null) return refused;
      state.issued += 1;
      const token = `token-number-${state.issued}`;
      state.good.add(token);
      return ok({ token });
    }
    if (state.read !== null) return state.read(request, response);
    return state.good.has(bearer(request)) ? ok([]) : refusal;
  });
  const signIns = () => host.requests.filter(({ path }) => path === signInPath);
  const reads = () => host.requests.filter(({ path }) => path !== signInPath);
  return { host, state, signIns, reads, bearer };
}
