import {
  BadRequestException,
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
  Post,
  Query,
  Res,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { RequireScope } from '../../../src/auth';
import { Operation } from '../../../src/platform/api-docs/operation.decorator';
import { Idempotent, type Once } from '../../../src/platform/idempotency/idempotent.decorator';

/** The values that the handlers of the lab throw, by name. */
const EXCEPTIONS: ReadonlyMap<string, () => unknown> = new Map<string, () => unknown>([
  ['UnauthorizedException', () => new UnauthorizedException()],
  ['ForbiddenException', () => new ForbiddenException()],
  ['an assigned status', () => new HttpException('Not in this country.', 451)],
  ['an unassigned status', () => new HttpException('Closed without a response.', 444)],
  ['a list of messages', () => new BadRequestException(['name is too long', 'age is not a number'])],
  ['a list as the response', () => new HttpException(['first', 'second'], 422)],
  ['a response without a message', () => new ConflictException({ name: 'Rex' })],
  ['a blank message', () => new GoneException(' ')],
  ['another error as the response', () => new UnauthorizedException(new Error('password is wrong'))],
  ['a message over the maximum length', () => new ForbiddenException('🐈'.repeat(5_000))],
  ['a message like that of a database error', () => new ConflictException('timeout expired')],
  ['a cause', () => new NotFoundException('No such thing.', { cause: new Error('row 7') })],
  ['a server error', () => new HttpException('Not today.', 501)],
  ['a redirection', () => new HttpException('Look there.', 302)],
  ['an invalid status', () => new HttpException('Odd.', 1_000)],
  ['a plain Error', () => new Error('Thrown by the lab.')],
  ['a text', () => 'Thrown without an Error.'],
]);

/** The results of a handler that does its work without `once`. */
const FORGOTTEN: Readonly<Record<string, unknown>> = {
  object: { name: 'Rex' },
  text: 'Rex',
  nothing: undefined,
};

class ClosedGuard implements CanActivate {
  canActivate() {
    return false;
  }
}

class Note {
  @ApiProperty()
  readonly name!: string;
}

/** Throws like a team's module that follows Nest's documentation. */
@Controller({ path: 'lab', version: '1' })
class LabController {
  @Get('exceptions/:name')
  @RequireScope('pets:read')
  exception(@Param('name') name: string) {
    throw EXCEPTIONS.get(name)!();
  }

  @Get('closed')
  @RequireScope('pets:read')
  @UseGuards(ClosedGuard)
  closed() {
    return 'open';
  }

  @Get('responded')
  @RequireScope('pets:read')
  responded(@Res() reply: FastifyReply) {
    void reply.send({ isDone: true });
    throw new Error('Thrown after the response.');
  }

  @Get('header')
  @RequireScope('pets:read')
  header(@Query('value') value: string, @Res({ passthrough: true }) reply: FastifyReply) {
    reply.header('X-Value', value);
    return {};
  }

  @Post('notes/:name')
  @Operation({
    id: 'keepNote',
    summary: 'Keep a note',
    description: 'Returns the name in its path.',
    scope: 'pets:write',
    idempotent: true,
    returns: [201, Note, 'The note.'],
  })
  note(
    @Param('name') name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Idempotent() once: Once,
  ) {
    return once(async () => {
      reply.code(202);
      return { name };
    });
  }

  @Post('forgotten/:result')
  @RequireScope('pets:write')
  forgotten(@Param('result') result: string, @Idempotent() _once: Once) {
    if (!(result in FORGOTTEN)) throw new NotFoundException();
    return FORGOTTEN[result];
  }
}

@Module({ controllers: [LabController] })
export class LabModule {}
