import type { Asked, Route } from "./route.js";
import type { PageService } from "./service.js";

/** A request about one bridge. */
export interface AskedOfBridge extends Asked {
  readonly service: PageService;
}

/** A route that is asked of this bridge. */
export const aboutBridge = (
  { method, role, answer, other }: Route<AskedOfBridge>,
  service: PageService,
): Route => ({
  method,
  role,
  answer: (asked) => answer({ ...asked, service }),
  ...(other !== undefined && { other: aboutBridge(other, service) }),
});
