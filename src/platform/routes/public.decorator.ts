import { routeFacts } from './route-facts';

/** Declares a public route: it requires no key and has no rate limit. @param isTagged true if its 200 has an entity tag */
export function Public({ isTagged = false } = {}): MethodDecorator {
  return routeFacts({ public: true, entityTag: isTagged });
}

/** Declares a public route that an orchestrator requests all the time. */
export function Probe(): MethodDecorator {
  return routeFacts({ public: true, probe: true });
}
