/** A mistake in a copy of the example: its title, the file, the text that it replaces, and a part of the sentence. */
export type PlantedMistake = readonly [title: string, file: string, from: string, to: string, found: RegExp];

const CONTROLLER = 'appointments.controller.ts';
const DTO = 'appointments.dto.ts';
const SERVICE = 'appointments.service.ts';
const MIGRATION = 'migrations/0001-appointments.ts';

/** Kinds that `test/testing/broken-promises.spec.ts` does not plant, and what the start names. */
export const PLANTED_MISTAKES: readonly PlantedMistake[] = [
  ['an unvalidated body', CONTROLLER, 'body: NewGroomingAppointment', 'body: any', /./],
  ['a body without its member', DTO, "['petId', 'startsAt', 'treatment']", "['startsAt', 'treatment']", /./],
  ['a text for a time', DTO, '@Timestamp({ ', "@(require('animal-store').Text)({ max: 30, ", /500/],
  ['a migration without a way back', MIGRATION, 'DROP TABLE grooming_appointments', 'SELECT 1', /"down"/],
  [
    'a list without an index',
    MIGRATION,
    '(account_id NULLS FIRST, pet_id, id)',
    '(account_id, pet_id)',
    /A list lacks an index/,
  ],
  [
    'the rows of other accounts',
    SERVICE,
    'WHERE account_id = $1 AND id = $2',
    'WHERE $1::bigint IS NOT NULL AND id = $2',
    /whose list lacks the resource/,
  ],
  [
    'a change that ignores If-Match',
    SERVICE,
    'precondition(await this.get(accountId, id, transaction));',
    'await this.get(accountId, id, transaction);',
    /If-Match/,
  ],
  ['a creation outside its transaction', SERVICE, '    }, outer);', '    });', /was rolled back/],
  [
    'an exception for an unknown id',
    SERVICE,
    'throw appointmentErrors.grooming_appointment_not_found();',
    "throw new Error('unknown');",
    /500/,
  ],
  // The last one: an operation stays registered.
  ['an operation id that exists', CONTROLLER, "id: 'getGroomingAppointment'", "id: 'getPet'", /getPet/],
];
