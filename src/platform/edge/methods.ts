import { METHODS } from 'node:http';
import type { FastifyContextConfig, FastifyInstance, RouteOptions } from 'fastify';

/** The methods of a URL, and the config that its first route declared. */
interface Address {
  readonly methods: Set<string>;
  readonly config: FastifyContextConfig | undefined;
}

/** Node never hands CONNECT to a route. */
const ROUTABLE_METHODS = METHODS.filter((method) => method !== 'CONNECT');

/** Collects the methods of every URL. Create it before the first route is registered. */
export class RouteMethods {
  private readonly addresses = new Map<string, Address>();
  private readonly methods = new Set<string>();

  constructor(private readonly fastify: FastifyInstance) {
    fastify.addHook('onRoute', (route) => this.collect(route));
  }

  /** The methods that at least one URL has, sorted. */
  served(): string[] {
    return [...this.methods].sort();
  }

  /**
   * Gives each URL a route for the methods that it lacks, so that the request checks can respond with 405 and `Allow`
   * (RFC 9110, 15.5.6). Call it after the last route is registered.
   */
  rejectOthers(): void {
    for (const method of ROUTABLE_METHODS) {
      if (!this.fastify.supportedMethods.includes(method)) {
        this.fastify.addHttpMethod(method, { hasBody: false });
      }
    }
    for (const [url, address] of this.addresses) this.rejectOthersOf(url, address);
  }

  private collect({ url, method, config }: RouteOptions): void {
    if (url === '*' || config?.allow !== undefined) return;
    const address = this.addresses.get(url) ?? { methods: new Set<string>(), config };
    for (const each of [method].flat()) {
      address.methods.add(each);
      this.methods.add(each);
    }
    this.addresses.set(url, address);
  }

  private rejectOthersOf(url: string, { methods, config }: Address): void {
    this.fastify.route({
      method: ROUTABLE_METHODS.filter((method) => !methods.has(method)),
      url,
      config: { ...(config?.public ? { public: true } : {}), allow: [...methods].sort().join(', ') },
      exposeHeadRoute: false,
      handler: () => {
        throw new Error('the request checks respond to a method that its URL does not have');
      },
    });
  }
}
