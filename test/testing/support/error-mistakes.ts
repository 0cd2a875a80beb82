import { BadRequestException } from '@nestjs/common';
import { ApiError } from '../../../src';
import { type Mistakes, on, PLAIN } from './mistake';

/** Mistakes in the response to a name that is taken. */
export const ERROR_MISTAKES: Mistakes = on(['create'], {
  'conflict-as-bad-request': {
    sentence: /responds 400.*body \/code must be one of/,
    async create(body, reply) {
      const row = await this.tryInsert(body);
      if (!row) throw new BadRequestException('The name is taken.');
      return this.links.created(reply, this.facts.path, row);
    },
    facts: PLAIN,
  },
  'code-of-another-status': {
    sentence: /responds 404.*status must be one of/,
    async create(body, reply) {
      const row = await this.tryInsert(body);
      if (!row)
        throw new ApiError({ code: this.facts.taken().code, status: 404, message: 'The name is taken.' });
      return this.links.created(reply, this.facts.path, row);
    },
    facts: PLAIN,
  },
  'own-error-body': {
    sentence:
      /responds 409 to .*Accept: application\/problem\+json.*content-type must be application\/problem\+json/,
    async create(body, reply) {
      const row = await this.tryInsert(body);
      if (row) return this.links.created(reply, this.facts.path, row);
      const { code, status } = this.facts.taken();
      void reply.code(status).type('application/json');
      return JSON.stringify({ code, message: 'The name is taken.', status });
    },
    facts: PLAIN,
  },
});
