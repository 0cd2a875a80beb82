import { Controller, Module, Param, Post, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Idempotent, type Once, Operation, Text } from '../../../src';

class Note {
  @Text({ max: 99, description: 'Name.', example: 'Rex' })
  readonly name!: string;
}

@Controller({ path: 'lab', version: '1' })
class LabController {
  @Post('notes/:name')
  @Operation({
    id: 'keepNote',
    summary: 'Keep a note',
    description: 'Returns the name in its path.',
    scope: 'pets:write',
    returns: [201, Note, 'The note.'],
  })
  note(
    @Param('name') name: string,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Idempotent() once: Once,
  ) {
    return once(async () => {
      reply.code(Number(name) || 202);
      return name === '204' ? undefined : { name };
    });
  }
}

/** A route with `@Operation`, whose status is the name if it is a number. */
@Module({ controllers: [LabController] })
export class LabModule {}
