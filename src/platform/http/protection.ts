import { routeFacts } from './route-facts';

/** Declares a public route: it requires no key and has no rate limit. */
export function Public(): MethodDecorator {
  return routeFacts({ public: true });
}

/** Declares a public route that an orchestrator requests all the time. */
export function Probe(): MethodDecorator {
  return routeFacts({ public: true, probe: true });
}
