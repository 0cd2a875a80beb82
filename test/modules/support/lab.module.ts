import * as nest from '@nestjs/common';
import {
  BadRequestException,
  type CallHandler,
  type CanActivate,
  ConflictException,
  Controller,
  ForbiddenException,
  Get,
  GoneException,
  HttpException,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  type PipeTransform,
  Post,
  Query,
  Res,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { RequireScope } from '../../../src/auth';
import { Idempotent, IdempotentWork } from '../../../src/idempotency';

type Exception = new (message?: string) => HttpException;

const isException = (value: unknown): value is Exception =>
  typeof value === 'function' && value.prototype instanceof HttpException;

/** Every exception class of Nest, with its own message and with one of the module. */
const CLASSES = Object.entries(nest).flatMap(([name, value]): [string, () => HttpException][] =>
  isException(value)
    ? [
        [name, () => new value()],
        [`${name} with a message`, () => new value(`Thrown by the module as ${name}.`)],
      ]
    : [],
);

/** What the handlers of the lab throw, by name. */
export const EXCEPTIONS: ReadonlyMap<string, () => HttpException> = new Map([
  ...CLASSES,
  ['an assigned status', () => new HttpException('Not in this country.', 451)],
  ['an unassigned status', () => new HttpException('Closed without a response.', 444)],
  ['a list of messages', () => new BadRequestException(['name is too long', 'age is not a number'])],
  ['a list as the response', () => new HttpException(['first', 'second'], 422)],
  ['a response with a message', () => new ConflictException({ message: 'The name is taken.', name: 'Rex' })],
  ['a response without a message', () => new ConflictException({ name: 'Rex' })],
  ['a blank message', () => new GoneException(' ')],
  [
    'another error as the response',
    () => new UnauthorizedException(new Error('password authentication failed')),
  ],
  ['a message longer than any may be', () => new ForbiddenException('🐈'.repeat(5_000))],
  ['a database that is mentioned', () => new ConflictException('timeout expired')],
  ['a cause', () => new NotFoundException('No such thing.', { cause: new Error('row 7') })],
  ['a redirection', () => new HttpException('Look there.', 302)],
  ['a success', () => new HttpException('Done.', 200)],
  ['a status that is none', () => new HttpException('Odd.', 1_000)],
]);

class ClosedGuard implements CanActivate {
  canActivate() {
    return false;
  }
}

class ThrowingGuard implements CanActivate {
  canActivate(): boolean {
    throw new ForbiddenException('Thrown by a guard.');
  }
}

class ThrowingPipe implements PipeTransform {
  transform(): never {
    throw new BadRequestException('Thrown by a pipe.');
  }
}

class ThrowingInterceptor implements nest.NestInterceptor {
  intercept(_context: nest.ExecutionContext, _next: CallHandler): never {
    throw new ConflictException('Thrown by an interceptor.');
  }
}

/** Throws as the module of a team would that was written by Nest's documentation. */
@Controller({ path: 'lab', version: '1' })
class LabController {
  constructor(private readonly idempotent: IdempotentWork) {}

  @Get('exceptions/:name')
  @RequireScope('pets:read')
  exception(@Param('name') name: string) {
    throw EXCEPTIONS.get(name)?.() ?? new Error(`The lab has no ${name}.`);
  }

  @Get('closed')
  @RequireScope('pets:read')
  @UseGuards(ClosedGuard)
  closed() {
    return 'open';
  }

  @Get('guard')
  @RequireScope('pets:read')
  @UseGuards(ThrowingGuard)
  guard() {
    return 'open';
  }

  @Get('pipe')
  @RequireScope('pets:read')
  pipe(@Query('value', ThrowingPipe) value: string) {
    return value;
  }

  @Get('interceptor')
  @RequireScope('pets:read')
  @UseInterceptors(ThrowingInterceptor)
  interceptor() {
    return 'open';
  }

  @Get('responded')
  @RequireScope('pets:read')
  responded(@Res() reply: FastifyReply) {
    void reply.send({ isDone: true });
    throw new Error('Thrown after the response.');
  }

  @Post('notes/:name')
  @RequireScope('pets:write')
  @Idempotent()
  note(@Param('name') name: string, @Res({ passthrough: true }) reply: FastifyReply) {
    return this.idempotent.run(reply, async () => {
      reply.code(202);
      return { name };
    });
  }

  @Get('number/:value')
  @RequireScope('pets:read')
  number(@Param('value', ParseIntPipe) value: number) {
    return value;
  }
}

@Module({ controllers: [LabController] })
export class LabModule {}
