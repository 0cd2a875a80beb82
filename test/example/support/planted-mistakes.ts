/** A mistake in a copy of the example: its title, the file, the text that it replaces, and a part of the sentence. */
export type PlantedMistake = readonly [title: string, file: string, from: string, to: string, found: RegExp];

const CONTROLLER = 'appointments.controller.ts';
const DTO = 'appointments.dto.ts';
const REPOSITORY = 'appointments.repository.ts';
const SERVICE = 'appointments.service.ts';
const MIGRATION = 'migrations/0001-appointments.ts';

const nest = (name: string) => `require('@nestjs/common').${name}`;

export const PLANTED_MISTAKES: readonly PlantedMistake[] = [
  [
    'a code that its operation does not name',
    CONTROLLER,
    'rejects: [petErrors.pet_not_found, ',
    'rejects: [',
    /pet_not_found/,
  ],
  [
    'a conflict that is told as a bad request',
    SERVICE,
    'throw appointmentErrors.no_place_free();',
    `throw new (${nest('BadRequestException')})('Taken.');`,
    /bad_request/,
  ],
  ['an unvalidated body', CONTROLLER, 'appointment: NewAppointment', 'appointment: any', /./],
  ['a body without its member', DTO, '  @Int64(PET)\n', '', /./],
  [
    'a text for a time',
    DTO,
    '@Timestamp(STARTS_AT)',
    "@(require('animal-store').Text)({ max: 30, ...STARTS_AT })",
    /500/,
  ],
  ['a success of another status', CONTROLLER, 'returns: [201,', 'returns: [200,', /responds (500|201)/],
  [
    'a response without a member',
    REPOSITORY,
    'startsAt: startsAt.toISOString() }',
    'startsAt: undefined as never }',
    /./,
  ],
  ['a tag that no operation has', CONTROLLER, "@ApiTags('grooming')\n", '', /tag/],
  ['a tag that is not declared', 'grooming.extension.ts', 'tags: {', 'settings: {', /./],
  [
    'a public operation',
    CONTROLLER,
    '  @Get()\n',
    "  @(require('animal-store').Public())\n  @Get()\n",
    /401|public/i,
  ],
  [
    'an id that is read as a number',
    CONTROLLER,
    'new IdPipe(appointmentErrors.appointment_not_found)',
    nest('ParseIntPipe'),
    /400/,
  ],
  ['a migration without a way back', MIGRATION, 'DROP TABLE grooming_appointments', 'SELECT 1', /"down"/],
  [
    'a way back that removes more',
    MIGRATION,
    'DROP TABLE grooming_appointments',
    'DROP TABLE grooming_appointments; DROP INDEX pets_status_id',
    /down removes .*pets_status_id/,
  ],
  [
    'a page without Link',
    CONTROLLER,
    'return this.links.page(reply, await this.appointments.list(accountId, query));',
    'return (await this.appointments.list(accountId, query)).items;',
    /Link/,
  ],
  [
    'a page in another order',
    REPOSITORY,
    'ORDER BY account_id, id LIMIT',
    'ORDER BY id DESC LIMIT',
    /ascend/,
  ],
  ['a cursor without effect', REPOSITORY, 'id >= $2', '(id >= $2 OR true)', /on its pages, followed by Link/],
  [
    'a page that is too long',
    SERVICE,
    'return cutPage(request,',
    'return cutPage({ ...request, limit: request.limit + 1 },',
    /items on a page with limit=/,
  ],
  [
    'an Idempotency-Key without effect',
    CONTROLLER,
    'this.idempotent.run(reply, async (transaction) =>',
    '((work: (transaction?: never) => unknown) => work())(async (transaction) =>',
    /Idempotency-Key/,
  ],
  [
    'an exception for an unknown id',
    SERVICE,
    'throw appointmentErrors.appointment_not_found();',
    "throw new Error('unknown');",
    /500/,
  ],
  [
    'a success for an unknown id',
    SERVICE,
    'if (!found) throw appointmentErrors.appointment_not_found();\n    return found;',
    "return found ?? ({ id: 1n, petId: 1n, startsAt: '2027-03-01T09:00:00.000Z', status: 'booked' } as never);",
    /200/,
  ],
  ['an operation outside /v1', CONTROLLER, ", version: '1' }", ' }', /version/],
  ['an example that is rejected', DTO, "example: '2027-03-01T09:00:00.000Z'", "example: 'soon'", /example/],
  [
    'a created resource without Location',
    CONTROLLER,
    'this.links.created(',
    '((_r: unknown, _p: unknown, each: unknown) => each)(',
    /location/,
  ],
  // The last one: an operation stays registered.
  ['an operation id that exists', CONTROLLER, "id: 'getAppointment'", "id: 'getPet'", /getPet/],
];
