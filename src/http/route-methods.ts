import { All, Controller, Injectable, Req } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyRequest, RouteOptions } from 'fastify';
import createRouter from 'find-my-way';
import type { ApiError } from '../api/errors/api-error';
import { commonErrors } from '../api/errors/common.errors';
import { ANY_KEY, RequireScope, routeFacts, SCOPES } from '../api/routes/route-facts';
import { isDecodable } from '../config/parsers';
import { pathOf } from './framing';

/** Knows the methods of every address, by the router that Fastify uses. */
@Injectable()
export class RouteMethods {
  /** For each method a router, which knows its addresses under GET. */
  private readonly routers = new Map<string, ReturnType<typeof createRouter>>();

  constructor({ httpAdapter }: HttpAdapterHost<FastifyAdapter>) {
    httpAdapter.getInstance().addHook('onRoute', (route) => this.collect(route));
  }

  /** The methods that at least one address has. */
  served(): string[] {
    return [...this.routers.keys()].sort();
  }

  /** Returns the error of a request without a route: 400, 404, or 405 with `Allow` (RFC 9110, 15.5.6). */
  rejectionOf({ originalUrl, url }: FastifyRequest): ApiError {
    if (!isDecodable(pathOf(originalUrl)))
      return commonErrors.malformed_request({ message: 'The path is not percent-encoded UTF-8.' });
    const allowed = this.served().filter((method) => this.routers.get(method)?.find('GET', url));
    if (allowed.length > 0)
      return commonErrors.method_not_allowed({ headers: { Allow: allowed.join(', ') } });
    return commonErrors.route_not_found();
  }

  /** Leaves out the route of @fastify/cors for preflights, and those that the start rejects. */
  private collect({ url, method, config = {} }: RouteOptions): void {
    if (config.unrouted || !(config.public || config[SCOPES])) return;
    for (const each of [method].flat()) {
      const router = this.routers.get(each) ?? createRouter({ maxParamLength: Infinity });
      this.routers.set(each, router);
      if (!router.hasRoute('GET', url)) router.on('GET', url, () => undefined);
    }
  }
}

/** Puts the addresses and methods of the API without an operation behind the guards. */
@ApiExcludeController()
@Controller({ version: '1' })
export class UnroutedController {
  constructor(private readonly methods: RouteMethods) {}

  @All(['', '*'])
  @routeFacts({ unrouted: true })
  @RequireScope(ANY_KEY)
  reject(@Req() request: FastifyRequest): never {
    throw this.methods.rejectionOf(request);
  }
}
