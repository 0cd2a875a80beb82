import {
  applyDecorators,
  Controller,
  type ExecutionContext,
  Get,
  Module,
  Post,
  UseGuards,
} from '@nestjs/common';
import { SkipThrottle, Throttle, ThrottlerGuard } from '@nestjs/throttler';
import type { FastifyRequest } from 'fastify';
import { Public, RequireScope } from '../../../src';

type Limits = Parameters<typeof Throttle>[0];

/** A route that a key may read, with limits of its own. */
const Route = (path: string, limits?: Limits) =>
  applyDecorators(Get(path), RequireScope('pets:read'), ...(limits ? [Throttle(limits)] : []));

@Controller({ path: 'slots', version: '1' })
class SlotsController {
  @Post()
  @RequireScope('pets:write')
  @Throttle({ default: { limit: 5, ttl: 3_600_000 } })
  book() {}

  @Route('')
  list() {}

  @Route('guarded')
  @UseGuards(ThrottlerGuard)
  guarded() {}

  @Route('search', { default: { limit: 2, ttl: 1_500 } })
  search() {}

  @Route('own', { default: { limit: 2, ttl: 60_000 } })
  own() {}

  @Get('open')
  @Public()
  @Throttle({ default: { limit: 2, ttl: 60_000 } })
  open() {}
}

@Throttle({ default: { limit: 3, ttl: 60_000 } })
abstract class LimitedController {
  @Route('first')
  first() {}

  @Route('second', { default: { limit: 1 } })
  second() {}
}

@Controller({ path: 'cats', version: '1' })
class CatsController extends LimitedController {}

const requestOf = (context: ExecutionContext) => context.switchToHttp().getRequest<FastifyRequest>();
const numberIn = (context: ExecutionContext, header: string) => Number(requestOf(context).headers[header]);

/** One window for all its routes. */
const OF_TRACKER = { default: { generateKey: (_context: ExecutionContext, tracker: string) => tracker } };

/** Uses the library as its documentation shows. */
@Controller({ path: 'trains', version: '1' })
@Throttle({ default: { limit: 2, ttl: 60_000 } })
class TrainsController {
  @Route('skipped')
  @SkipThrottle({ default: true, minute: true, day: true })
  skipped() {}

  @Route('by-plan', {
    default: {
      limit: async (context) => (requestOf(context).principal?.plan === 'free' ? 1 : 3),
      ttl: (context) => 1_000 * numberIn(context, 'x-seconds'),
    },
  })
  byPlan() {}

  @Route('by-header', { default: { limit: (context) => numberIn(context, 'x-limit') } })
  byHeader() {}

  @Route('tracked', { default: { getTracker: ({ headers }) => decodeURIComponent(headers['x-carriage']) } })
  tracked() {}

  @Route('one', OF_TRACKER)
  one() {}

  @Route('other', OF_TRACKER)
  other() {}

  @Route('guarded')
  @UseGuards(ThrottlerGuard)
  guarded() {}
}

/** The routes of teams with limits of their own. */
@Module({ controllers: [SlotsController, CatsController, TrainsController] })
export class ThrottledModule {}
