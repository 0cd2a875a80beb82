/** A mistake in a copy of the example: its title, the file, the text that it replaces, and a part of the sentence. */
export type PlantedMistake = readonly [title: string, file: string, from: string, to: string, found: RegExp];

const CONTROLLER = 'appointments.controller.ts';
const DTO = 'appointments.dto.ts';
const REPOSITORY = 'appointments.repository.ts';
const SERVICE = 'appointments.service.ts';
const MIGRATION = 'migrations/0001-appointments.ts';

/** Kinds that `test/testing/broken-promises.spec.ts` does not plant, and what the start names. */
export const PLANTED_MISTAKES: readonly PlantedMistake[] = [
  ['an unvalidated body', CONTROLLER, 'appointment: NewAppointment', 'appointment: any', /./],
  ['a body without its member', DTO, '  @Int64(PET)\n', '', /./],
  [
    'a text for a time',
    DTO,
    '@Timestamp(STARTS_AT)',
    "@(require('animal-store').Text)({ max: 30, ...STARTS_AT })",
    /500/,
  ],
  ['a migration without a way back', MIGRATION, 'DROP TABLE grooming_appointments', 'SELECT 1', /"down"/],
  ['a cursor without effect', REPOSITORY, 'id >= $2', '(id >= $2 OR true)', /on its pages, followed by Link/],
  [
    'an exception for an unknown id',
    SERVICE,
    'throw appointmentErrors.appointment_not_found();',
    "throw new Error('unknown');",
    /500/,
  ],
  ['an operation outside /v1', CONTROLLER, ", version: '1' }", ' }', /version/],
  // The last one: an operation stays registered.
  ['an operation id that exists', CONTROLLER, "id: 'getAppointment'", "id: 'getPet'", /getPet/],
];
