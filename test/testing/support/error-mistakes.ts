import type { FastifyReply } from 'fastify';
import { ApiError } from '../../../src/platform/errors/api-error';
import type { Items } from './items';
import type { Changes } from './items.extension';
import { type Mistakes, on, PLAIN } from './mistake';

/** Responds to a name that is taken; a creation is as it should be. */
const ifTaken = (respond: (items: Items, reply: FastifyReply) => unknown): Changes => ({
  async create(body, reply) {
    const row = await this.tryInsert(body);
    return row ?? respond(this, reply);
  },
  facts: PLAIN,
});

/** Mistakes in the response to a name that is taken. */
export const ERROR_MISTAKES: Mistakes = on(['create'], {
  'code-of-another-status': {
    sentence: /responds 404.*status must be one of/,
    ...ifTaken(({ facts }) => {
      throw new ApiError({ code: facts.taken().code, status: 404, message: 'The name is taken.' });
    }),
  },
  'own-error-body': {
    sentence: /responds 409 to .*body must have required property/,
    ...ifTaken((_items, reply) => {
      void reply.code(409).type('application/json');
      return '{"error":"taken"}';
    }),
  },
});
