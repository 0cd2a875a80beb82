import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Counter, Histogram, Registry } from 'prom-client';
import { PREFIX } from './registry';
import { platformErrors } from '../../platform/errors/platform.errors';
import { routeOf } from '../request-log';

/** A page takes a few milliseconds; a request may wait seconds for a connection. */
const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Node accepts more than 30 methods; each would be a separate series. */
const NAMED_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Records completed requests. No label has a value that a client can choose freely. */
@Injectable()
export class RequestMetrics {
  private readonly durations: Histogram<'route' | 'method' | 'status'>;
  private readonly errors: Counter<'code'>;
  private readonly decisions: Counter<'plan' | 'verdict'>;
  private readonly bans: Counter;
  private readonly deprecatedCalls: Counter<'account' | 'route'>;

  constructor(registry: Registry) {
    const registers = [registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new Counter({ name: `${PREFIX}${name}`, help, labelNames, registers });
    this.durations = new Histogram({
      name: `${PREFIX}http_request_duration_seconds`,
      help: 'Time from the headers of a request to the end of its response.',
      labelNames: ['route', 'method', 'status'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    });
    this.errors = counter('refusals_total', 'Responses with an Error body, by its code.', ['code']);
    // Prometheus sees no increase in the first value of a series.
    this.errors.inc({ code: platformErrors.internal_error.code }, 0);
    const decisions = 'Rate-limit decisions by plan (anonymous: without a valid key) and verdict.';
    this.decisions = counter('rate_limit_decisions_total', decisions, ['plan', 'verdict']);
    this.bans = counter('bans_total', 'Bans of API keys.', []);
    const deprecated = 'Calls of deprecated operations with a valid key, by account.';
    this.deprecatedCalls = counter('deprecated_calls_total', deprecated, ['account', 'route']);
  }

  record(request: FastifyRequest, reply: FastifyReply): void {
    const { errorCode, principal, rateLimit, routeOptions } = request;
    const { config } = routeOptions;
    const route = routeOf(request) ?? 'none';
    const method = NAMED_METHODS.has(request.method) ? request.method : 'other';
    this.durations.observe({ route, method, status: reply.statusCode }, reply.elapsedTime / 1_000);
    if (errorCode !== undefined) this.countRejection(errorCode);
    if (rateLimit) this.decisions.inc({ plan: principal?.plan ?? 'anonymous', verdict: rateLimit.verdict });
    if (rateLimit?.beganBan) this.bans.inc();
    if (config.deprecation && principal) this.deprecatedCalls.inc({ account: principal.accountName, route });
  }

  /** Counts an error by its code; called directly if no route saw the request (invalid HTTP, a timeout). */
  countRejection(code: string): void {
    this.errors.inc({ code });
  }
}
